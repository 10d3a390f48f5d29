"""An oracle's outputs, checked against what its problem declares."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from conformance.errors import CaseRejected, OracleFault
from conformance.values.problem import Problem
from conformance.values.signature import ArrayLeaf
from conformance.values.tree import ROOT

_FLOAT32_MAX = float(np.finfo(np.float32).max)


def _is_float(leaf: Any) -> bool:
    return not isinstance(leaf, ArrayLeaf) or leaf.dtype == "float32"


class OutputChecker:
    """Turns what one problem's oracle returns into arrays by quantity."""

    def __init__(self, problem: Problem, path: Path) -> None:
        self._problem = problem
        self._path = path

    def fault(self, text: str) -> OracleFault:
        """The fault that `text` tells, with the oracle's place."""
        return OracleFault(f"estimating {self._problem.name}: the oracle {self._path} {text}")

    def _pairs(self, leaf: Any, value: Any, path: str) -> Iterator[tuple[str, Any, Any]]:
        where = path or ROOT
        if isinstance(leaf, dict):
            if not isinstance(value, dict) or set(value) != set(leaf):
                found = f"keys {sorted(map(str, value))}" if isinstance(value, dict) else type(value).__name__
                raise self.fault(f"returns {found} for {where}; wanted a dict with keys {sorted(leaf)}. Return that.")
            children = [(name, leaf[name], value[name]) for name in leaf]
        elif isinstance(leaf, list | tuple):
            if not isinstance(value, type(leaf)) or len(value) != len(leaf):
                found = f"{len(value)} entries" if isinstance(value, list | tuple) else type(value).__name__
                raise self.fault(
                    f"returns {found} for {where}; wanted a {type(leaf).__name__} of {len(leaf)}. Return that."
                )
            children = [(str(index), child, value[index]) for index, child in enumerate(leaf)]
        else:
            yield where, leaf, value
            return
        for name, child, found in children:
            yield from self._pairs(child, found, f"{path}.{name}" if path else name)

    def arrays(self, outputs: Any, batch: Sequence[int], shapes: dict[str, tuple[int, ...]]) -> dict[str, NDArray[Any]]:
        """The outputs by quantity: float64, int64 or bool, of shape `batch` followed by the quantity's own in `shapes`.

        Raises:
            OracleFault: structure, type or shape is not the declared one.
        """
        arrays: dict[str, NDArray[Any]] = {}
        for quantity, leaf, value in self._pairs(self._problem.outputs, outputs, ""):
            if value is None:
                raise self.fault(
                    f"returns None for {quantity}; wanted a tensor of {leaf}. Nothing that was differentiated depends "
                    "on that input: pass it to the function that is differentiated, and do not detach it."
                )
            if not isinstance(value, Tensor):
                raise self.fault(f"returns {type(value).__name__} for {quantity}; wanted a torch.Tensor of {leaf}.")
            wanted = torch.float64 if _is_float(leaf) else torch.bool if leaf.dtype == "bool" else torch.int64
            if value.dtype is not wanted and not (wanted is torch.int64 and value.dtype is torch.int32):
                raise self.fault(
                    f"returns {value.dtype} for {quantity}; wanted {wanted}: the oracle stays in double precision and "
                    "in whole numbers. Remove the conversion."
                )
            shape = (*batch, *shapes[quantity])
            if tuple(value.shape) != shape:
                raise self.fault(self._shape_text(quantity, tuple(value.shape), shape, batch))
            arrays[quantity] = np.array(value.detach().numpy(), order="C")
        return arrays

    def check_range(self, values: dict[str, NDArray[Any]]) -> None:
        """Nothing where the true values are in the range of float32, so that an implementation can return them.

        Raises:
            CaseRejected: one is not; a NaN is no magnitude, and told elsewhere.
        """
        for quantity, value in values.items():
            largest = float(np.max(np.abs(value), initial=0.0)) if value.dtype.kind == "f" else 0.0
            if largest > _FLOAT32_MAX:
                raise CaseRejected(
                    f"the true {quantity} has an element of magnitude {largest:.3g}, beyond float32's range of "
                    f"{_FLOAT32_MAX:.9g}, so no implementation can return it; wanted a case whose outputs float32 "
                    "holds. Scale its inputs down."
                )

    def _shape_text(self, quantity: str, found: tuple[int, ...], wanted: tuple[int, ...], batch: Sequence[int]) -> str:
        if not batch:
            return f"returns shape {found} for {quantity}; wanted {wanted}. Return the declared shape."
        return (
            f"forgets the batch dimension: for inputs with the leading dimensions {tuple(batch)} it returns {quantity} "
            f"with shape {found}; wanted {wanted}. Count dimensions from the end (dim=-1), and reduce over none of the "
            "leading ones but in the sum that is differentiated."
        )

    def shapes(self, dims: dict[str, int]) -> dict[str, tuple[int, ...]]:
        """Each quantity's own shape, the dimension letters bound by `dims`.

        Raises:
            OracleFault: an output has a dimension that no input binds.
        """
        found: dict[str, tuple[int, ...]] = {}

        def visit(leaf: Any, path: str) -> None:
            if isinstance(leaf, dict):
                for name, child in leaf.items():
                    visit(child, f"{path}.{name}" if path else name)
            elif isinstance(leaf, list | tuple):
                for index, child in enumerate(leaf):
                    visit(child, f"{path}.{index}" if path else str(index))
            else:
                letters = leaf.dims if isinstance(leaf, ArrayLeaf) else ()
                for letter in letters:
                    if isinstance(letter, str) and letter not in dims:
                        raise self.fault(
                            f"is to return {path or ROOT} as {leaf}, but no input has a dimension {letter}."
                        )
                found[path or ROOT] = tuple(dims[letter] if isinstance(letter, str) else letter for letter in letters)

        visit(self._problem.outputs, "")
        return found
