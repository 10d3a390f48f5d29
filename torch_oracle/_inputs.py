"""A case's inputs as the tensors that an oracle is called with."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from conformance.errors import OracleRefusal
from conformance.values.problem import Problem
from conformance.values.signature import ArrayLeaf, FloatLeaf
from conformance.values.tree import leaves, map_leaves

from ._grids import mix

_TYPES = {"float32": np.float64, "int32": np.int64, "bool": np.bool_}


def check_types(problem: Problem) -> None:
    """Nothing, when the rounding model knows the types of all inputs and outputs.

    Raises:
        OracleRefusal: one is shorter than float32.
    """
    for where, tree in (("input", dict(problem.inputs)), ("output", problem.outputs)):
        for path, leaf in leaves(tree):
            if isinstance(leaf, ArrayLeaf) and leaf.dtype not in _TYPES:
                raise OracleRefusal(
                    f"estimating {problem.name}: the {where} {path} is {leaf}; {leaf.dtype} has no rounding rule yet. "
                    "Wanted float32, int32 or bool. Declare it so."
                )


def single_inputs(problem: Problem, case: Mapping[str, Any]) -> dict[str, Any]:
    """The inputs of one case without batch dimensions: own copies in float64, int64 and bool; floats as written."""

    def convert(leaf: Any, value: Any) -> Any:
        if isinstance(leaf, ArrayLeaf):
            return torch.from_numpy(np.array(value, dtype=_TYPES[leaf.dtype]))
        return float(value) if isinstance(leaf, FloatLeaf) else value

    return map_leaves(convert, dict(problem.inputs), case)


def stacked_inputs(problem: Problem, cases: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The inputs of several cases, stacked along a new first dimension; Python floats become a float64 tensor."""

    def convert(leaf: Any, *values: Any) -> Any:
        if isinstance(leaf, ArrayLeaf):
            return torch.from_numpy(np.stack([np.asarray(value, dtype=_TYPES[leaf.dtype]) for value in values]))
        return torch.tensor(values, dtype=torch.float64) if isinstance(leaf, FloatLeaf) else values[0]

    return map_leaves(convert, dict(problem.inputs), *cases)


def batch_inputs(
    problem: Problem,
    stacked: Mapping[str, Any],
    arrange: Callable[[Tensor], Tensor],
    change: Callable[[str, Any, Tensor], Tensor],
) -> dict[str, Any]:
    """The stacked inputs with leading dimensions (runs, cases) made by `arrange`, then passed through `change`.

    `change` is given the path of a floating input, its leaf, and the tensor.
    """
    names = iter([path for path, _ in leaves(dict(problem.inputs))])

    def convert(leaf: Any, value: Any) -> Any:
        name = next(names)
        if not isinstance(value, Tensor):
            return value
        arranged = arrange(value).contiguous()
        return change(name, leaf, arranged) if arranged.is_floating_point() else arranged

    return map_leaves(convert, dict(problem.inputs), stacked)


def neighbour(problem: Problem, case: Mapping[str, Any], number: int) -> dict[str, Any]:
    """A case near `case` with other floating inputs: each moved by up to a quarter, or off 0 by up to 2^-10."""
    position = 0

    def convert(leaf: Any, value: Any) -> Any:
        nonlocal position
        if not (isinstance(leaf, FloatLeaf) or (isinstance(leaf, ArrayLeaf) and leaf.dtype == "float32")):
            return value
        values = np.asarray(value, dtype=np.float64)
        hashes = mix(np.arange(position, position + values.size, dtype=np.uint64) ^ mix(np.array([number], np.uint64)))
        position += values.size
        uniform = ((hashes >> np.uint64(11)).astype(np.float64) * 2.0**-53).reshape(values.shape)
        moved = np.where(values == 0.0, uniform * 2.0**-10, values * (0.75 + 0.5 * uniform))
        return float(moved) if isinstance(leaf, FloatLeaf) else moved

    return map_leaves(convert, dict(problem.inputs), case)
