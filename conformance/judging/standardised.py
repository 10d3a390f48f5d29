"""The standardised error z, elementwise: the only measure of agreement."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from conformance.values.estimate import Estimate

LIMIT = 8.0
"""The largest z that agrees."""


@dataclass(frozen=True, slots=True)
class Standardised:
    """The z of every element of a quantity.

    `largest` is infinite where an element is not a number, or differs where nothing may; `where` is its index.
    """

    z: NDArray[np.float64]
    largest: float
    rms: float
    where: tuple[int, ...]

    @property
    def agrees(self) -> bool:
        """Whether all elements are within the limit."""
        return bool(np.all(self.z <= LIMIT))


def standardise(got: NDArray[Any], estimate: Estimate) -> Standardised:
    """``z = |got - value| / sigma`` of each element; both have the quantity's shape.

    No error is z = 0 whatever sigma is; an error where sigma is 0, or a `got` that is not finite, is an infinite z.
    """
    value = estimate.value
    if estimate.sigma is None:
        z = np.where(got == value, 0.0, np.inf)
    else:
        with np.errstate(all="ignore"):
            error = np.abs(got.astype(np.float64) - value)
            z = np.where(error == 0.0, 0.0, np.divide(error, estimate.sigma))
        z = np.where(np.isnan(z), np.inf, z)
    if z.size == 0:
        return Standardised(z, 0.0, 0.0, ())
    flat = int(np.argmax(z))
    where = tuple(int(i) for i in np.unravel_index(flat, z.shape))
    with np.errstate(over="ignore"):
        rms = float(np.sqrt(np.mean(np.square(z))))
    return Standardised(z, float(z.flat[flat]), rms, where)
