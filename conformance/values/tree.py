"""Trees of dicts, lists and tuples, and the names of their leaves.

A quantity is one leaf of the outputs, named by its path: ``loss``, ``grads.w1``, ``0.weights``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, cast

ROOT = "output"
"""The name of the leaf of a tree that is nothing but a leaf."""


def _children(node: Any) -> list[tuple[str, Any]] | None:
    if isinstance(node, dict):
        return [(str(name), child) for name, child in cast("dict[object, Any]", node).items()]
    if isinstance(node, list | tuple):
        return [(str(index), child) for index, child in enumerate(cast("list[Any]", node))]
    return None


def leaves(node: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """The leaves of a tree, each with its path, in the tree's own order."""
    children = _children(node)
    if children is None:
        yield path or ROOT, node
        return
    for name, child in children:
        yield from leaves(child, f"{path}.{name}" if path else name)


def map_leaves(function: Callable[..., Any], node: Any, *others: Any) -> Any:
    """The tree of the same containers with `function` applied to each leaf of `node`, and of `others` beside it."""
    if isinstance(node, dict):
        named = cast("dict[Any, Any]", node)
        return {name: map_leaves(function, child, *(other[name] for other in others)) for name, child in named.items()}
    if isinstance(node, list | tuple):
        parts = cast("list[Any]", node)
        children = [
            map_leaves(function, child, *(other[index] for other in others)) for index, child in enumerate(parts)
        ]
        return tuple(children) if isinstance(node, tuple) else children
    return function(node, *others)
