"""The domain of a problem: which sizes its dimensions, and which values its inputs, may have."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from conformance.errors import FileFault
from conformance.files.document import Document, describe
from conformance.files.leaf_values import FLOAT32_MAX, INT32
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
        leaf = None if name in dims else named[name]
        kind = kind_of(leaf)
        sound = True
        for limit, value in limits.items():
            values: Sequence[object] = value if limit == "enum" else [value]
            for index, single in enumerate(values):
                where = (*path, limit, index) if limit == "enum" else (*path, limit)
                fits = _fits(kind, single, limit)
                if not fits or not _is_within(leaf, single):
                    within = "" if not fits else f" that {leaf or 'a size'} can be"
                    yield document.fault(where, f"found {describe(single)}, wanted {_WORDS[kind]}{within} for {name}")
                    sound = False
        if sound and "minimum" in limits and "maximum" in limits and limits["minimum"] > limits["maximum"]:
            message = (
                f"found a minimum of {limits['minimum']} above the maximum of {limits['maximum']}, wanted it below"
            )
            yield document.fault(path, message)
        elif sound and _is_empty(limits):
            yield document.fault(path, f"found limits that no value of {name} meets, wanted some value allowed")


_LARGEST_INT = 2**63
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


def _is_within(leaf: Leaf | None, value: object) -> bool:
    """Whether a leaf, or a dimension, can have the value at all."""
    if isinstance(value, bool | str) or not isinstance(value, int | float):
        return True
    if leaf is None or isinstance(leaf, KeyLeaf):
        return 0 <= value <= INT32.max
    if isinstance(leaf, ArrayLeaf):
        low, high = (INT32.min, INT32.max) if leaf.dtype == "int32" else (-FLOAT32_MAX, FLOAT32_MAX)
        return low <= value <= high
    return abs(value) < _LARGEST_INT if str(leaf) == "static int" else True


def _is_empty(limits: Mapping[str, Any]) -> bool:
    if "enum" in limits:
        values = np.array(limits["enum"], object)
        return len({place for place, _ in outside(values, limits)}) == len(values)
    return "exclusiveMinimum" in limits and "maximum" in limits and limits["exclusiveMinimum"] >= limits["maximum"]


def outside(values: NDArray[Any], limits: Mapping[str, Any]) -> Iterator[tuple[tuple[int, ...], str]]:
    """The places of the values that the limits do not allow, each with what was wanted there."""
    for limit, wanted in limits.items():
        wrong = _WRONG[limit](values, wanted)
        if wrong.any():
            for place in np.argwhere(wrong):
                yield tuple(int(index) for index in place), describe_limits({limit: wanted})


def describe_limits(limits: Mapping[str, Any]) -> str:
    """What the limits want, in words."""
    words = {"minimum": "at least", "exclusiveMinimum": "more than", "maximum": "at most"}
    return " and ".join(
        choice(wanted) if limit == "enum" else f"{words[limit]} {wanted}" for limit, wanted in limits.items()
    )


_WRONG: Mapping[str, Callable[[NDArray[Any], Any], NDArray[np.bool_]]] = {
    "enum": lambda values, wanted: ~np.isin(values, wanted),
    "minimum": lambda values, wanted: values < wanted,
    "exclusiveMinimum": lambda values, wanted: values <= wanted,
    "maximum": lambda values, wanted: values > wanted,
}
