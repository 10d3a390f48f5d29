"""A recipe carried out: the cases that a generated file's `origin.recipe` stands for."""

from __future__ import annotations

import importlib
import math
import pkgutil
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Protocol, cast

import numpy as np

from conformance.generation import strategies
from conformance.generation.bits import Bits
from conformance.generation.drawing import Drawing, RecipeFault, find_leaves, find_letters, shape_of
from conformance.generation.stack import Stack
from conformance.values.problem import Problem
from conformance.values.signature import ArrayLeaf
from conformance.values.tree import map_leaves

_INTEGERS = ("seed", "count", "rounds")
_NO_NAME = re.compile(r"[^a-z0-9._-]+")
MOST_CASES = 10_000
MOST_NUMBERS = 5_000_000
"""A recipe is a few lines, so it could ask for more than any machine holds; these are far above what a file needs."""


class Strategy(Protocol):
    """A module of ``conformance.generation.strategies``; its name, with hyphens, is how a recipe calls it."""

    SUMMARY: str
    REQUIRED: tuple[str, ...]

    def describe(self, problem: Problem) -> dict[str, Any]:
        """The JSON Schema of each of its own parameters, for `problem`."""
        ...

    def count(self, problem: Problem, recipe: Mapping[str, Any], dims: Mapping[str, int]) -> int:
        """How many cases it makes of these sizes.

        Raises:
            RecipeFault: its parameters do not fit the problem, or each other.
        """
        ...

    def draw(self, drawing: Drawing, bits: Bits, recipe: Mapping[str, Any], dims: Mapping[str, int]) -> Iterator[Stack]:
        """Its cases of these sizes.

        Raises:
            RecipeFault: its parameters do not fit the problem, or each other.
        """
        ...


@dataclass(frozen=True, eq=False, slots=True)
class GeneratedCase:
    """One case of a recipe: `inputs` is a tree whose leaves are NumPy arrays, floats, static values and seeds."""

    name: str
    why: str
    inputs: Mapping[str, Any]


@cache
def load_strategies() -> Mapping[str, Strategy]:
    """All strategies by the name that a recipe calls them by; each is a module of its own, and none is registered."""
    found = sorted(module.name for module in pkgutil.iter_modules(strategies.__path__))
    return {
        name.replace("_", "-"): cast("Strategy", importlib.import_module(f"{strategies.__name__}.{name}"))
        for name in found
    }


def expand(problem: Problem, recipe: Mapping[str, Any]) -> list[GeneratedCase]:
    """The cases of `recipe`, which has the form that its schema demands.

    Raises:
        RecipeFault: the problem cannot carry it out, or it asks for too much or for nothing.
    """
    recipe = _with_integers(recipe)
    strategy = load_strategies()[recipe["strategy"]]
    sizes: list[Mapping[str, int]] = recipe["dims"]
    _check_sizes(problem, sizes)
    _check_amount(problem, sizes, [strategy.count(problem, recipe, dims) for dims in sizes])
    drawing = Drawing(problem, recipe.get("choices", {}), recipe.get("spread", {}))
    drawing.check_choices()
    names: Counter[str] = Counter()
    cases: list[GeneratedCase] = []
    for index, dims in enumerate(sizes):
        # What float32 cannot hold is found out below, in words.
        with np.errstate(over="ignore", invalid="ignore"):
            for stack in strategy.draw(drawing, Bits([recipe["seed"], index]), recipe, dims):
                cases += _name(problem, stack, names)
    return cases


def _with_integers(recipe: Mapping[str, Any]) -> dict[str, Any]:
    """The recipe with 1 for 1.0 where a whole number is meant: JSON Schema takes them for the same."""
    sizes: list[Mapping[str, float]] = recipe.get("dims", [{}])
    return {
        **recipe,
        **{name: int(recipe[name]) for name in _INTEGERS if name in recipe},
        "dims": [{letter: int(size) for letter, size in dims.items()} for dims in sizes],
    }


def _name(problem: Problem, stack: Stack, names: Counter[str]) -> Iterator[GeneratedCase]:
    parts = [*([stack.label] if stack.label else []), *(f"{dim}{size}" for dim, size in stack.dims.items())]
    base = _NO_NAME.sub("-", "-".join(parts).lower()).strip("-._") or "case"
    for number, why in enumerate(stack.whys):
        names[base] += 1
        yield GeneratedCase(f"{base}-{names[base]}", why, _row(problem, stack, number))


def _row(problem: Problem, stack: Stack, number: int) -> dict[str, Any]:
    found = iter([(name, stack.inputs[name][number]) for name in find_leaves(problem)])

    def take(leaf: Any) -> Any:
        name, value = next(found)
        taken = np.asarray(value, leaf.dtype) if isinstance(leaf, ArrayLeaf) else value
        if np.asarray(taken).dtype.kind == "f" and not np.all(np.isfinite(taken)):
            raise RecipeFault((), f"found numbers of {name} that are too large, wanted all in the range of their type")
        return taken.item() if hasattr(taken, "item") and not isinstance(leaf, ArrayLeaf) else taken

    return map_leaves(take, dict(problem.inputs))


def _check_sizes(problem: Problem, sizes: list[Mapping[str, int]]) -> None:
    letters = find_letters(problem)
    for index, dims in enumerate(sizes):
        for letter in letters:
            if letter not in dims:
                raise RecipeFault(("dims", index), f"found no size of {letter}, wanted one of each of {letters}")
            limits = problem.domain.get(letter, {})
            low, high = limits.get("minimum", 0), limits.get("maximum", math.inf)
            if not low <= dims[letter] <= high:
                wanted = f"at least {low}" + ("" if high == math.inf else f" and at most {high}")
                raise RecipeFault(
                    ("dims", index, letter), f"found {dims[letter]}, wanted {wanted}, the domain of {letter}"
                )


def _check_amount(problem: Problem, sizes: list[Mapping[str, int]], counts: list[int]) -> None:
    leaves = find_leaves(problem).values()
    # An array without elements is written too, so no dimension counts for less than one.
    numbers = sum(
        count * sum(math.prod(max(1, size) for size in shape_of(leaf, dims)) for leaf in leaves)
        for dims, count in zip(sizes, counts, strict=True)
    )
    for found, most, what in ((sum(counts), MOST_CASES, "cases"), (numbers, MOST_NUMBERS, "numbers")):
        if found > most:
            raise RecipeFault((), f"found a recipe of {found} {what}, wanted at most {most}; write several files")
    if not sum(counts):
        raise RecipeFault((), "found a recipe that makes no case at these sizes, wanted one case at least")
