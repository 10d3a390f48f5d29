"""Random numbers made of raw bits and exact arithmetic, so that they are the same on every machine.

A distribution of a library may change with its version, and a mathematical library differs between machines. NumPy
guarantees the raw stream of its bit generators (NEP 19), and IEEE 754 every operation that is used here.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Shape = tuple[int, ...]


class Bits:
    """A stream of random numbers that its seed determines."""

    def __init__(self, seed: Sequence[int]) -> None:
        """The stream of `seed`, integers of at least 0."""
        self._generator = np.random.PCG64(np.random.SeedSequence(list(seed)))

    def uniform(self, shape: Shape) -> NDArray[np.float64]:
        """Multiples of 2^-24 in [0, 1), which float32 holds exactly."""
        return (self._raw(shape) >> np.uint64(40)).astype(np.float64) * 2.0**-24

    def symmetric(self, shape: Shape) -> NDArray[np.float64]:
        """Multiples of 2^-23 in [-1, 1), which float32 holds exactly."""
        return self.uniform(shape) * 2.0 - 1.0

    def below(self, limit: int, shape: Shape) -> NDArray[np.int64]:
        """Integers of at least 0 and below `limit`, which is at most 2^32: its bias is then 2^-32 at most."""
        return (self._raw(shape) % np.uint64(limit)).astype(np.int64)

    def steps(self, low: int, high: int, step: float, shape: Shape) -> NDArray[np.float64]:
        """Multiples of `step`, a power of two, from `low` steps to `high`."""
        return (low + self.below(high - low + 1, shape)).astype(np.float64) * step

    def signs(self, shape: Shape) -> NDArray[np.float64]:
        """Each 1 or -1."""
        return self.steps(0, 1, 2.0, shape) - 1.0

    def pick(self, values: Sequence[Any] | NDArray[Any], shape: Shape) -> NDArray[Any]:
        """Some of the values, drawn with replacement."""
        return np.asarray(values)[self.below(len(values), shape)]

    def order(self, count: int) -> NDArray[np.int64]:
        """The integers below `count` in random order."""
        return np.argsort(self._raw((count,)), kind="stable")

    def _raw(self, shape: Shape) -> NDArray[np.uint64]:
        return np.asarray(self._generator.random_raw(math.prod(shape)), np.uint64).reshape(shape)
