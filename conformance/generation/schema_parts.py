"""Parts of the strategies' schemas, which refer to what a problem's own schema defines."""

from __future__ import annotations

from typing import Any

FLOAT_ARRAY = "float_array"
"""The definition of the names of the inputs' leaves that are arrays of float32."""
_NAME = {"$ref": f"#/$defs/{FLOAT_ARRAY}"}


def describe_leaf(description: str) -> dict[str, Any]:
    """The schema of the name of an array of float32."""
    return {**_NAME, "description": description}


def describe_leaves(description: str) -> dict[str, Any]:
    """The schema of a list of such names."""
    return {"type": "array", "minItems": 1, "uniqueItems": True, "items": _NAME, "description": description}


def describe_affine() -> dict[str, Any]:
    """The schema of the parameter `affine`."""
    return {
        "type": "object",
        "additionalProperties": False,
        "required": ["inputs", "weights"],
        "properties": {
            "inputs": describe_leaf("The leaf with a row for each example, a matrix."),
            "weights": describe_leaf("The leaf that it is multiplied with, a vector or a matrix."),
            "bias": describe_leaf("The leaf that is added, where there is one."),
        },
        "description": "The leaves of inputs weights + bias.",
    }
