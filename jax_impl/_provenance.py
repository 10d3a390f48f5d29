"""Where each output of a traced program comes from: from marked values, or past them straight from the inputs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

import numpy as np
from jax.extend import core

from ._graph import Graph, Operation, aval_of, build_graph, inner_jaxprs
from ._watching import read_mark

INPUT = ("input", -1)
"""The label of what depends on an input without a mark in between."""
FACTOR = ("factor", -1)
"""The label of what came from marks, and was then multiplied or divided by something that depends on inputs alone."""
Labels: TypeAlias = frozenset[tuple[str, int]]
"""The kinds and calls of the marks that a value was reached from, `INPUT` and `FACTOR`."""

_NOTHING: Labels = frozenset()


class Unjudged(Exception):
    """A construct that cannot be judged; its text names it."""


def follow_marks(program: core.ClosedJaxpr) -> list[Labels]:
    """The labels of each output of `program`, whose inputs all carry `INPUT`; a mark cuts the flow.

    Raises:
        Unjudged: a mark stands inside a construct that we do not know.
    """
    graph = build_graph(program)
    return _flow(graph, [frozenset((INPUT,))] * len(graph.inputs))


def _flow(graph: Graph, inputs: Sequence[Labels]) -> list[Labels]:
    labels: dict[int, Labels] = dict(zip(graph.inputs, inputs, strict=True))
    for operation in graph.operations:
        labels.update(zip(operation.results, _through(operation, labels), strict=True))
    return [_NOTHING if output is None else labels.get(output, _NOTHING) for output in graph.outputs]


def _through(operation: Operation, labels: dict[int, Labels]) -> list[Labels]:
    """The labels of an operation's results."""
    mark = read_mark(operation.equation)
    if mark is not None:
        return [frozenset((mark,))]
    read = iter(operation.operands)
    operands = [
        _NOTHING if isinstance(atom, core.Literal) else labels.get(next(read), _NOTHING)
        for atom in operation.equation.invars
    ]
    loop = {"scan": _scan, "while": _while, "cond": _cond}.get(operation.primitive)
    if loop is not None:
        return loop(operation.equation, operands)
    if operation.primitive == "mul" and any(map(_is_zero, operation.equation.invars)):
        return [_NOTHING]  # an accumulator's zero, made from what it is to have the shape of
    if operation.primitive in ("mul", "div"):
        scaled, factor = operands
        if operation.primitive == "mul" and is_marked(factor):
            scaled, factor = factor, scaled
        if is_marked(scaled) and factor == frozenset((INPUT,)):
            return [scaled | {FACTOR}]
    if any(True for jaxpr in inner_jaxprs(operation.equation) for _ in find_marks(jaxpr)):
        raise Unjudged(f"jax.value_and_grad is called inside {operation.primitive}")
    return [_NOTHING.union(*operands)] * len(operation.results)


def is_marked(labels: Labels) -> bool:
    """Whether a value was reached from marks, and from no input past them."""
    return bool(labels) and INPUT not in labels


def _is_zero(atom: Any) -> bool:
    return isinstance(atom, core.Literal) and np.ndim(atom.val) == 0 and atom.val == 0


def find_marks(jaxpr: core.Jaxpr) -> Iterator[int]:
    """The numbers of the calls whose marks stand in a program, at any depth."""
    for equation in jaxpr.eqns:
        mark = read_mark(equation)
        if mark is not None:
            yield mark[1]
        for inner in inner_jaxprs(equation):
            yield from find_marks(inner)


def _scan(equation: core.JaxprEqn, operands: list[Labels]) -> list[Labels]:
    program = equation.params["jaxpr"]
    body = build_graph(program)
    # What is scanned over has one axis less inside; releases name the numbers of the parts differently.
    inner: core.Jaxpr = getattr(program, "jaxpr", program)
    carried = sum(not _is_thinner(*pair) for pair in zip(inner.outvars, equation.outvars, strict=True))
    scanned = sum(_is_thinner(*pair) for pair in zip(inner.invars, equation.invars, strict=True))
    constants = len(operands) - carried - scanned
    state, rest = operands[constants : constants + carried], operands[constants + carried :]
    while True:
        outputs = _flow(body, [*operands[:constants], *state, *rest])
        joined = [before | after for before, after in zip(state, outputs, strict=False)]
        if joined == state:
            return [*joined, *outputs[carried:]]
        state = joined


def _is_thinner(inside: Any, outside: Any) -> bool:
    return aval_of(inside).ndim < aval_of(outside).ndim


def _while(equation: core.JaxprEqn, operands: list[Labels]) -> list[Labels]:
    of_condition, of_body = equation.params["cond_nconsts"], equation.params["body_nconsts"]
    condition, body = build_graph(equation.params["cond_jaxpr"]), build_graph(equation.params["body_jaxpr"])
    first, state = operands[:of_condition], operands[of_condition + of_body :]
    constants = operands[of_condition : of_condition + of_body]
    while True:
        (predicate,) = _flow(condition, [*first, *state])
        outputs = _flow(body, [*constants, *state])
        joined = [before | after | predicate for before, after in zip(state, outputs, strict=True)]
        if joined == state:
            return joined
        state = joined


def _cond(equation: core.JaxprEqn, operands: list[Labels]) -> list[Labels]:
    predicate, *rest = operands
    branches = [_flow(build_graph(branch), rest) for branch in equation.params["branches"]]
    return [
        # Whichever branch is taken, what comes out of it was marked there.
        _NOTHING.union(*parts) if all(map(is_marked, parts)) else predicate.union(*parts)
        for parts in zip(*branches, strict=True)
    ]
