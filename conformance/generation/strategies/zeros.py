"""Leaves whose elements are all zero: positive, negative, and of both signs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from conformance.generation.bits import Bits
from conformance.generation.drawing import Drawing, find_float_arrays, shape_of
from conformance.generation.schema_parts import describe_leaves
from conformance.generation.stack import Stack
from conformance.values.problem import Problem

SUMMARY = (
    "Each group of `leaves` filled with 0, with -0.0, and with zeros of both signs; the rest as `moderate` draws it."
)
REQUIRED = ("leaves",)
_SIGNS = ("positive", "negative", "mixed")


def describe(_problem: Problem) -> dict[str, Any]:
    """The schema of `leaves`."""
    group = describe_leaves("Leaves that are zero together.")
    return {"leaves": {"type": "array", "minItems": 1, "items": group, "description": "Groups of leaves."}}


def count(_problem: Problem, recipe: Mapping[str, Any], _dims: Mapping[str, int]) -> int:
    """One for each group and sign."""
    return len(recipe["leaves"]) * len(_SIGNS)


def draw(drawing: Drawing, bits: Bits, recipe: Mapping[str, Any], dims: Mapping[str, int]) -> Iterator[Stack]:
    """One stack for each group."""
    arrays = find_float_arrays(drawing.problem)
    for group in recipe["leaves"]:
        zeros: dict[str, NDArray[np.float64]] = {}
        for name in group:
            shape = shape_of(arrays[name], dims)
            signs = [np.ones(shape), -np.ones(shape), bits.signs(shape)]
            zeros[name] = np.stack([0.0 * sign for sign in signs])
        whys = [f"Zeros of {sign} sign in {' and '.join(group)}." for sign in _SIGNS]
        yield Stack("-".join(group).lower(), dims, drawing.fill(bits, dims, len(_SIGNS), zeros), whys)
