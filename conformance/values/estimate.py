"""What the oracle says of a case: a value and a sigma for each quantity."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from conformance.values.contract import KeptTensor

RESOLVED_DIGITS = 2.0
"""A quantity with fewer digits than this cannot tell right from wrong: any small answer would pass."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """The oracle's float64 `value` of one quantity, and the standard deviation `sigma` of its rounding errors.

    Both have the quantity's shape. Integers and booleans compare exactly and have no sigma, except where they hang on a
    comparison that rounding can turn: sigma is then the size of the jump, and 0 in the elements that rounding leaves.
    """

    value: NDArray[Any]
    sigma: NDArray[np.float64] | None

    @property
    def digits(self) -> float:
        """``-log10(max sigma / scale)``, scale the largest magnitude: how much the quantity can tell at all.

        Infinite for an exact quantity, 0 where every value is 0 or sigma is as large as the value.
        """
        if self.sigma is None:
            return math.inf
        scale = float(np.max(np.abs(self.value), initial=0.0))
        sigma = float(np.max(self.sigma, initial=0.0))
        if not 0.0 < scale < math.inf or not sigma < scale:
            return 0.0
        return -math.log10(sigma / scale) if sigma > 0.0 else math.inf

    @property
    def resolved(self) -> bool:
        """Whether the quantity can tell a right answer from a wrong one."""
        return self.digits >= RESOLVED_DIGITS


@dataclass(frozen=True, slots=True)
class Estimation:
    """The oracle's whole answer to one case.

    `coins` names the comparisons whose operands are so near a tie that rounding decides them, each with a count of
    elements. `saved` and `recomputed` count the operations that the oracle's selective checkpoint kept and computed
    again, by their ATen name, and `kept` has the tensors that it keeps for the backward pass: the mirror image of the
    implementation's own contract. `primitives` says how a contract names these operations.
    """

    quantities: Mapping[str, Estimate]
    runs: int
    coins: Sequence[str] = ()
    saved: Mapping[str, int] = field(default_factory=dict[str, int])
    recomputed: Mapping[str, int] = field(default_factory=dict[str, int])
    primitives: Mapping[str, str] = field(default_factory=dict[str, str])
    kept: Sequence[KeptTensor] = ()
