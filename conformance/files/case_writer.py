"""A case file as people write them: a line per name, arrays on one line, numbers as short as float32 allows."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from conformance.generation.recipe import GeneratedCase
from conformance.values.case import Case
from conformance.values.kinds import is_mapping
from conformance.values.tree import map_leaves

_WIDTH = 100


def render_case_file(case: Case, why: str) -> str:
    """The text of a case file that holds `case` alone, as written by hand for the reason `why`, without `expected`."""
    node = {
        "$schema": "../schema/case.schema.json",
        "version": 1,
        "problem": case.problem.name,
        "origin": {"kind": "written"},
        "cases": [{**_begin(case.name, why, case.inputs), **_told(case)}],
    }
    return _render(node, 0) + "\n"


def render_cases(cases: Iterable[GeneratedCase]) -> str:
    """The value of the key `cases` in a generated file."""
    return _render([_begin(case.name, case.why, case.inputs) for case in cases], 2)


def render_values(node: Any, indent: int) -> str:
    """A tree of NumPy arrays, or of numbers as `Numbers`, on one line where it fits, else indented from `indent` on."""
    return _render(node, indent)


def _begin(name: str, why: str, inputs: Mapping[str, Any]) -> dict[str, Any]:
    return {"name": name, "why": why, "inputs": map_leaves(_to_json, dict(inputs))}


def _told(case: Case) -> dict[str, Any]:
    return {
        **({"uninformative": sorted(case.uninformative)} if case.uninformative else {}),
        **({"ties": "allowed"} if case.allow_ties else {}),
    }


def _to_json(leaf: Any) -> Any:
    if isinstance(leaf, np.ndarray | np.generic):
        return Numbers(_shorten(leaf) if leaf.ndim == 0 else _nested(leaf))
    return leaf


class Numbers:
    """An array's numbers, written out."""

    def __init__(self, text: str) -> None:
        """The numbers that `text` holds."""
        self.text = text


def _nested(array: Any) -> str:
    return "[" + ", ".join(_shorten(part) if part.ndim == 0 else _nested(part) for part in array) + "]"


def _shorten(number: Any) -> str:
    """The shortest text that gives the same number of its own type back."""
    if number.dtype.kind == "b":
        return "true" if number else "false"
    return str(number) if number.dtype.kind in "iu" else str(np.float32(number)).replace("e+", "e")


def _render(node: Any, indent: int) -> str:
    if isinstance(node, Numbers):
        return node.text
    inner = " " * (indent + 2)
    if is_mapping(node):
        parts = [f"{json.dumps(str(name))}: {_render(child, indent + 2)}" for name, child in node.items()]
        line = "{" + ", ".join(parts) + "}"
        flat = not any("\n" in part for part in parts) and not any(map(_is_long, node.values()))
        if flat and len(line) + indent <= _WIDTH:
            return line
        return "{\n" + ",\n".join(inner + part for part in parts) + "\n" + " " * indent + "}"
    if isinstance(node, list | tuple):
        parts = [_render(child, indent + 2) for child in _as_list(node)]
        return "[\n" + ",\n".join(inner + part for part in parts) + "\n" + " " * indent + "]"
    return json.dumps(node, ensure_ascii=False)


def _as_list(node: Any) -> list[Any]:
    return list(node)


def _is_long(node: Any) -> bool:
    """Whether a value deserves a line of its own: a mapping of mappings, or a list of cases."""
    return isinstance(node, list) or (is_mapping(node) and any(is_mapping(child) for child in _values(node)))


def _values(node: Mapping[str, Any]) -> list[Any]:
    return list(node.values())
