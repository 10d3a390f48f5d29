"""Finite differences beside gradients: a second opinion on an oracle, from its own loss alone."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

FACTOR = 8.0
"""How many times the estimated error a gradient may be away: that estimate is no bound."""


@dataclass(frozen=True, slots=True)
class Differences:
    """The elements of one gradient that were looked at, each array of shape ``(elements,)`` in the order of `indices`.

    `gradients` are the oracle's own, `differences` those of its loss, and `errors` what truncation and rounding may
    have done to the latter.
    """

    indices: tuple[tuple[int, ...], ...]
    gradients: NDArray[np.float64]
    differences: NDArray[np.float64]
    errors: NDArray[np.float64]

    @property
    def disagree(self) -> NDArray[np.bool_]:
        """Where gradient and difference are further apart than the difference's error explains."""
        return np.asarray(~(np.abs(self.gradients - self.differences) <= FACTOR * self.errors))

    @property
    def largest(self) -> float:
        """The largest distance between a gradient and its difference."""
        return float(np.max(np.abs(self.gradients - self.differences), initial=0.0))
