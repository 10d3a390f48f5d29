"""The value of one leaf: from the JSON of a case to an array, a float, a static value or a seed."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from conformance.files.document import describe
from conformance.files.positions import JsonPath
from conformance.values.kinds import is_list
from conformance.values.signature import ArrayLeaf, FloatLeaf, KeyLeaf, Leaf

Findings: TypeAlias = list[tuple[JsonPath, str]]

FLOAT32_MAX = float(np.finfo(np.float32).max)
INT32 = np.iinfo(np.int32)
EXACT = 2**24
"""From here on float32 does not hold every integer."""


def load_written(node: Any, leaf: Leaf, findings: Findings) -> NDArray[Any] | None:
    """The numbers of a leaf as written: float64, int64, bool, or objects for text; None where there are findings.

    `node` has the nesting and the types that the schema of `leaf` demands. An array without elements may have fewer
    dimensions than declared.
    """
    if not isinstance(leaf, ArrayLeaf):
        return np.array(node, object if isinstance(node, str) else None)
    try:
        array = np.array(node, np.bool_ if leaf.dtype == "bool" else np.float64)
    except ValueError:
        findings += _ragged(node, ())
        return None
    before = len(findings)
    if leaf.dtype == "int32":
        findings += [(path, message) for path, value in _elements(node) if (message := _integer(value))]
    elif leaf.dtype == "float32" and (find_inexact(array) | (np.abs(array) > EXACT)).any():
        findings += [(path, message) for path, value in _elements(node) if (message := _single(value))]
    if len(findings) > before:
        return None
    return array.astype(np.int64) if leaf.dtype == "int32" else array


def find_inexact(array: NDArray[Any]) -> NDArray[np.bool_]:
    """Where float32 has no number near: beyond its range, or so small that it has 0 alone."""
    with np.errstate(over="ignore", under="ignore"):
        narrow = array.astype(np.float32)
    return ~np.isfinite(narrow) | ((narrow == 0.0) & (array != 0.0))


def load_value(written: NDArray[Any], leaf: Leaf) -> Any:
    """What an implementation is called with: the written numbers in the leaf's own type."""
    if isinstance(leaf, ArrayLeaf):
        array = written.astype(leaf.dtype)
        array.setflags(write=False)
        return array
    value = written.item()
    return float(value) if isinstance(leaf, FloatLeaf) or str(leaf) == "static float" else value


def check_scalar(node: Any, leaf: Leaf) -> str | None:
    """What is wrong with the number of a leaf that is no array, or None."""
    if isinstance(leaf, KeyLeaf) or str(leaf) == "static int":
        return None if isinstance(node, int) else f"found {describe(node)}, wanted an integer such as {int(node)}"
    if isinstance(node, int) and not isinstance(node, bool) and int(float(node)) != node:
        return f"found {describe(node)}, which float64 does not hold; wanted {float(node)!r}, the nearest that it does"
    return None


def _integer(value: Any) -> str | None:
    if not isinstance(value, int):
        return f"found {describe(value)}, wanted an integer such as {int(value)}"
    if not INT32.min <= value <= INT32.max:
        return f"found {describe(value)}, wanted an integer from {INT32.min} to {INT32.max}"
    return None


def _single(value: Any) -> str | None:
    with np.errstate(over="ignore", under="ignore"):
        narrow = float(np.float32(value))
    if not math.isfinite(narrow):
        return f"found {describe(value)}, wanted a number within float32's range, at most {FLOAT32_MAX:.9g}"
    if narrow == 0.0 and value != 0:
        return f"found {describe(value)}, which float32 turns into 0; wanted 0 or at least 1.4e-45"
    if isinstance(value, int) and int(narrow) != value:
        return f"found {describe(value)}, which float32 does not hold; wanted {int(narrow)}, the nearest that it does"
    return None


def _elements(node: Any, path: JsonPath = ()) -> Iterator[tuple[JsonPath, Any]]:
    if is_list(node):
        for index, child in enumerate(node):
            yield from _elements(child, (*path, index))
    else:
        yield path, node


def _ragged(node: Any, path: JsonPath) -> Iterator[tuple[JsonPath, str]]:
    """The rows that are longer or shorter than the first of their kind."""
    level: list[tuple[JsonPath, Any]] = [(path, node)]
    while level and is_list(level[0][1]):
        first, wanted = level[0][0], len(level[0][1])
        wrong = [(place, row) for place, row in level if len(row) != wanted]
        for place, row in wrong:
            steps = "".join(f"[{step}]" for step in first)
            yield place, f"found {len(row)} values, wanted {wanted} as in {steps}"
        if wrong:
            return
        level = [((*place, index), child) for place, row in level for index, child in enumerate(row)]
