"""Magnitudes far from one, from the smallest to the largest that stay in range."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from conformance.generation.bits import Bits
from conformance.generation.drawing import Drawing, find_float_arrays, keep_inside, shape_of
from conformance.generation.stack import Stack
from conformance.values.problem import Problem

SUMMARY = "Leaves whose elements have magnitudes from one to two times a scale; a case for each entry of `scales`."
REQUIRED = ("scales",)


def describe(problem: Problem) -> dict[str, Any]:
    """The schema of `scales`."""
    scale = {
        "type": "number",
        "minimum": 1e-45,
        "maximum": 1e38,
        "description": "a scale from 1e-45 to 1e38",
    }
    entry = {
        "type": "object",
        "minProperties": 1,
        "additionalProperties": False,
        "properties": dict.fromkeys(find_float_arrays(problem), scale),
    }
    return {"scales": {"type": "array", "minItems": 1, "items": entry, "description": "Scales by leaf, for each case."}}


def count(_problem: Problem, recipe: Mapping[str, Any], _dims: Mapping[str, int]) -> int:
    """One for each entry."""
    return len(recipe["scales"])


def draw(drawing: Drawing, bits: Bits, recipe: Mapping[str, Any], dims: Mapping[str, int]) -> Iterator[Stack]:
    """One stack for each entry."""
    arrays = find_float_arrays(drawing.problem)
    for entry in recipe["scales"]:
        scaled: dict[str, NDArray[np.float64]] = {}
        for name, scale in entry.items():
            shape = (1, *shape_of(arrays[name], dims))
            numbers = (bits.signs(shape) * (1.0 + bits.uniform(shape)) * float(scale)).astype(np.float32)
            scaled[name] = keep_inside(numbers.astype(np.float64), drawing.problem.domain.get(name, {}))
        told = ", ".join(f"{name} around {scale:g}" for name, scale in entry.items())
        yield Stack("", dims, drawing.fill(bits, dims, 1, scaled), [f"Scales: {told}."])
