"""Documented values against exact ones: two statements of the same number, so no sigma has a say."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from conformance.values.arithmetic import ROUNDED_TO_ZERO
from conformance.values.case import Rounding

SLACK = 1e-9
"""In units of the last digit: what float64 itself may add to a value that lies on the rounding's border."""


def unit_of(documented: NDArray[Any], rounding: Rounding) -> NDArray[np.float64]:
    """The unit of the last digit that was kept, for each element."""
    if rounding.kind == "decimals":
        return np.full(np.shape(documented), 10.0**-rounding.count)
    magnitude = np.abs(np.asarray(documented, np.float64))
    with np.errstate(divide="ignore"):
        exponent = np.floor(np.log10(magnitude))
    return np.where(magnitude > 0.0, 10.0 ** (np.where(magnitude > 0.0, exponent, 0.0) - rounding.count + 1), 0.0)


def differs(value: NDArray[Any], documented: NDArray[Any], rounding: Rounding) -> NDArray[np.bool_]:
    """Where `value` does not round to `documented`: further away than half a unit of its last digit."""
    if np.asarray(documented).dtype.kind != "f":
        return np.asarray(value != documented)
    # A documented 0 stands for whatever float32 rounds to 0.
    # Just below a power of ten the digits of `value` are finer than those of the power that it would be rounded up to.
    unit = np.minimum(unit_of(documented, rounding), unit_of(value, rounding))
    return ~(np.abs(value - documented) <= np.maximum((0.5 + SLACK) * unit, ROUNDED_TO_ZERO))
