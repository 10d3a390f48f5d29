"""A batched run of an oracle without rounding, in which magnitudes and exact ties are looked at."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor
from typing_extensions import override

from ._grids import Grids
from ._rows import RowMode

_LARGEST = 2.0**127
"""Half of float32's range, so that no rounded run overflows."""


class UnroundedRun(RowMode):
    """Nothing is rounded; magnitudes and exact ties of the rows in `judged` are looked at."""

    def __init__(
        self, problem: str, grids: Grids, accuracy: Mapping[str, float], judged: Tensor, allow_ties: bool
    ) -> None:
        super().__init__(problem, grids, accuracy)
        self._judged = judged
        self._allow_ties = allow_ties

    def _rows(self, values: Tensor) -> Tensor | None:
        if not values.numel() or not self._grids.has_rows(values.shape):
            return None
        return values.reshape(self._grids.rows, -1)[self._judged]

    @override
    def finish(self, func: Any, name: str, result: Tensor, ulps: float) -> Tensor:
        if result.dtype is not torch.float64:
            return result
        rows = self._rows(result)
        if rows is not None:
            low, high = (float(value) for value in torch.aminmax(rows))
            # Written so that a NaN fails.
            if not (low >= -_LARGEST and high <= _LARGEST):
                self.refuse(
                    func,
                    f"its true result reaches {max(-low, high):.3g}, which leaves the range of float32",
                    "Wanted magnitudes up to 2^127. Scale the case's inputs down, or write the oracle in a form that "
                    "does not overflow.",
                )
        return result

    @override
    def finish_function(self, func: Any, name: str, result: Tensor, ulps: float, operand: Tensor) -> Tensor:
        return self.finish(func, name, result, ulps)

    @override
    def multiply(self, func: Any, name: str, a: Tensor, b: Tensor) -> Tensor:
        return self.finish(func, name, func(a, b), 1.0)

    @override
    def sum(self, func: Any, name: str, args: Any, kwargs: Any) -> Tensor:
        return self.finish(func, name, func(*args, **kwargs), 1.0)

    @override
    def accumulate(self, func: Any, name: str, args: Any, kwargs: Any) -> Tensor:
        return self.finish(func, name, func(*args, **kwargs), 1.0)

    @override
    def choose(self, name: str, first: Any, second: Any) -> Any:
        return first

    @override
    def round_constants(self, name: str, args: Any) -> Any:
        return args

    @override
    def compare(self, func: Any, name: str, natural: Tensor, difference: Tensor, extreme: Tensor | None) -> Tensor:
        rows = None if self._allow_ties else self._rows(difference)
        if rows is None:
            return natural
        ties = int((rows == 0).sum())
        if extreme is not None:
            ties -= extreme.numel() // self._grids.rows * rows.shape[0]
        if ties > 0:
            self.refuse(
                func,
                f"{ties} element{'s' if ties != 1 else ''} tie exactly, so that a convention decides the result",
                "Wanted operands that differ. Move the case's inputs off the tie, or let the case declare its ties.",
            )
        return natural
