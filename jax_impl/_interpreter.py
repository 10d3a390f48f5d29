"""A function's primitive operations, applied one by one by a hook of ours."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeAlias

import jax
import numpy as np
from jax.extend import core

from ._graph import inner_program, is_call

Hook: TypeAlias = Callable[[int, core.JaxprEqn, list[Any]], list[Any]]
"""Given an equation's number in the order of evaluation, the equation, and its operands: its results."""


def interpret(function: Callable[..., Any], hook: Hook) -> Callable[..., Any]:
    """The function whose every equation goes through `hook`, those of its gradients and of calls inside included.

    The arrays among the inputs are traced; every other input is as the function is given it. The result can be
    transformed: an equation's operands may be tracers.
    """

    @functools.wraps(function)
    def interpreted(*inputs: Any) -> Any:
        found, structure = jax.tree_util.tree_flatten(inputs)
        places = [place for place, leaf in enumerate(found) if isinstance(leaf, jax.Array | np.ndarray)]
        arrays = [found[place] for place in places]

        def of_arrays(*traced: Any) -> Any:
            leaves = list(found)
            for place, value in zip(places, traced, strict=True):
                leaves[place] = value
            return function(*jax.tree_util.tree_unflatten(structure, leaves))

        closed, shapes = jax.make_jaxpr(of_arrays, return_shape=True)(*arrays)
        results = _evaluate(closed.jaxpr, closed.consts, arrays, hook, itertools.count())
        return jax.tree_util.tree_unflatten(jax.tree_util.tree_structure(shapes), results)

    return interpreted


def apply(equation: core.JaxprEqn, operands: Sequence[Any]) -> list[Any]:
    """The results of an equation for `operands`, as JAX computes them."""
    results = equation.primitive.bind(*operands, **equation.primitive.get_bind_params(equation.params))
    return list(results) if equation.primitive.multiple_results else [results]


def _evaluate(
    jaxpr: core.Jaxpr, constants: Sequence[Any], arguments: Sequence[Any], hook: Hook, numbers: Iterator[int]
) -> list[Any]:
    values: dict[core.Var, Any] = {}

    def read(atom: Any) -> Any:
        return atom.val if isinstance(atom, core.Literal) else values[atom]

    values.update(zip(jaxpr.constvars, constants, strict=True))
    values.update(zip(jaxpr.invars, arguments, strict=True))
    for equation in jaxpr.eqns:
        operands = [read(atom) for atom in equation.invars]
        if is_call(equation):
            inner, captured = inner_program(equation)
            results = _evaluate(inner, captured, operands, hook, numbers)
        else:
            results = hook(next(numbers), equation, operands)
        values.update(zip(equation.outvars, results, strict=True))
    return [read(atom) for atom in jaxpr.outvars]
