"""Rounding on grids that are rescaled at random, one grid per row and kind of operation.

A row is one run of one case. The scale of its grid depends on the case's seed, the number of the run and the
operation's name alone, not on the call: equal values err alike, as they do on a machine, and a value that is computed
again errs as it did before. Own integer hashes, so that no library's generator can change a verdict.

Parker, "Monte Carlo Arithmetic", 1997; Higham and Mary, SIAM J. Sci. Comput. 41(5), 2019.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable, Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from conformance.values.arithmetic import FLOAT32_ROUNDOFF

_U64 = NDArray[np.uint64]


def mix(values: _U64) -> _U64:
    """A uniformly distributed hash of each integer: the finaliser of splitmix64 (Steele, Lea and Flood, 2014)."""
    mixed = values + np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))


def _uniform(hashes: _U64) -> NDArray[np.float64]:
    return (hashes >> np.uint64(11)).astype(np.float64) * 2.0**-53


def round_significand(values: Tensor, roundoff: float) -> Tensor:
    """The nearest numbers whose significand has the precision of `roundoff`, a power of two, with no limit of range.

    Veltkamp's splitting: Dekker, "A floating-point technique for extending the available precision", 1971.
    """
    if roundoff == FLOAT32_ROUNDOFF and values.numel() and _in_float32_range(values):
        return values.to(torch.float32).to(torch.float64)
    bits = 53 + round(math.log2(roundoff))
    shifted = values * (2.0**bits + 1.0)
    return shifted - (shifted - values)


def _in_float32_range(values: Tensor) -> bool:
    low, high = torch.aminmax(values)
    return max(-float(low), float(high)) < 2.0**127


def spread(row_values: Tensor, shape: Sequence[int]) -> Tensor | None:
    """One value per row, shaped so that it broadcasts over a tensor of `shape`; None where that has no rows.

    Rows lie in leading dimensions whose product is their number, or in a first dimension that is a multiple of it
    (matrix products flatten leading dimensions).
    """
    rows = row_values.shape[0]
    product = 1
    for position, size in enumerate(shape):
        product *= size
        if product == rows:
            return row_values.view(*shape[: position + 1], *(1,) * (len(shape) - position - 1))
        if product == 0 or product > rows:
            break
    if shape and shape[0] and shape[0] % rows == 0:
        return row_values.repeat_interleave(shape[0] // rows).view(-1, *(1,) * (len(shape) - 1))
    return None


class Grids:
    """The grids of all rows: `runs` runs of each case, laid out with leading dimensions ``(runs, cases)``."""

    def __init__(self, seeds: Sequence[int], runs: int) -> None:
        self.runs = runs
        self.cases = len(seeds)
        self.rows = runs * self.cases
        self.batch = (runs, self.cases)
        cases = mix(np.array([seed & 0xFFFFFFFFFFFFFFFF for seed in seeds], dtype=np.uint64))
        self._keys = mix(cases[None, :] ^ mix(np.arange(runs, dtype=np.uint64))[:, None]).reshape(-1)
        self._hashes: dict[str, _U64] = {}
        self._row_values: dict[str, Tensor] = {}
        self._spread: dict[tuple[str, tuple[int, ...]], Tensor | None] = {}

    def hashes(self, name: str) -> _U64:
        """One hash per row for the kind of operation that `name` names."""
        found = self._hashes.get(name)
        if found is None:
            found = self._hashes[name] = mix(self._keys ^ mix(np.array([zlib.crc32(name.encode())], dtype=np.uint64)))
        return found

    def _draw(
        self, kind: str, name: str, shape: Sequence[int], draw: Callable[[NDArray[np.float64]], NDArray[np.float64]]
    ) -> Tensor | None:
        key = f"{kind} {name}"
        place = (key, tuple(shape))
        if place not in self._spread:
            values = self._row_values.get(key)
            if values is None:
                values = self._row_values[key] = torch.from_numpy(draw(_uniform(self.hashes(key))))
            self._spread[place] = spread(values, place[1])
        return self._spread[place]

    def has_rows(self, shape: Sequence[int]) -> bool:
        """Whether a tensor of `shape` holds rows."""
        return self._draw("offset", "", shape, lambda uniform: uniform) is not None

    def scale(self, name: str, shape: Sequence[int]) -> Tensor | None:
        """Log-uniform in [1/2, 1), which is the grid of [1, 2) without its overflow."""
        return self._draw("scale", name, shape, lambda uniform: np.exp2(uniform - 1.0))

    def offset(self, name: str, shape: Sequence[int]) -> Tensor | None:
        """Uniform in [0, 1)."""
        return self._draw("offset", name, shape, lambda uniform: uniform)

    def direction(self, name: str, shape: Sequence[int]) -> Tensor | None:
        """Uniform in [-1, 1)."""
        return self._draw("direction", name, shape, lambda uniform: 2.0 * uniform - 1.0)
