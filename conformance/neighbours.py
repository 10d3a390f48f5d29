"""Inputs beside a case's own: the other rows of a batch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from conformance.case import Case
from conformance.signature import FLOATING, ArrayLeaf, Signature
from conformance.tree import leaves

_SCALES = (0.5, -0.75)
_OFFSET = 0.125
"""Largest magnitude of what is added, so that a zero changes too."""


def neighbours(case: Case) -> tuple[dict[str, Any], dict[str, Any]]:
    """Two sets of inputs of the case's shapes, in its domain, that differ from the case's and from each other.

    Only arrays of floats change: another integer, static value or Python float could be another program. The two are the
    same on every machine, as they are drawn from the case's own content.
    """
    first, second = (_neighbour(case, row) for row in range(2))
    return first, second


def _neighbour(case: Case, row: int) -> dict[str, Any]:
    generator = np.random.default_rng([case.seed, row])
    signature = dict(case.problem.inputs)
    moved = {
        name: _move(value, leaf, case.problem.domain.get(name, {}), row, generator)
        for (name, value), (_, leaf) in zip(leaves(dict(case.inputs)), leaves(signature), strict=True)
    }
    return _rebuild(signature, iter(moved.values()))


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
    low = limits.get("minimum", limits.get("exclusiveMinimum", -np.inf))
    high = limits.get("maximum", np.inf)
    return np.asarray(_reflect(moved, low, high), array.dtype)
