"""A function's mathematics in float64: every rounding to a shorter format that stands inside is taken out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import jax.numpy as jnp
from jax import lax
from jax.extend import core

from ._graph import aval_of, inner_jaxprs
from ._interpreter import apply, interpret

_TYPES = ("dtype", "new_dtype", "preferred_element_type")
"""Parameters that name the type of an operation's result."""
_BITS = 52
"""Stored bits of a float64 significand."""


class Narrow(Exception):
    """An operation that computes in a shorter format and cannot be widened; its text names it."""


def widen(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function with float64 wherever it would round to float32 or shorter; to be called with 64-bit types on.

    Casts to a shorter format, operations that round to fewer bits, and results that are asked for in a shorter format
    all stay in float64.

    Raises:
        Narrow: when called, where a loop, a branch or a cast of bits computes in a shorter format.
    """

    def compute(_number: int, equation: core.JaxprEqn, operands: list[Any]) -> list[Any]:
        name = equation.primitive.name
        operands = [_widened(operand) for operand in operands]
        if name == "reduce_precision" and equation.params["mantissa_bits"] < _BITS:
            return operands[:1]
        if name == "bitcast_convert_type" and _is_narrow(equation.params["new_dtype"]):
            raise Narrow(name)
        for jaxpr in inner_jaxprs(equation):
            inside = next(_find_narrow(jaxpr), None)
            if inside is not None:
                raise Narrow(f"{inside} inside {name}")
        changed = {
            key: jnp.dtype("float64") for key in _TYPES if key in equation.params and _is_narrow(equation.params[key])
        }
        return apply(equation.replace(params={**equation.params, **changed}) if changed else equation, operands)

    return interpret(function, compute)


def _widened(operand: Any) -> Any:
    return lax.convert_element_type(operand, jnp.float64) if _is_narrow(jnp.result_type(operand)) else operand


def _is_narrow(dtype: Any) -> bool:
    return dtype is not None and jnp.issubdtype(dtype, jnp.floating) and jnp.dtype(dtype).itemsize < 8


def _find_narrow(jaxpr: core.Jaxpr) -> Iterator[str]:
    """The primitives of a program that compute in a shorter format, at any depth."""
    for equation in jaxpr.eqns:
        rounds = equation.primitive.name == "reduce_precision" and equation.params["mantissa_bits"] < _BITS
        if rounds or any(map(_is_narrow, _types_of(equation.outvars))):
            yield equation.primitive.name
        for inner in inner_jaxprs(equation):
            yield from _find_narrow(inner)


def _types_of(variables: Iterable[Any]) -> Iterator[Any]:
    for variable in variables:
        dtype = getattr(aval_of(variable), "dtype", None)
        if dtype is not None and jnp.issubdtype(dtype, jnp.floating):
            yield dtype
