"""A problem's schema with its domain in it: what an editor can check while somebody types.

The engine checks the domain on arrays, all elements at once, and says more of what is wrong; so this is for editors
alone.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

from conformance.files.leaf_values import FLOAT32_MAX
from conformance.files.problem_file import json_leaves
from conformance.values.problem import Problem
from conformance.values.signature import ArrayLeaf, Leaf
from conformance.values.tree import leaves


def add_domain(schema: Mapping[str, Any], problem: Problem) -> dict[str, Any]:
    """The schema with sizes and limits of the inputs' leaves."""
    node: dict[str, Any] = copy.deepcopy(dict(schema))
    inputs = node["$defs"]["case"]["properties"]["inputs"]
    named = zip(leaves(dict(problem.inputs)), json_leaves(dict(problem.inputs), (), tuples=False), strict=True)
    for (name, leaf), (path, _) in named:
        place = inputs
        for step in path:
            place = place["prefixItems"][step] if isinstance(step, int) else place["properties"][step]
        _limit(place, leaf, problem.domain.get(name, {}), problem.domain)
    for letter, size in node["$defs"]["recipe_dims"]["items"]["properties"].items():
        size.update(problem.domain.get(letter, {}))
    holds_expected = {"properties": {"cases": {"contains": {"required": ["expected"]}}}, "required": ["cases"]}
    origin = {"properties": {"kind": {"const": "generated"}}, "required": ["kind"]}
    node["allOf"] = [
        {"if": holds_expected, "then": {"required": ["rounding"]}},
        {"if": {"properties": {"origin": origin}, "required": ["origin"]}, "then": {"not": holds_expected}},
    ]
    return node


def _limit(place: dict[str, Any], leaf: Leaf, limits: Mapping[str, Any], domain: Mapping[str, Any]) -> None:
    for dim in leaf.dims if isinstance(leaf, ArrayLeaf) else ():
        sizes = {"minimum": dim, "maximum": dim} if isinstance(dim, int) else domain.get(dim, {})
        for limit, keyword in (("minimum", "minItems"), ("maximum", "maxItems")):
            if limit in sizes:
                place[keyword] = sizes[limit]
        place["items"] = copy.deepcopy(place["items"])
        place = place["items"]
    if isinstance(leaf, ArrayLeaf) and leaf.dtype == "float32":
        place.update({"minimum": -FLOAT32_MAX, "maximum": FLOAT32_MAX})
    place.update(limits)
