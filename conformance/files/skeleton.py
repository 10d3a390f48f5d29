"""A new case file: valid as it stands, with numbers that wait to be replaced."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from conformance.errors import InputFault, UsageError
from conformance.files.case_file import load_cases
from conformance.files.case_writer import render_case_file
from conformance.files.domain import describe_limits, outside
from conformance.files.problem_file import ProblemFolder
from conformance.generation.drawing import find_leaves, find_letters, shape_of
from conformance.values.case import Case
from conformance.values.problem import Problem
from conformance.values.signature import ArrayLeaf, FloatLeaf, KeyLeaf, Leaf
from conformance.values.tree import leaves, map_leaves

_NAME = re.compile(r"[a-z0-9][a-z0-9._-]*")
_MOST_NUMBERS = 100_000
_SIZE = 2
"""Of a dimension, where its domain allows it."""
_NUMBERS = (0.5, -1.0, 0.25, 1.5, -0.75, 2.0)
"""What arrays are filled with, over and over; all are exact in float32."""
_STATIC: Mapping[str, Any] = {"int": 1, "float": 0.5, "str": "text", "bool": False}


def parse_dims(text: str) -> dict[str, int]:
    """The sizes that ``N=4,D=2`` gives.

    Raises:
        UsageError: it is written otherwise.
    """
    dims: dict[str, int] = {}
    for part in filter(None, text.split(",")):
        letter, sign, size = part.partition("=")
        if not letter.strip() or not sign or not size.strip().isdecimal() or letter.strip() in dims:
            raise UsageError(f"reading --dims {text}: found {part!r}; wanted sizes such as N=4,D=2, each letter once")
        dims[letter.strip()] = int(size)
    return dims


def write_skeleton(problems: ProblemFolder, problem: Problem, name: str, dims: Mapping[str, int]) -> Path:
    """The path of a new case file of one case called `name`, which is in the problem's domain.

    Raises:
        UsageError: the name or a dimension does not fit, or the file exists.
    """
    doing = f"writing a new case of {problem.name}"
    if not _NAME.fullmatch(name):
        raise UsageError(
            f"{doing}: found the name {name!r}; wanted one of a-z, 0-9, '.', '_' and '-', beginning with a letter or "
            "digit, since it becomes part of a test id"
        )
    path = problem.root / "cases" / problem.name / f"{name}.json"
    sizes = _choose_sizes(problem, dims, doing)
    case = Case(
        name=name,
        why="Say here what this case is for.",
        problem=problem,
        group=name,
        inputs=_fill(problem, sizes),
        dims=sizes,
        expected=None,
        rounding=None,
        uninformative=frozenset(),
        allow_ties=False,
        origin={"kind": "written"},
        content_hash="",
        file=path,
        line=1,
    )
    text = render_case_file(case, case.why)
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise UsageError(f"{doing}: {path} exists; choose another name, or edit it") from None
    except OSError as error:
        raise UsageError(f"{doing}: {path} cannot be written: {error.strerror}") from None
    try:
        load_cases(path, problems)
    except InputFault as error:
        path.unlink()
        raise UsageError(
            f"{doing}: its domain is of a kind that no case could be guessed for; write the file by hand:\n{error}"
        ) from None
    return path


def _choose_sizes(problem: Problem, dims: Mapping[str, int], doing: str) -> dict[str, int]:
    letters = find_letters(problem)
    for letter in dims:
        if letter not in letters:
            known = ", ".join(letters) or "none"
            raise UsageError(f"{doing}: found the dimension {letter!r}; wanted one of {known}")
    sizes: dict[str, int] = {}
    for letter in letters:
        limits = problem.domain.get(letter, {})
        size = dims.get(letter, int(_allowed(limits, [_SIZE])[0]))
        if any(True for _ in outside(np.array(size), limits)):
            raise UsageError(f"{doing}: found {letter}={size}; wanted {describe_limits(limits)}")
        sizes[letter] = size
    numbers = sum(math.prod(max(1, size) for size in shape_of(leaf, sizes)) for leaf in find_leaves(problem).values())
    if numbers > _MOST_NUMBERS:
        raise UsageError(f"{doing}: found sizes that make {numbers} numbers; wanted at most {_MOST_NUMBERS}")
    return sizes


def _fill(problem: Problem, sizes: Mapping[str, int]) -> dict[str, Any]:
    names = iter([name for name, _ in leaves(dict(problem.inputs))])

    def fill(leaf: Leaf) -> Any:
        return _value(leaf, problem.domain.get(next(names), {}), sizes)

    return map_leaves(fill, dict(problem.inputs))


def _value(leaf: Leaf, limits: Mapping[str, Any], sizes: Mapping[str, int]) -> Any:
    if isinstance(leaf, ArrayLeaf):
        shape = tuple(sizes[dim] if isinstance(dim, str) else dim for dim in leaf.dims)
        return _array(leaf.dtype, shape, limits)
    if isinstance(leaf, FloatLeaf):
        return float(_allowed(limits, [_NUMBERS[0]])[0])
    if isinstance(leaf, KeyLeaf):
        return int(_allowed(limits, [0])[0])
    usual = _STATIC[leaf.type]
    if isinstance(usual, bool | str):
        return limits.get("enum", [usual])[0]
    return _allowed(limits, [usual])[0]


def _array(dtype: str, shape: tuple[int, ...], limits: Mapping[str, Any]) -> NDArray[Any]:
    usual: list[Any] = [False, True] if dtype == "bool" else [0, 1, 2] if dtype == "int32" else list(_NUMBERS)
    values = list(islice(cycle(_allowed(limits, usual)), int(np.prod(shape))))
    return np.array(values, dtype).reshape(shape)


def _allowed(limits: Mapping[str, Any], usual: list[Any]) -> list[Any]:
    """Values that the limits allow: those of an enum, or the usual ones moved to where they may be."""
    if "enum" in limits:
        return list(limits["enum"])
    low, high = limits.get("minimum"), limits.get("maximum")
    above = limits.get("exclusiveMinimum")
    moved: list[Any] = []
    for value in usual:
        if above is not None and value <= above:
            value = above + abs(value) + 1 if high is None else above + (high - above) / 2
        if low is not None and value < low:
            value = low
        if high is not None and value > high:
            value = high
        moved.append(value)
    return moved
