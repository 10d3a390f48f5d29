"""A target that the prediction meets exactly, or nearly: a difference in which everything cancels."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from conformance.generation.bits import Bits
from conformance.generation.drawing import Drawing, RecipeFault, find_float_arrays, find_leaves, shape_of
from conformance.generation.schema_parts import describe_leaf, describe_leaves
from conformance.generation.stack import Stack
from conformance.values.problem import Problem

SUMMARY = "The leaf `target` is `prediction` times 1 + nudge, for each of `nudges`; the leaves of `zero` are zero."
REQUIRED = ("target", "prediction", "nudges")


def describe(_problem: Problem) -> dict[str, Any]:
    """The schema of its parameters."""
    return {
        "target": describe_leaf("The leaf that is fitted."),
        "prediction": describe_leaf("The leaf that it equals."),
        "nudges": {
            "type": "array",
            "minItems": 1,
            "items": {"type": "number", "minimum": -1, "maximum": 1},
            "description": "Relative distances between the two, 0 for an exact fit.",
        },
        "zero": describe_leaves("Leaves that are zero, so that nothing else is added."),
    }


def count(problem: Problem, recipe: Mapping[str, Any], _dims: Mapping[str, int]) -> int:
    """One for each nudge."""
    arrays = find_leaves(problem)
    target, prediction = arrays[recipe["target"]], arrays[recipe["prediction"]]
    if str(target) != str(prediction):
        raise RecipeFault(("target",), f"found {target}, wanted {prediction} as {recipe['prediction']} is")
    return len(recipe["nudges"])


def draw(drawing: Drawing, bits: Bits, recipe: Mapping[str, Any], dims: Mapping[str, int]) -> Iterator[Stack]:
    """One stack of a case for each nudge."""
    arrays = find_float_arrays(drawing.problem)
    nudges = np.array(recipe["nudges"], np.float64)
    number = len(nudges)
    zeros = {name: np.zeros((number, *shape_of(arrays[name], dims))) for name in recipe.get("zero", ())}
    prediction = drawing.draw(bits, recipe["prediction"], arrays[recipe["prediction"]], dims, number)
    factors = (1.0 + nudges).reshape(number, *[1] * (prediction.ndim - 1))
    target = (prediction * factors).astype(np.float32).astype(np.float64)
    given = {**zeros, recipe["prediction"]: prediction, recipe["target"]: target}
    whys = [
        f"{recipe['target']} is {recipe['prediction']}" + (f" times 1 + {nudge:g}." if nudge else " exactly.")
        for nudge in recipe["nudges"]
    ]
    yield Stack("", dims, drawing.fill(bits, dims, number, given), whys)
