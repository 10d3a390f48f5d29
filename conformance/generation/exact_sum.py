"""Sums of products that are exact in float32, whatever the order in which they are added."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

_DIGITS = 24
"""Of float32's significand."""


def hit(targets: Array, fixed: Array, others: Array, pivots: NDArray[np.int64], bias: Array) -> tuple[Array, Array]:
    """Factors ``(cases, slots, features)`` that make sums of products hit the targets, and the bias that is added.

    `targets` is ``(cases, slots)``, `fixed` and `others` ``(cases, slots, features)``, `pivots` ``(cases,)``, `bias`
    ``(cases, slots)``, or ``(cases, 1)`` where the slots of a case share it. `fixed` is a power of two at each case's
    pivot, and what is not the pivot, a bias included, has few digits. The factors are `others`, given the sign with
    which their products with `fixed` point to the target, but for the pivot's, which makes up for the rest.

    Every partial sum in any order is a multiple of the smallest unit of all terms. Where the terms' magnitudes add up
    to no more than 2^24 of those units, float32 holds each, so nothing is ever rounded. Where they would not, the
    others of that slot are zero, and where that is not enough the bias of the case is.
    """
    for_all = bias.shape[1] == 1
    factors, exact = _solve(targets, fixed, others, pivots, bias)
    alone, exact_alone = _solve(targets, fixed, np.zeros_like(others), pivots, bias)
    lost = ~(exact | exact_alone)
    lost = lost.any(axis=1, keepdims=True) if for_all else lost
    if lost.any():
        bias = np.where(lost, 0.0, bias)
        factors, exact = _solve(targets, fixed, others, pivots, bias)
        alone, _ = _solve(targets, fixed, np.zeros_like(others), pivots, bias)
    return np.where(exact[:, :, None], factors, alone), bias


def _solve(
    targets: Array, fixed: Array, others: Array, pivots: NDArray[np.int64], bias: Array
) -> tuple[Array, NDArray[np.bool_]]:
    """The factors, and where all partial sums are exact. All arithmetic in float64 is exact here, or is found out."""
    cases = np.arange(len(targets))
    factors = others * np.where(np.signbit(targets[:, :, None]) == np.signbit(fixed), 1.0, -1.0) + 0.0
    factors[cases, :, pivots] = 0.0
    terms = factors * fixed
    rest = bias + terms.sum(axis=2)
    pivot = fixed[cases, :, pivots]
    factors[cases, :, pivots] = (targets - rest) / pivot
    terms[cases, :, pivots] = targets - rest
    unit = np.minimum(np.minimum.reduce(_unit(terms), axis=2), np.broadcast_to(_unit(bias), targets.shape))
    size = np.abs(terms).sum(axis=2) + np.abs(bias)
    solved = factors[cases, :, pivots]
    exact = (size <= unit * 2.0**_DIGITS) & (solved.astype(np.float32) == solved) & ((targets - rest) + rest == targets)
    return factors, exact


def _unit(numbers: Array) -> Array:
    """The largest power of two that each number is a multiple of; infinite for zero."""
    fractions, exponents = np.frexp(numbers)
    whole = np.abs(np.ldexp(fractions, 53)).astype(np.int64)
    return np.where(whole == 0, np.inf, np.ldexp((whole & -whole).astype(np.float64), exponents - 53))
