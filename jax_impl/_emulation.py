"""An accelerator's default precision, emulated on any platform: matrix products of rounded operands."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
from jax import lax
from jax.extend import core

from ._interpreter import apply, interpret

TF32_BITS = 10
"""Stored bits of a TF32 significand."""
BFLOAT16_BITS = 7
"""Stored bits of a bfloat16 significand."""

_PRODUCT = "dot_general"
_EXPONENT_BITS = 8


def emulate(function: Callable[..., Any], bits: int) -> Callable[..., Any]:
    """The function with the float32 operands of every matrix product rounded to `bits` stored bits of significand.

    Rounding is to nearest, ties to even, which equals TF32 and bfloat16 bit for bit; it reaches the products of
    gradients that the function takes itself.

    Raises:
        NotImplementedError: when called, if a matrix product stands inside a loop or a branch.
    """

    def multiply(_number: int, equation: core.JaxprEqn, operands: list[Any]) -> list[Any]:
        if equation.primitive.name == _PRODUCT:
            return apply(equation, [_round(operand, bits) for operand in operands])
        if _PRODUCT in str(equation):
            raise NotImplementedError(
                f"emulating short operands: a matrix product stands inside {equation.primitive.name}, which is left "
                "whole; wanted products outside of loops and branches"
            )
        return apply(equation, operands)

    return interpret(function, multiply)


def _round(operand: Any, bits: int) -> Any:
    return lax.reduce_precision(operand, _EXPONENT_BITS, bits) if jnp.asarray(operand).dtype == jnp.float32 else operand
