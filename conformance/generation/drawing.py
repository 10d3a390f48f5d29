"""What strategies draw from: the leaves of a problem, their domain, and what a recipe says of them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from conformance.generation.bits import Bits
from conformance.values.problem import Problem
from conformance.values.signature import ArrayLeaf, FloatLeaf, KeyLeaf, Leaf
from conformance.values.tree import leaves

_INTEGERS = 10
"""Integers without a domain are drawn below this."""
_KEYS = 2**31
_STATIC: Mapping[str, Any] = {"int": 1, "float": 0.5, "str": "text", "bool": False}

Path = tuple[str | int, ...]


class RecipeFault(Exception):
    """A recipe that its problem cannot carry out; `path` leads to the place in the recipe."""

    def __init__(self, path: Path, message: str) -> None:
        """What is wrong at `path`: what was found, and what was wanted."""
        super().__init__(message)
        self.path = path
        self.message = message


def find_leaves(problem: Problem) -> dict[str, Leaf]:
    """The leaves of the problem's inputs, by name."""
    return dict(leaves(dict(problem.inputs)))


def find_float_arrays(problem: Problem) -> dict[str, ArrayLeaf]:
    """Those of the inputs' leaves that are arrays of float32, by name."""
    return {
        name: leaf
        for name, leaf in find_leaves(problem).items()
        if isinstance(leaf, ArrayLeaf) and leaf.dtype == "float32"
    }


def find_letters(problem: Problem) -> list[str]:
    """The letters of the dimensions that inputs bind, in the order in which they appear."""
    found = [
        dim
        for leaf in find_leaves(problem).values()
        if isinstance(leaf, ArrayLeaf)
        for dim in leaf.dims
        if isinstance(dim, str)
    ]
    return list(dict.fromkeys(found))


def shape_of(leaf: Leaf, dims: Mapping[str, int]) -> tuple[int, ...]:
    """The shape of a leaf whose dimensions have these sizes; of a scalar where it is no array."""
    if not isinstance(leaf, ArrayLeaf):
        return ()
    return tuple(dims[dim] if isinstance(dim, str) else dim for dim in leaf.dims)


@dataclass(frozen=True, eq=False, slots=True)
class Drawing:
    """One recipe at work: the problem, and what the recipe says of leaves that its strategy leaves alone.

    `choices` has the values that a leaf is drawn from, and `spread` a bound on the magnitude of a leaf's numbers,
    1 where it says nothing; both by the leaf's name.
    """

    problem: Problem
    choices: Mapping[str, Sequence[Any]]
    spread: Mapping[str, float]

    def fill(
        self, bits: Bits, dims: Mapping[str, int], count: int, given: Mapping[str, NDArray[Any]]
    ) -> dict[str, NDArray[Any]]:
        """All leaves of `count` cases: those that are `given`, and the others drawn, in the problem's order."""
        filled: dict[str, NDArray[Any]] = {}
        for name, leaf in find_leaves(self.problem).items():
            filled[name] = given[name] if name in given else self.draw(bits, name, leaf, dims, count)
        return filled

    def draw(self, bits: Bits, name: str, leaf: Leaf, dims: Mapping[str, int], count: int) -> NDArray[Any]:
        """`count` values of a leaf, in its domain.

        Raises:
            RecipeFault: there is none.
        """
        shape = (count, *shape_of(leaf, dims))
        limits = self.problem.domain.get(name, {})
        values = self.choices.get(name) or limits.get("enum")
        if values is not None:
            return bits.pick(np.array(values, object), shape)
        kind = leaf.dtype if isinstance(leaf, ArrayLeaf) else "" if isinstance(leaf, FloatLeaf | KeyLeaf) else leaf.type
        if isinstance(leaf, KeyLeaf) or kind in ("int", "int32"):
            low, high = _whole_limits(limits, _KEYS if isinstance(leaf, KeyLeaf) else _INTEGERS)
            if low > high:
                raise RecipeFault((), f"found no integer in the domain of {name}, wanted one, or choices for {name}")
            return bits.below(min(high - low + 1, _KEYS), shape).astype(object) + low
        if kind == "bool" and isinstance(leaf, ArrayLeaf):
            return bits.below(2, shape) == 1
        if kind in ("str", "bool"):
            return np.full(shape, _STATIC[kind], object)
        return place(bits.symmetric(shape), self.spread.get(name), limits)

    def check_choices(self) -> None:
        """Nothing, where float32 holds the choices of its arrays, rounded as numbers in a file are.

        Raises:
            RecipeFault: it turns one into 0 or infinity, or into another integer.
        """
        for name in find_float_arrays(self.problem):
            for index, value in enumerate(self.choices.get(name, ())):
                with np.errstate(over="ignore", under="ignore"):
                    narrow = float(np.float32(value))
                whole = isinstance(value, int) and narrow != value
                if not math.isfinite(narrow) or (narrow == 0) != (value == 0) or whole:
                    message = f"found {value}, wanted a number that float32 holds; {narrow} is the nearest"
                    raise RecipeFault(("choices", name, index), message)


def _whole_limits(limits: Mapping[str, Any], usual: int) -> tuple[int, int]:
    """The least and the greatest whole number of a domain, which has about `usual` where it is open to a side."""
    low, high, above = limits.get("minimum"), limits.get("maximum"), limits.get("exclusiveMinimum")
    if above is not None:
        low = math.floor(above) + 1 if low is None else max(math.ceil(low), math.floor(above) + 1)
    least = (0 if high is None else min(0, math.floor(high) - usual + 1)) if low is None else math.ceil(low)
    return least, least + usual - 1 if high is None else math.floor(high)


def place(unit: NDArray[np.float64], spread: float | None, limits: Mapping[str, Any]) -> NDArray[np.float64]:
    """Numbers in [-1, 1) times `spread`, moved to where the limits of their leaf allow, and rounded to float32.

    Between two limits they fill what lies within `spread` of 0, or all where there is no spread.
    """
    low, high = limits.get("minimum", limits.get("exclusiveMinimum")), limits.get("maximum")
    size = 1.0 if spread is None else spread
    if low is not None and high is not None:
        if spread is not None and max(low, -spread) <= min(high, spread):
            low, high = max(low, -spread), min(high, spread)
        moved = low + (high - low) * np.abs(unit)
    elif low is not None:
        moved = low + np.abs(unit) * size
    elif high is not None:
        moved = high - np.abs(unit) * size
    else:
        moved = unit * size
    return keep_inside(moved.astype(np.float32).astype(np.float64), limits)


def keep_inside(values: NDArray[np.float64], limits: Mapping[str, Any]) -> NDArray[np.float64]:
    """The values, each outside the limits replaced by the nearest float32 number that they allow."""
    if "exclusiveMinimum" in limits:
        above = np.nextafter(np.float32(limits["exclusiveMinimum"]), np.float32(math.inf))
        values = np.maximum(values, float(above))
    if "minimum" in limits:
        values = np.maximum(values, limits["minimum"])
    return np.minimum(values, limits["maximum"]) if "maximum" in limits else values
