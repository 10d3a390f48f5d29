"""A large offset that leaves have in common, and that cancels in the result."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from conformance.generation.affine import load_affine
from conformance.generation.bits import Bits
from conformance.generation.drawing import Drawing, find_float_arrays, shape_of
from conformance.generation.schema_parts import describe_affine, describe_leaves
from conformance.generation.stack import Stack
from conformance.values.problem import Problem

SUMMARY = (
    "One offset added to all elements of `leaves`, for each of `offsets`; where `affine` is named, its bias takes back "
    "what the offset adds to the pre-activations."
)
REQUIRED = ("leaves", "offsets")


def describe(_problem: Problem) -> dict[str, Any]:
    """The schema of its parameters."""
    return {
        "leaves": describe_leaves("The leaves that are moved."),
        "offsets": {
            "type": "array",
            "minItems": 1,
            "items": {"type": "number", "minimum": -1e38, "maximum": 1e38},
            "description": "What is added to them.",
        },
        "affine": describe_affine(),
    }


def count(problem: Problem, recipe: Mapping[str, Any], _dims: Mapping[str, int]) -> int:
    """One for each offset."""
    if "affine" in recipe:
        load_affine(problem, recipe)
    return len(recipe["offsets"])


def draw(drawing: Drawing, bits: Bits, recipe: Mapping[str, Any], dims: Mapping[str, int]) -> Iterator[Stack]:
    """One stack of a case for each offset."""
    arrays = find_float_arrays(drawing.problem)
    offsets = np.array(recipe["offsets"], np.float64)
    number = len(offsets)
    given: dict[str, NDArray[Any]] = {}
    for name in recipe["leaves"]:
        values = drawing.draw(bits, name, arrays[name], dims, number)
        given[name] = (values + _along(offsets, values)).astype(np.float32).astype(np.float64)
    if "affine" in recipe:
        affine = load_affine(drawing.problem, recipe)
        # Multiples of 1/64, so that their sums are exact in any order.
        weights = bits.steps(-128, 128, 2.0**-6, (number, *shape_of(arrays[affine.weights], dims)))
        given[affine.weights] = weights
        if affine.bias and affine.inputs in recipe["leaves"]:
            taken = weights.sum(axis=1)
            given[affine.bias] = (-_along(offsets, taken) * taken).astype(np.float32).astype(np.float64)
    whys = [f"{' and '.join(recipe['leaves'])} are off by {offset:g} in common." for offset in recipe["offsets"]]
    yield Stack("", dims, drawing.fill(bits, dims, number, given), whys)


def _along(offsets: NDArray[np.float64], values: NDArray[Any]) -> NDArray[np.float64]:
    return offsets.reshape(len(offsets), *[1] * (values.ndim - 1))
