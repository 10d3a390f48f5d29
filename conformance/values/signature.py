"""The signature grammar of problem files: what a leaf of an input or output is.

A leaf is ``float32|bfloat16|float16|int32|bool`` with ``[dims]``, or ``float`` (a Python float), or
``static int|float|str|bool``, or ``key`` (a PRNG key given by its seed). A JSON object is a dict, an array a list,
``{"tuple": [...]}`` a tuple. Fixed from version 1 of the problem format on.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TypeAlias, cast

DTYPES = ("float32", "bfloat16", "float16", "int32", "bool")
FLOATING = ("float32", "bfloat16", "float16")
STATIC_TYPES = ("int", "float", "str", "bool")

_ARRAY = re.compile(r"(?P<dtype>[a-z]+[0-9]*)\[(?P<dims>[^\[\]]*)\]")
_DIMENSION = re.compile(r"[A-Za-z][A-Za-z0-9_]*|0|[1-9][0-9]*")


@dataclass(frozen=True, slots=True)
class ArrayLeaf:
    """An array; a dimension is a letter, bound across all inputs of a case, or a number."""

    dtype: str
    dims: tuple[str | int, ...]

    def __str__(self) -> str:
        return f"{self.dtype}[{','.join(map(str, self.dims))}]"


@dataclass(frozen=True, slots=True)
class FloatLeaf:
    """A Python float: exact as written; its rounding to float32 belongs to the arithmetic."""

    def __str__(self) -> str:
        return "float"


@dataclass(frozen=True, slots=True)
class StaticLeaf:
    """A Python value that is never traced."""

    type: str

    def __str__(self) -> str:
        return f"static {self.type}"


@dataclass(frozen=True, slots=True)
class KeyLeaf:
    """A PRNG key, given by its seed."""

    def __str__(self) -> str:
        return "key"


Leaf: TypeAlias = ArrayLeaf | FloatLeaf | StaticLeaf | KeyLeaf
Signature: TypeAlias = "Leaf | dict[str, Signature] | list[Signature] | tuple[Signature, ...]"


def load_leaf(text: str) -> Leaf:
    """The leaf that `text` names.

    Raises:
        ValueError: `text` is not in the grammar; the message says what was wanted.
    """
    if text == "float":
        return FloatLeaf()
    if text == "key":
        return KeyLeaf()
    words = text.split(" ")
    if words[0] == "static" and len(words) == 2 and words[1] in STATIC_TYPES:
        return StaticLeaf(words[1])
    match = _ARRAY.fullmatch(text)
    if match and match["dtype"] in DTYPES:
        names = [name.strip() for name in match["dims"].split(",")] if match["dims"] else []
        if all(_DIMENSION.fullmatch(name) for name in names):
            return ArrayLeaf(match["dtype"], tuple(int(name) if name.isdigit() else name for name in names))
    raise ValueError(
        f"{text!r} is no leaf of the signature grammar; wanted one of {', '.join(DTYPES)} with dimensions such as "
        f"[N,D], or 'float', or 'static {'|'.join(STATIC_TYPES)}', or 'key'"
    )


def load_signature(node: object) -> Signature:
    """The signature that a parsed JSON value describes.

    Raises:
        ValueError: a leaf is not in the grammar, or a node is neither an object, an array nor a string.
    """
    if isinstance(node, str):
        return load_leaf(node)
    if isinstance(node, list):
        return [load_signature(child) for child in cast("list[object]", node)]
    if isinstance(node, dict):
        named = cast("dict[str, object]", node)
        parts = named.get("tuple")
        if set(named) == {"tuple"} and isinstance(parts, list):
            return tuple(load_signature(child) for child in cast("list[object]", parts))
        return {name: load_signature(child) for name, child in named.items()}
    raise ValueError(f"found {node!r}; wanted a leaf such as 'float32[N,D]', an object, an array or {{'tuple': [...]}}")
