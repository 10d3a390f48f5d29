"""Decisions that rounding can turn: comparisons whose operands nearly tie.

A float64 oracle decides such a comparison one way, an implementation's rounding perhaps the other, and what follows
differs by far more than rounding. Where the difference of the operands lies within `COIN` of its own deviations, the
runs therefore decide by a hash: sigma of whatever hangs on the decision then grows to the size of the jump.
"""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ._grids import Grids, mix

COIN = 8.0
"""The limit on z: a correct implementation errs by no more than so many sigma."""


class Coins:
    """The coins that one batch of runs throws, and how many each case has seen."""

    def __init__(self, grids: Grids) -> None:
        self._grids = grids
        self._counts: dict[str, NDArray[np.int64]] = defaultdict(lambda: np.zeros(grids.cases, dtype=np.int64))

    def near(self, difference: Tensor, *, equal_is_near: bool) -> tuple[Tensor, Tensor] | None:
        """Which elements of `difference` tie within the deviations, and their means, laid out (runs, cases, elements).

        None where none does, or where the tensor holds no rows. A difference that is 0 in every run counts as
        near if `equal_is_near`; otherwise it is the same value by construction.
        """
        grids = self._grids
        if not difference.numel() or not grids.has_rows(difference.shape):
            return None
        laid_out = difference.reshape(grids.runs, grids.cases, -1)
        mean = laid_out.mean(0)
        spread = (laid_out - mean).square_().mean(0).sqrt_()
        near = mean.abs() <= COIN * spread
        if not equal_is_near:
            near &= spread > 0
        return (near, mean) if bool(near.any()) else None

    def count(self, operation: str, near: Tensor) -> None:
        """Adds the near elements of each case to what `operation` has thrown."""
        self._counts[operation] += near.sum(-1).numpy()

    def bits(self, name: str, mean: Tensor) -> NDArray[np.uint64]:
        """A hash per run, case and element; elements with the same operands in all runs get the same."""
        rows = self._grids.hashes(f"coin {name}").reshape(self._grids.runs, self._grids.cases, 1)
        return mix(rows ^ mix(np.ascontiguousarray(mean.numpy()).view(np.uint64))[None])

    def throw(
        self, operation: str, name: str, difference: Tensor, *, equal_is_near: bool
    ) -> tuple[Tensor, Tensor] | None:
        """Which elements are coins, and how each fell, both of the shape of `difference`; None where there is none."""
        found = self.near(difference, equal_is_near=equal_is_near)
        if found is None:
            return None
        near, mean = found
        self.count(operation, near)
        heads = torch.from_numpy((self.bits(name, mean) >> np.uint64(63)).astype(np.bool_))
        return near.expand_as(heads).reshape(difference.shape), heads.reshape(difference.shape)

    def part(self, operation: str, name: str, tied: Tensor) -> Tensor | None:
        """How each of the `tied` elements falls, which are equal in every run; None where the tensor holds no rows."""
        grids = self._grids
        if not grids.has_rows(tied.shape):
            return None
        laid_out = tied.reshape(grids.runs, grids.cases, -1)
        self.count(operation, laid_out.any(0))
        # Their operands are the same, so that only their places can part them.
        places = torch.arange(laid_out.shape[-1], dtype=torch.float64).expand(laid_out.shape[1:])
        heads = self.bits(name, places) >> np.uint64(63)
        return torch.from_numpy(heads.astype(np.bool_)).reshape(tied.shape)

    def texts(self, case: int) -> list[str]:
        """What `case` has thrown, such as ``aten.gt.Tensor: 3 elements``."""
        return [
            f"{operation}: {counts[case]} element{'s' if counts[case] != 1 else ''}"
            for operation, counts in self._counts.items()
            if counts[case]
        ]
