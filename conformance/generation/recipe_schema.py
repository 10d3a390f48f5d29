"""The JSON Schema of a problem's recipes: what each strategy takes, with the problem's own names in it."""

from __future__ import annotations

from typing import Any

from conformance.generation.drawing import find_float_arrays, find_leaves, find_letters
from conformance.generation.recipe import load_strategies
from conformance.generation.schema_parts import FLOAT_ARRAY
from conformance.values.problem import Problem
from conformance.values.signature import ArrayLeaf, FloatLeaf, KeyLeaf, Leaf

MOST_SEED = 2**63 - 1
PREFIX = "recipe_"
"""Of the definitions of what all strategies take."""
_LARGEST_SIZE = 100_000


def create_recipe_schema(problem: Problem) -> tuple[dict[str, Any], dict[str, Any]]:
    """The schema of ``origin.recipe`` in `problem`'s case files, and the definitions that it refers to by name."""
    strategies = load_strategies()
    common = _describe_common(problem)
    branches: list[dict[str, Any]] = []
    for name, strategy in strategies.items():
        required = [*(["dims"] if find_letters(problem) else []), *strategy.REQUIRED]
        shared = {part: {"$ref": f"#/$defs/{PREFIX}{part}"} for part in common}
        properties = {"strategy": {"const": name}, **shared, **strategy.describe(problem)}
        chosen = {"additionalProperties": False, "required": required, "properties": properties}
        branches.append({"if": {"properties": {"strategy": {"const": name}}, "required": ["strategy"]}, "then": chosen})
    summaries = "\n\n".join(f"{name}: {strategy.SUMMARY}" for name, strategy in strategies.items())
    recipe = {
        "type": "object",
        "description": "How the cases are generated: a strategy, its parameters and a seed.",
        "required": ["strategy", "seed"],
        "properties": {"strategy": {"enum": list(strategies), "description": summaries}},
        "allOf": branches,
    }
    definitions = {f"{PREFIX}{part}": schema for part, schema in common.items()}
    names = list(find_float_arrays(problem))
    definitions[FLOAT_ARRAY] = {"enum": names} if names else {"not": {}, "description": "no name: no input is float32"}
    return recipe, definitions


def _describe_common(problem: Problem) -> dict[str, Any]:
    sizes = {
        letter: {"type": "integer", "minimum": 0, "maximum": _LARGEST_SIZE, "description": f"The size of {letter}."}
        for letter in find_letters(problem)
    }
    choices = {
        name: {"type": "array", "minItems": 1, "items": _describe_value(leaf)}
        for name, leaf in find_leaves(problem).items()
    }
    spread = {"type": "number", "exclusiveMinimum": 0, "maximum": 1e38, "description": "more than 0, at most 1e38"}
    entry = {"type": "object", "additionalProperties": False, "required": list(sizes), "properties": sizes}
    return {
        "seed": {"type": "integer", "minimum": 0, "maximum": MOST_SEED, "description": "Another seed, other numbers."},
        "dims": {
            "type": "array",
            "minItems": 1,
            "items": entry,
            "description": "Sizes of the dimensions; the strategy makes its cases for each.",
        },
        "choices": {
            "type": "object",
            "additionalProperties": False,
            "properties": choices,
            "description": "By leaf, the values that it is drawn from.",
        },
        "spread": {
            "type": "object",
            "additionalProperties": False,
            "properties": dict.fromkeys(find_float_arrays(problem), spread),
            "description": "By leaf, a bound on the magnitude of its random numbers; 1 where nothing is said.",
        },
    }


def _describe_value(leaf: Leaf) -> dict[str, Any]:
    if isinstance(leaf, FloatLeaf):
        return {"type": "number"}
    if isinstance(leaf, KeyLeaf):
        return {"type": "integer", "minimum": 0, "maximum": 2**31 - 1}
    kind = leaf.dtype if isinstance(leaf, ArrayLeaf) else leaf.type
    if kind == "int32":
        return {"type": "integer", "minimum": -(2**31), "maximum": 2**31 - 1}
    return {"type": {"int": "integer", "bool": "boolean", "str": "string"}.get(kind, "number")}
