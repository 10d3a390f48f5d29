"""Random numbers of moderate size, at the sizes that a recipe lists."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from conformance.generation.bits import Bits
from conformance.generation.drawing import Drawing
from conformance.generation.stack import Stack
from conformance.values.problem import Problem

SUMMARY = "Random numbers in [-1, 1) times `spread`, or from `choices`: `count` cases of each of `dims`."
REQUIRED = ("count",)


def describe(_problem: Problem) -> dict[str, Any]:
    """The schema of `count`."""
    return {"count": {"type": "integer", "minimum": 1, "maximum": 10_000, "description": "Cases of each size."}}


def count(_problem: Problem, recipe: Mapping[str, Any], _dims: Mapping[str, int]) -> int:
    """As many as the recipe says."""
    return recipe["count"]


def draw(drawing: Drawing, bits: Bits, recipe: Mapping[str, Any], dims: Mapping[str, int]) -> Iterator[Stack]:
    """One stack."""
    number = recipe["count"]
    inputs = drawing.fill(bits, dims, number, {})
    yield Stack("", dims, inputs, ["Random numbers of moderate size."] * number)
