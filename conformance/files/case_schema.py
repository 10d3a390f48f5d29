"""The JSON Schema of one problem's case files: the format's frame with the problem's own inputs and outputs in it."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

from conformance.files.leaf_values import INT32
from conformance.files.schemas import Schema, create_schema, load_schema
from conformance.generation.recipe_schema import create_recipe_schema
from conformance.values.problem import Problem
from conformance.values.signature import ArrayLeaf, FloatLeaf, KeyLeaf, Leaf, Signature
from conformance.values.tree import leaves

MAX_SEED = 2**31 - 1


_KEPT = 64
_schemas: dict[int, tuple[Problem, Schema]] = {}


def load_case_schema(problem: Problem) -> Schema:
    """The schema of `problem`'s case files; the last ones are kept, since it takes longer to make than to use."""
    held, schema = _schemas.get(id(problem), (None, None))
    if held is not problem or schema is None:
        if len(_schemas) >= _KEPT:
            _schemas.clear()
        schema = create_case_schema(problem)
        # The problem is held too, so that no other gets its id.
        _schemas[id(problem)] = problem, schema
    return schema


def create_case_schema(problem: Problem) -> Schema:
    """The schema of `problem`'s case files."""
    frame: dict[str, Any] = copy.deepcopy(dict(load_schema("case").node))
    properties = frame["$defs"]["case"]["properties"]
    properties["inputs"] = _tree(dict(problem.inputs), "")
    properties["expected"] = _tree(problem.outputs, "")
    recipe, definitions = create_recipe_schema(problem)
    _, generated = frame["properties"]["origin"]["allOf"]
    generated["then"]["properties"]["recipe"] = recipe
    frame["$defs"] |= definitions
    properties["uninformative"]["items"] = {"enum": [name for name, _ in leaves(problem.outputs)]}
    return create_schema(frame)


def _tree(node: Signature, path: str) -> Mapping[str, Any]:
    if isinstance(node, dict):
        properties = {name: _tree(child, f"{path}.{name}" if path else name) for name, child in node.items()}
        return {
            "type": "object",
            "wanted": f"an object with the keys {', '.join(properties)}",
            "additionalProperties": False,
            "required": list(properties),
            "properties": properties,
        }
    if isinstance(node, list | tuple):
        items = [_tree(child, f"{path}.{index}" if path else str(index)) for index, child in enumerate(node)]
        count = len(items)
        return {
            "type": "array",
            "wanted": f"an array of {count}",
            "prefixItems": items,
            "minItems": count,
            "maxItems": count,
        }
    return _leaf(node, path)


def _leaf(leaf: Leaf, path: str) -> Mapping[str, Any]:
    declared = f"{path} is {leaf}" if path else str(leaf)
    if isinstance(leaf, KeyLeaf):
        wanted = f"a seed, an integer ({declared})"
        return {"type": "integer", "minimum": 0, "maximum": MAX_SEED, "wanted": wanted}
    if isinstance(leaf, FloatLeaf):
        return {"type": "number", "wanted": f"a number ({declared})"}
    if not isinstance(leaf, ArrayLeaf):
        kind = {"int": "integer", "float": "number", "str": "string", "bool": "boolean"}[leaf.type]
        article = "an" if kind == "integer" else "a"
        return {"type": kind, "wanted": f"{article} {kind} ({declared})"}
    kind, one, many = {
        "bool": ("boolean", "true or false", "booleans"),
        "int32": ("integer", f"an integer from {INT32.min} to {INT32.max}", "integers"),
    }.get(leaf.dtype, ("number", "a number", "numbers"))
    schema: Mapping[str, Any] = {"type": kind, "wanted": f"{one} ({declared})"}
    for depth in range(len(leaf.dims)):
        schema = {"type": "array", "wanted": f"an array of {'arrays of ' * depth}{many} ({declared})", "items": schema}
    return schema
