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
        """Where gradient and difference are further apart than the difference's error explains; an infinite one all."""
        return np.asarray(np.isfinite(self.errors) & ~(self._apart <= FACTOR * self.errors))

    @property
    def worst(self) -> int:
        """The place of the element that is furthest apart, in units of its error."""
        known = np.isfinite(self.errors)
        with np.errstate(all="ignore"):
            return int(np.argmax(np.where(known, self._apart / np.maximum(self.errors, np.finfo(float).tiny), -1.0)))

    @property
    def _apart(self) -> NDArray[np.float64]:
        with np.errstate(all="ignore"):
            return np.abs(self.gradients - self.differences)
