"""The affine part of a problem, ``inputs weights + bias``, as a recipe names it by leaves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from conformance.generation.drawing import RecipeFault, find_float_arrays
from conformance.values.problem import Problem
from conformance.values.signature import ArrayLeaf


@dataclass(frozen=True, slots=True)
class Affine:
    """Names of leaves.

    `inputs` is ``(rows, features)``, `weights` ``(features,)`` or, with `units`, ``(features, units)``; `bias` ``()``
    or ``(units,)``, and None where there is none.
    """

    inputs: str
    weights: str
    bias: str | None
    units: bool

    @property
    def text(self) -> str:
        """The expression, as it is told."""
        return f"{self.inputs} {self.weights}" + (f" + {self.bias}" if self.bias else "")


def load_affine(problem: Problem, recipe: Mapping[str, Any]) -> Affine:
    """The affine part that `recipe` names.

    Raises:
        RecipeFault: the leaves do not multiply.
    """
    names: Mapping[str, str] = recipe["affine"]
    arrays = find_float_arrays(problem)
    inputs, weights = arrays[names["inputs"]], arrays[names["weights"]]
    if len(inputs.dims) != 2:
        raise RecipeFault(("affine", "inputs"), f"found {inputs}, wanted a matrix with a row for each example")
    if len(weights.dims) not in (1, 2) or weights.dims[0] != inputs.dims[1]:
        wanted = f"a vector or matrix whose first dimension is {inputs.dims[1]}, as {names['inputs']} is {inputs}"
        raise RecipeFault(("affine", "weights"), f"found {weights}, wanted {wanted}")
    if "bias" in names:
        _check_bias(arrays[names["bias"]], weights)
    if len(set(names.values())) < len(names):
        raise RecipeFault(("affine",), "found a leaf named twice, wanted different ones")
    return Affine(names["inputs"], names["weights"], names.get("bias"), len(weights.dims) == 2)


def _check_bias(bias: ArrayLeaf, weights: ArrayLeaf) -> None:
    if bias.dims != weights.dims[1:]:
        wanted = f"float32[{','.join(map(str, weights.dims[1:]))}], one for each unit of {weights}"
        raise RecipeFault(("affine", "bias"), f"found {bias}, wanted {wanted}")
