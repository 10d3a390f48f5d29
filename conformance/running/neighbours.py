"""Inputs beside a case's own: the other rows of a batch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from conformance.values.case import Case
from conformance.values.signature import FLOATING, ArrayLeaf, Leaf
from conformance.values.tree import leaves, map_leaves

_SCALES = (0.5, -0.75)
_OFFSET = 0.125
"""Largest magnitude of what is added, so that a zero changes too."""


def neighbours(case: Case) -> tuple[dict[str, Any], dict[str, Any]]:
    """Two sets of inputs of the case's shapes, in its domain, that differ from the case's and from each other.

    Only arrays of floats change: another integer, static value or Python float could be another program. Both are the
    same on every machine, as they are drawn from the case's own content.
    """
    first, second = (_neighbour(case, row) for row in range(2))
    return first, second


def _neighbour(case: Case, row: int) -> dict[str, Any]:
    generator = np.random.default_rng([case.seed, row])
    signature = dict(case.problem.inputs)
    names = iter([name for name, _ in leaves(signature)])

    def move(leaf: Leaf, value: Any) -> Any:
        return _move(value, leaf, case.problem.domain.get(next(names), {}), row, generator)

    return map_leaves(move, signature, dict(case.inputs))


def _move(value: Any, leaf: Any, limits: Mapping[str, Any], row: int, generator: np.random.Generator) -> Any:
    if not isinstance(leaf, ArrayLeaf) or leaf.dtype not in FLOATING:
        return value
    array: NDArray[Any] = np.asarray(value)
    if "enum" in limits:
        allowed = np.array(limits["enum"], array.dtype)
        place = np.abs(array[..., None] - allowed).argmin(-1)
        return allowed[(place + 1 + row) % len(allowed)]
    offset = generator.uniform(_OFFSET / 2, _OFFSET, array.shape)
    moved = _SCALES[row] * array.astype(np.float64) + offset
    return np.asarray(_into(moved, limits), array.dtype)


def _into(values: NDArray[np.float64], limits: Mapping[str, Any]) -> NDArray[np.float64]:
    """The values, folded into the limits where they are outside."""
    low = float(limits.get("minimum", limits.get("exclusiveMinimum", -np.inf)))
    high = float(limits.get("maximum", np.inf))
    if np.isinf(low) and np.isinf(high):
        return values
    if np.isinf(high):
        return low + np.abs(values - low)
    if np.isinf(low):
        return high - np.abs(high - values)
    span = high - low
    folded = np.mod(values - low, 2.0 * span) if span > 0.0 else np.zeros_like(values)
    return low + np.minimum(folded, 2.0 * span - folded)
