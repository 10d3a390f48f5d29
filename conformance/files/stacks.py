"""Cases of one shape, read together: each leaf of all of them as one array, where nothing in it is out of the ordinary.

Whatever is not, is left to the `CaseReader`, which alone words faults.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from conformance.files.case_reader import CaseReader, Content
from conformance.files.domain import kind_of, outside
from conformance.files.leaf_values import EXACT, INT32, find_inexact
from conformance.values.problem import Problem
from conformance.values.signature import ArrayLeaf, Leaf, Signature
from conformance.values.tree import leaves

_FEW = 8
"""Up to so many cases of one shape are read one by one."""
_WRITTEN: Mapping[str, tuple[frozenset[type], str]] = {
    "number": (frozenset({int, float}), "float64"),
    "integer": (frozenset({int}), "int64"),
    "boolean": (frozenset({bool}), "bool"),
    "string": (frozenset({str}), "object"),
}


class _Unlike(Exception):
    """Something is out of the ordinary, or wrong."""


def read_contents(reader: CaseReader, problem: Problem, cases: Sequence[Any]) -> list[Content]:
    """The content of each case; of no use once the reader has faults.

    `cases` have the form that the schema demands. The first case of each shape is read by `reader`, which checks the
    shape; so are all others of that shape, if any of them is out of the ordinary.
    """
    found: dict[int, Content] = {}
    for first, *rest in _alike(problem, cases):
        before = len(reader.faults)
        found[first] = reader.read(first, cases[first])
        if len(rest) > _FEW and len(reader.faults) == before:
            try:
                found.update(zip(rest, _read_like(found[first], problem, [cases[i] for i in rest]), strict=True))
                continue
            except _Unlike:
                pass
        found.update((index, reader.read(index, cases[index])) for index in rest)
    return [found[index] for index in range(len(cases))]


def _alike(problem: Problem, cases: Sequence[Any]) -> list[list[int]]:
    """The numbers of the cases whose arrays have the same lengths, as far as their first rows tell, group by group."""
    groups: dict[tuple[Any, ...], list[int]] = {}
    for documented in (False, True):
        numbers = [index for index, case in enumerate(cases) if ("expected" in case) is documented]
        chosen = [cases[index] for index in numbers]
        lengths: list[list[int]] = []
        for signature, node in _trees(problem, documented=documented):
            for leaf, column in _split(signature, [case[node] for case in chosen]):
                lengths += _lengths(leaf, column)
        for index, key in zip(numbers, zip(*lengths, strict=True) if lengths else [()] * len(numbers), strict=True):
            groups.setdefault((documented, *key), []).append(index)
    return list(groups.values())


def _trees(problem: Problem, *, documented: bool) -> list[tuple[Signature, str]]:
    return [(dict(problem.inputs), "inputs"), *([(problem.outputs, "expected")] if documented else [])]


def _split(signature: Signature, column: list[Any]) -> Iterator[tuple[Leaf, list[Any]]]:
    """Each leaf with its JSON in every tree of the column."""
    if isinstance(signature, dict):
        for name, child in signature.items():
            yield from _split(child, [node[name] for node in column])
    elif isinstance(signature, list | tuple):
        for index, child in enumerate(signature):
            yield from _split(child, [node[index] for node in column])
    else:
        yield signature, column


def _join(signature: Signature, columns: Iterator[list[Any]], count: int) -> list[Any]:
    """The `count` trees whose leaves are the columns' values; `_split` the other way round."""
    if isinstance(signature, dict | list | tuple):
        children = list(signature.values()) if isinstance(signature, dict) else signature
        parts = [_join(child, columns, count) for child in children]
        rows = zip(*parts, strict=True) if parts else [()] * count
        if isinstance(signature, dict):
            return [dict(zip(signature, row, strict=True)) for row in rows]
        return list(rows) if isinstance(signature, tuple) else list(map(list, rows))
    return next(columns)


def _lengths(leaf: Leaf, column: list[Any]) -> Iterator[list[int]]:
    for _ in range(len(leaf.dims) if isinstance(leaf, ArrayLeaf) else 0):
        yield list(map(len, column))
        column = [node[0] if node else node for node in column]


def _read_like(model: Content, problem: Problem, cases: list[Any]) -> list[Content]:
    """The contents of cases that have the shape of `model`.

    Raises:
        _Unlike: some of them has not, or holds a number that needs a closer look.
    """
    count = len(cases)
    columns: list[list[Any]] = []
    split = _split(dict(problem.inputs), [case["inputs"] for case in cases])
    for (name, like), (leaf, column) in zip(leaves(model.inputs), split, strict=True):
        written = _read_leaf(leaf, column, np.shape(like), problem.domain.get(name, {}))
        columns.append(_rows(written.astype(leaf.dtype)) if isinstance(leaf, ArrayLeaf) else written.tolist())
    inputs = _join(dict(problem.inputs), iter(columns), count)
    documented: list[Any] = [None] * count
    if model.expected is not None:
        split = _split(problem.outputs, [case["expected"] for case in cases])
        rows = [
            _rows(_read_leaf(leaf, column, like.shape, {}))
            for like, (leaf, column) in zip(model.expected.values(), split, strict=True)
        ]
        documented = [dict(zip(model.expected, row, strict=True)) for row in zip(*rows, strict=True)]
    return [Content(values, dict(model.dims), expected) for values, expected in zip(inputs, documented, strict=True)]


def _read_leaf(leaf: Leaf, column: list[Any], shape: tuple[int, ...], limits: Mapping[str, Any]) -> NDArray[Any]:
    """The values of one leaf as written, `(cases, *shape)`.

    Raises:
        _Unlike: they have another shape, or there is one that is not the leaf's, or may not be.
    """
    kind = kind_of(leaf)
    allowed, dtype = _WRITTEN[kind]
    flat: Any = column
    for _ in shape:
        flat = chain.from_iterable(flat)
    found = set(map(type, flat))
    if not found <= allowed:
        raise _Unlike
    try:
        written: NDArray[Any] = np.array(column, dtype)
    except (ValueError, OverflowError):
        raise _Unlike from None
    if written.shape != (len(column), *shape):
        raise _Unlike
    wrong = [next(outside(written, limits), None) is not None]
    if kind == "number":
        wrong += [int in found and bool((np.abs(written) > EXACT).any())]
    if isinstance(leaf, ArrayLeaf) and leaf.dtype == "float32":
        wrong += [bool(find_inexact(written).any())]
    if isinstance(leaf, ArrayLeaf) and leaf.dtype == "int32":
        wrong += [bool(((written < INT32.min) | (written > INT32.max)).any())]
    if any(wrong):
        raise _Unlike
    return written


def _rows(stack: NDArray[Any]) -> list[NDArray[Any]]:
    stack.setflags(write=False)
    return [stack[index, ...] for index in range(len(stack))]
