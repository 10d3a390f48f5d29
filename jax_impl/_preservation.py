"""Whether a function left its inputs as they were: containers, keys and arrays."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from conformance.values.tree import ROOT


@dataclass(frozen=True, slots=True)
class _Leaf:
    """A leaf as it was: the object itself, and a copy of its bits."""

    node: Any
    bits: bytes | None


def remember(node: Any) -> Any:
    """What `find_changes` needs to know of `node`: the same containers, and each leaf with a copy of its bits."""
    if isinstance(node, dict):
        return node, {name: remember(child) for name, child in node.items()}
    if isinstance(node, list | tuple):
        return node, [remember(child) for child in node]
    return _Leaf(node, _bits(node))


def find_changes(before: Any, node: Any, path: str = "") -> Iterator[str]:
    """What is different about `node` since `remember` gave `before`, one text a change."""
    where = path or ROOT
    if isinstance(before, _Leaf):
        yield from _changed_leaf(before, node, where)
        return
    container, children = before
    if node is not container:
        yield f"{where}: another object stands in its place"
        return
    if isinstance(children, dict):
        removed = [str(name) for name in children if name not in node]
        added = [str(name) for name in node if name not in children]
        if removed:
            yield f"{where}: the key {', '.join(removed)} was removed"
        if added:
            yield f"{where}: the key {', '.join(added)} was added"
        if not removed and not added and list(node) != list(children):
            yield f"{where}: the order of its keys changed to {', '.join(map(str, node))}"
        pairs = [(name, child, node[name]) for name, child in children.items() if name in node]
    else:
        if len(node) != len(children):
            yield f"{where}: it had {len(children)} parts, and has {len(node)}"
        pairs = [(index, child, part) for index, (child, part) in enumerate(zip(children, node, strict=False))]
    for name, child, part in pairs:
        yield from find_changes(child, part, f"{path}.{name}" if path else str(name))


def _changed_leaf(before: _Leaf, node: Any, where: str) -> Iterator[str]:
    if isinstance(before.node, jax.Array) and before.node.is_deleted():
        yield f"{where}: its buffer was donated or deleted"
    elif node is not before.node:
        yield f"{where}: another object stands in its place"
    elif _bits(node) != before.bits:
        yield f"{where}: its values changed"


def _bits(node: Any) -> bytes | None:
    if not isinstance(node, jax.Array | np.ndarray):
        return None
    if jnp.issubdtype(node.dtype, jax.dtypes.prng_key):
        return np.asarray(jax.random.key_data(node)).tobytes()
    return np.asarray(node).tobytes()
