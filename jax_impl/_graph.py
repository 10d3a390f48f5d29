"""A program as one flat list of operations: calls and checkpoints are entered, loops and branches are left whole."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from jax.extend import core

CHECKPOINTS = frozenset(("checkpoint", "remat", "remat2"))
"""Names of the primitive of ``jax.checkpoint``, in the releases of JAX that we know."""
_CALLS = CHECKPOINTS | frozenset(
    (
        "closed_call",
        "core_call",
        "custom_jvp_call",
        "custom_vjp_call",
        "custom_vjp_call_jaxpr",
        "jit",
        "pjit",
    )
)
"""Operations that only call their inner program once."""


def is_call(equation: core.JaxprEqn) -> bool:
    """Whether an equation does nothing but call its inner program once."""
    return equation.primitive.name in _CALLS


def inner_program(equation: core.JaxprEqn) -> tuple[core.Jaxpr, Sequence[Any]]:
    """The program that an equation calls, and its constants."""
    names = ("jaxpr", "call_jaxpr", "fun_jaxpr")
    program = next(equation.params[name] for name in names if name in equation.params)
    return getattr(program, "jaxpr", program), getattr(program, "consts", ())


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation: the numbers of the values that it takes and makes, and of the checkpoints that it stands in."""

    equation: core.JaxprEqn
    operands: tuple[int, ...]
    results: tuple[int, ...]
    checkpoints: tuple[int, ...]

    @property
    def primitive(self) -> str:
        """The primitive's name."""
        return self.equation.primitive.name

    @property
    def inner(self) -> frozenset[str]:
        """The names of all primitives inside, at any depth; none but for loops, branches, kernels and the like."""
        return frozenset(_primitives_inside(self.equation))


@dataclass(slots=True)
class Graph:
    """The operations of a program in the order of evaluation; every value has a number.

    An output that is a literal has no number. `checkpoints` are the equations of the checkpoints that were entered.
    """

    inputs: tuple[int, ...] = ()
    outputs: tuple[int | None, ...] = ()
    operations: list[Operation] = field(default_factory=list)
    checkpoints: list[core.JaxprEqn] = field(default_factory=list)
    avals: list[Any] = field(default_factory=list)

    def producers(self) -> dict[int, Operation]:
        """By value's number: the operation that makes it."""
        return {result: operation for operation in self.operations for result in operation.results}

    def needed(self) -> list[Operation]:
        """The operations that an output depends on."""
        alive = {output for output in self.outputs if output is not None}
        found: list[Operation] = []
        for operation in reversed(self.operations):
            if alive.intersection(operation.results) or operation.equation.effects:
                alive.update(operation.operands)
                found.append(operation)
        return found[::-1]

    def reached_from(self, sources: Iterable[int], but_through: Collection[str] = ()) -> set[int]:
        """The values that depend on `sources`, those among them, not counting ways through those primitives."""
        reached = set(sources)
        for operation in self.operations:
            if operation.primitive not in but_through and reached.intersection(operation.operands):
                reached.update(operation.results)
        return reached


def build_graph(program: core.ClosedJaxpr | core.Jaxpr) -> Graph:
    """The flat graph of a program; its constants are values without a producer."""
    jaxpr = program.jaxpr if isinstance(program, core.ClosedJaxpr) else program
    graph = Graph()
    numbers: dict[core.Var, int] = {}
    for variable in jaxpr.constvars:
        numbers[variable] = _new(graph, variable)
    graph.inputs = tuple(_new(graph, variable) for variable in jaxpr.invars)
    numbers.update(zip(jaxpr.invars, graph.inputs, strict=True))
    _enter(graph, jaxpr, numbers, ())
    graph.outputs = tuple(_number(atom, numbers) for atom in jaxpr.outvars)
    return graph


def _enter(graph: Graph, jaxpr: core.Jaxpr, numbers: dict[core.Var, int], checkpoints: tuple[int, ...]) -> None:
    for equation in jaxpr.eqns:
        if is_call(equation):
            within = checkpoints
            if equation.primitive.name in CHECKPOINTS:
                within = (*checkpoints, len(graph.checkpoints))
                graph.checkpoints.append(equation)
            inner, _ = inner_program(equation)
            inside = {variable: _new(graph, variable) for variable in inner.constvars}
            for variable, atom in zip(inner.invars, equation.invars, strict=True):
                number = _number(atom, numbers)
                inside[variable] = _new(graph, variable) if number is None else number
            _enter(graph, inner, inside, within)
            for variable, atom in zip(equation.outvars, inner.outvars, strict=True):
                number = _number(atom, inside)
                numbers[variable] = _new(graph, variable) if number is None else number
            continue
        operands = tuple(
            number for number in (_number(atom, numbers) for atom in equation.invars) if number is not None
        )
        results = tuple(_new(graph, variable) for variable in equation.outvars)
        numbers.update(zip(equation.outvars, results, strict=True))
        graph.operations.append(Operation(equation, operands, results, checkpoints))


def _new(graph: Graph, variable: core.Var) -> int:
    graph.avals.append(aval_of(variable))
    return len(graph.avals) - 1


def aval_of(atom: Any) -> Any:
    """What is known of a variable or a literal: shape, dtype and more."""
    return atom.aval


def _number(atom: Any, numbers: dict[core.Var, int]) -> int | None:
    return None if isinstance(atom, core.Literal) else numbers[atom]


def inner_jaxprs(equation: core.JaxprEqn) -> Iterator[core.Jaxpr]:
    """The programs among an equation's parameters."""
    for parameter in equation.params.values():
        for part in parameter if isinstance(parameter, list | tuple) else (parameter,):
            program = getattr(part, "jaxpr", part)
            if isinstance(program, core.Jaxpr):
                yield program


def _primitives_inside(equation: core.JaxprEqn) -> Iterator[str]:
    for jaxpr in inner_jaxprs(equation):
        for inner in jaxpr.eqns:
            yield inner.primitive.name
            yield from _primitives_inside(inner)
