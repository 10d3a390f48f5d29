"""Type guards for trees of any type: what ``isinstance`` alone leaves unknown to a type checker."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeGuard


def is_dict(node: object) -> TypeGuard[dict[str, Any]]:
    """Whether `node` is a dict, as JSON's objects are."""
    return isinstance(node, dict)


def is_list(node: object) -> TypeGuard[list[Any]]:
    """Whether `node` is a list, as JSON's arrays are."""
    return isinstance(node, list)


def is_mapping(node: object) -> TypeGuard[Mapping[str, Any]]:
    """Whether `node` is a mapping of any kind."""
    return isinstance(node, Mapping)


def is_sequence(node: object) -> TypeGuard[list[Any] | tuple[Any, ...]]:
    """Whether `node` is a list or a tuple."""
    return isinstance(node, list | tuple)
