"""The domain of a problem: which sizes its dimensions, and which values its inputs, may have."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from conformance.errors import FileFault
from conformance.files.document import Document, describe
from conformance.files.schemas import choice, suggest
from conformance.values.signature import ArrayLeaf, FloatLeaf, KeyLeaf, Leaf, Signature, StaticLeaf
from conformance.values.tree import leaves


def check_domain(
    document: Document, inputs: Mapping[str, Signature], domain: Mapping[str, Mapping[str, Any]]
) -> Iterator[FileFault]:
    """What is wrong in a problem.json's domain: a name that no input has, a limit that fits no value."""
    named = dict[str, Leaf](leaves(dict(inputs)))
    dims = {dim for leaf in named.values() if isinstance(leaf, ArrayLeaf) for dim in leaf.dims if isinstance(dim, str)}
    known = [*sorted(dims), *named]
    for name, limits in domain.items():
        path = ("domain", name)
        if name not in known:
            message = f"found {name!r}, wanted a dimension or an input's leaf: {choice(known)}{suggest(name, known)}"
            yield document.key_fault(path, message)
            continue
        if name in dims and name in named:
            yield document.key_fault(
                path, f"found {name!r}, which is a dimension and an input; wanted one of them renamed"
            )
            continue
        kind = kind_of(None if name in dims else named[name])
        for limit, value in limits.items():
            values: Sequence[object] = value if limit == "enum" else [value]
            for index, single in enumerate(values):
                where = (*path, limit, index) if limit == "enum" else (*path, limit)
                if not _fits(kind, single, limit):
                    yield document.fault(where, f"found {describe(single)}, wanted {_WORDS[kind]} for {name}")
        if "minimum" in limits and "maximum" in limits and limits["minimum"] > limits["maximum"]:
            message = (
                f"found a minimum of {limits['minimum']} above the maximum of {limits['maximum']}, wanted it below"
            )
            yield document.fault(path, message)


_WORDS = {
    "dimension": "an integer of at least 0",
    "integer": "an integer",
    "number": "a number",
    "boolean": "an enum of true or false",
    "string": "an enum of strings",
}


def kind_of(leaf: Leaf | None) -> str:
    """What the values of a leaf, or of a dimension, are in JSON."""
    if leaf is None:
        return "dimension"
    if isinstance(leaf, KeyLeaf):
        return "integer"
    if isinstance(leaf, FloatLeaf):
        return "number"
    name = leaf.type if isinstance(leaf, StaticLeaf) else leaf.dtype
    return {"int": "integer", "int32": "integer", "bool": "boolean", "str": "string"}.get(name, "number")


def _fits(kind: str, value: object, limit: str) -> bool:
    if kind == "boolean":
        return limit == "enum" and isinstance(value, bool)
    if kind == "string":
        return limit == "enum" and isinstance(value, str)
    if isinstance(value, bool | str):
        return False
    if kind == "number":
        return isinstance(value, int | float)
    return isinstance(value, int) and (kind == "integer" or value >= 0)


def outside(values: NDArray[Any], limits: Mapping[str, Any]) -> Iterator[tuple[tuple[int, ...], str]]:
    """The places of the values that the limits do not allow, each with what was wanted there."""
    checks: list[tuple[NDArray[np.bool_], str]] = []
    if "enum" in limits:
        checks.append((~np.isin(values, limits["enum"]), choice(limits["enum"])))
    if "minimum" in limits:
        checks.append((values < limits["minimum"], f"at least {limits['minimum']}"))
    if "exclusiveMinimum" in limits:
        checks.append((values <= limits["exclusiveMinimum"], f"more than {limits['exclusiveMinimum']}"))
    if "maximum" in limits:
        checks.append((values > limits["maximum"], f"at most {limits['maximum']}"))
    for wrong, wanted in checks:
        if wrong.any():
            for place in np.argwhere(wrong):
                yield tuple(int(index) for index in place), wanted
