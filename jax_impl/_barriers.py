"""Optimisation barriers in StableHLO: how many stand between an operation and the program's inputs.

Without one a compiler may merge what is computed again with what was computed before (jax-ml/jax PR #24062).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import jax

from ._graph import Operation, aval_of

_FUNCTION = re.compile(
    r"^\s*func\.func\s+(?:public\s+|private\s+)?@([\w.$-]+|\"[^\"]+\")\((.*?)\)\s*(?:->|attributes|\{)"
)
_ASSIGNMENT = re.compile(r"^\s*(%\w+)(?::(\d+))?\s*=\s*\"?([\w.]+)\"?(.*)$")
_RETURN = re.compile(r"^\s*(?:func\.)?return\b(.*)$")
_CALLEE = re.compile(r"@([\w.$-]+|\"[^\"]+\")")
_VALUE = re.compile(r"%\w+(?:#\d+)?")
_ARGUMENT = re.compile(r"%\w+(?=:)")
_BARRIER = "stablehlo.optimization_barrier"
_PLUMBING = frozenset(
    ("stablehlo.constant", "stablehlo.broadcast_in_dim", "stablehlo.convert", "stablehlo.reshape", "call", "func.call")
)


@dataclass(slots=True)
class _Line:
    results: list[str]
    operation: str
    operands: list[str]
    callee: str


@dataclass(slots=True)
class _Function:
    arguments: list[str]
    lines: list[_Line] = field(default_factory=list)
    returned: list[str] = field(default_factory=list)


def find_depths(text: str, operation: str) -> list[int]:
    """For each time that ``main`` comes to `operation`, in order: the most barriers on a way from an input to it.

    `text` is a StableHLO module as JAX prints it; calls of functions are followed.
    """
    functions = _parse(text)
    found: list[int] = []
    if "main" in functions:
        main = functions["main"]
        _visit(main, [0] * len(main.arguments), functions, operation, found)
    return found


def name_operation(operation: Operation) -> str | None:
    """The StableHLO operation that a primitive is lowered to; None where it is not exactly one."""
    equation = operation.equation
    avals = [jax.ShapeDtypeStruct(aval.shape, aval.dtype) for aval in map(aval_of, equation.invars)]

    def apply(*operands: Any) -> Any:
        return equation.primitive.bind(*operands, **equation.params)

    functions = _parse(jax.jit(apply).lower(*avals).as_text())
    names = [line.operation for function in functions.values() for line in function.lines]
    found = set(names) - _PLUMBING
    return found.pop() if len(found) == 1 else None


def _parse(text: str) -> dict[str, _Function]:
    functions: dict[str, _Function] = {}
    current: _Function | None = None
    for line in text.splitlines():
        if opened := _FUNCTION.match(line):
            current = functions[opened[1].strip('"')] = _Function(_ARGUMENT.findall(opened[2]))
        elif current is not None and (assigned := _ASSIGNMENT.match(line)):
            name, count, operation, rest = assigned.groups()
            results = [f"{name}#{index}" for index in range(int(count))] if count else [name]
            callee = _CALLEE.search(rest) if operation.endswith("call") else None
            current.lines.append(
                _Line(results, operation, _VALUE.findall(rest), callee[1].strip('"') if callee else "")
            )
        elif current is not None and (returned := _RETURN.match(line)):
            current.returned = _VALUE.findall(returned[1])
    return functions


def _visit(
    function: _Function, arguments: Sequence[int], functions: dict[str, _Function], operation: str, found: list[int]
) -> list[int]:
    depths = dict(zip(function.arguments, arguments, strict=True))
    for line in function.lines:
        operands = [depths.get(operand, 0) for operand in line.operands]
        if line.operation == operation:
            found.append(max(operands, default=0))
        if line.callee in functions:
            results = _visit(functions[line.callee], operands, functions, operation, found)
        elif line.operation == _BARRIER:
            results = [depth + 1 for depth in operands]
        else:
            results = [max(operands, default=0)] * len(line.results)
        depths.update(zip(line.results, results, strict=False))
    return [depths.get(value, 0) for value in function.returned]
