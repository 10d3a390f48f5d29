"""Pre-activations that hit chosen targets exactly, in whatever order a machine adds them up."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from conformance.generation.affine import Affine, load_affine
from conformance.generation.bits import Bits
from conformance.generation.drawing import Drawing, RecipeFault, find_float_arrays, find_leaves
from conformance.generation.exact_sum import hit
from conformance.generation.schema_parts import describe_affine
from conformance.generation.stack import Stack
from conformance.values.problem import Problem
from conformance.values.signature import ArrayLeaf

SUMMARY = (
    "The elements of `affine` are the `targets`, and with `neighbours` the float32 numbers on either side of each. "
    "Where weights are a vector every row hits a target, where they are a matrix every unit does in one of its rows. "
    "As many cases as it takes to hit every target `rounds` times, with each value of each input by row whose domain "
    "is an enum (labels); which targets share a case is random."
)
REQUIRED = ("affine", "targets")

_GRID = 2.0**-4
"""What the numbers beside a target are multiples of."""
_PIVOTS = (0.25, 0.5, 1.0)
"""Powers of two, which divide exactly, none above one, since the smallest target has no half."""
_MOST_HITS = 100_000
_SHOWN = 4
"""So many targets are told in a case's reason."""


def describe(_problem: Problem) -> dict[str, Any]:
    """The schema of its parameters."""
    target = {
        "type": "number",
        "minimum": -1e30,
        "maximum": 1e30,
        "description": "a number, rounded to float32",
    }
    return {
        "affine": describe_affine(),
        "targets": {"type": "array", "minItems": 1, "uniqueItems": True, "items": target},
        "neighbours": {"type": "boolean", "description": "Whether each target's neighbours in float32 are hit too."},
        "rounds": {"type": "integer", "minimum": 1, "maximum": 1000, "description": "How often each target is hit."},
    }


def count(problem: Problem, recipe: Mapping[str, Any], dims: Mapping[str, int]) -> int:
    """As many as it takes."""
    affine = load_affine(problem, recipe)
    slots = _count_slots(problem, affine, dims)
    return -(-len(_list_hits(problem, affine, recipe)[0]) * recipe.get("rounds", 1) // slots) if slots else 0


def draw(drawing: Drawing, bits: Bits, recipe: Mapping[str, Any], dims: Mapping[str, int]) -> Iterator[Stack]:
    """One stack."""
    problem = drawing.problem
    affine = load_affine(problem, recipe)
    slots, number = _count_slots(problem, affine, dims), count(problem, recipe, dims)
    if not number:
        return
    hits, companions = _list_hits(problem, affine, recipe)
    order = np.concatenate([bits.order(len(hits)) for _ in range(recipe.get("rounds", 1))])
    chosen = np.resize(order, number * slots).reshape(number, slots)
    targets = np.array([target for target, *_ in hits])[chosen]
    given = _solve(drawing, bits, affine, dims, targets)
    for position, name in enumerate(companions, 1):
        given[name] = np.array([hit_[position] for hit_ in hits])[chosen]
    whys = [_tell(affine, row) for row in targets]
    yield Stack("", dims, drawing.fill(bits, dims, number, given), whys)


def _solve(
    drawing: Drawing, bits: Bits, affine: Affine, dims: Mapping[str, int], targets: NDArray[np.float64]
) -> dict[str, NDArray[Any]]:
    arrays = find_float_arrays(drawing.problem)
    number, slots = targets.shape
    rows_dim, features_dim = arrays[affine.inputs].dims
    rows, features = (dims[dim] if isinstance(dim, str) else dim for dim in (rows_dim, features_dim))
    bias = bits.steps(-16, 16, _GRID, (number, slots if affine.units else 1))
    bias = bias if affine.bias else np.zeros_like(bias)
    others = bits.steps(0, 16, _GRID, (number, slots, features))
    pivots = bits.below(features, (number,))
    cases = np.arange(number, dtype=np.int64)
    if not affine.units:
        weights = bits.steps(8, 32, _GRID, (number, features)) * bits.signs((number, features))
        weights[cases, pivots] = bits.pick(_PIVOTS, (number,)) * bits.signs((number,))
        fixed = np.broadcast_to(weights[:, None, :], (number, slots, features))
        solved, bias = hit(targets, fixed, others, pivots, bias)
        given = {affine.inputs: solved, affine.weights: weights}
        return {**given, affine.bias: bias[:, 0]} if affine.bias else given
    inputs = bits.steps(-16, 16, _GRID, (number, rows, features))
    inputs[cases, :, pivots] = bits.pick(_PIVOTS, (number, rows)) * bits.signs((number, rows))
    fixed = inputs[:, np.arange(slots) % rows, :]
    solved, bias = hit(targets, fixed, others, pivots, bias)
    given = {affine.inputs: inputs, affine.weights: solved.transpose(0, 2, 1)}
    return {**given, affine.bias: bias} if affine.bias else given


def _count_slots(problem: Problem, affine: Affine, dims: Mapping[str, int]) -> int:
    """How many pre-activations of one case can be chosen."""
    arrays = find_float_arrays(problem)
    dim = arrays[affine.weights].dims[1] if affine.units else arrays[affine.inputs].dims[0]
    sizes = [*arrays[affine.inputs].dims, dim]
    numbers = [dims[size] if isinstance(size, str) else size for size in sizes]
    return numbers[-1] if all(numbers) else 0


def _list_hits(
    problem: Problem, affine: Affine, recipe: Mapping[str, Any]
) -> tuple[list[tuple[float, ...]], list[str]]:
    """Every target with every combination of its companions' values, and the companions' names."""
    targets: list[float] = []
    for written in recipe["targets"]:
        target = np.float32(written)
        around = [np.nextafter(target, np.float32(-np.inf)), target, np.nextafter(target, np.float32(np.inf))]
        targets += map(float, around if recipe.get("neighbours") else [target])
    rows = find_float_arrays(problem)[affine.inputs].dims[0]
    companions: dict[str, list[float]] = {
        name: problem.domain[name]["enum"]
        for name, leaf in find_leaves(problem).items()
        if not affine.units
        and isinstance(leaf, ArrayLeaf)
        and leaf.dims == (rows,)
        and "enum" in problem.domain.get(name, {})
    }
    hits = math.prod([len(targets), *map(len, companions.values())])
    if hits > _MOST_HITS:
        raise RecipeFault(
            ("targets",),
            f"found {hits} targets with all values of {', '.join(companions)}, wanted at most {_MOST_HITS}",
        )
    return list(itertools.product(dict.fromkeys(targets), *companions.values())), list(companions)


def _tell(affine: Affine, targets: NDArray[np.float64]) -> str:
    shown = ", ".join(str(np.float32(target)) for target in targets[:_SHOWN])
    more = f" and {len(targets) - _SHOWN} more" if len(targets) > _SHOWN else ""
    return f"{affine.text} is {shown}{more}."
