"""Operations on rows, taken apart into the primitive ones that round."""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch._decomp import decomposition_table
from typing_extensions import override

from ._decompositions import ALTERNATIVES, DECOMPOSITIONS, add_scaled, raise_to_power, subtract_scaled
from ._dispatch import ClassifyingMode, is_composite, storage, tensors
from ._grids import Grids
from ._operations import (
    ACCUMULATIONS,
    CHOICES,
    COMPARISONS,
    EXACT,
    FUNCTIONS,
    ORDERS,
    PRODUCTS,
    ROUNDED,
    SIGNS,
    STEPS,
    SUMS,
)
from ._orders import order

_CONSTANT_OPERANDS = frozenset(("clamp", "clamp_max", "clamp_min", "masked_fill", "maximum", "minimum", "where"))
_FILLS = frozenset(("fill", "full", "full_like", "new_full"))
_WHOLE_FLOAT32 = 2.0**24


@functools.lru_cache(maxsize=4096)
def is_float32(value: float) -> bool:
    """Whether float32 holds the number, or no finite number is meant."""
    return not math.isfinite(value) or float(np.float32(value)) == value


class RowMode(ClassifyingMode):
    """Takes operations on rows apart into primitive ones; what each result then suffers is up to the subclass."""

    def __init__(self, problem: str, grids: Grids, accuracy: Mapping[str, float]) -> None:
        super().__init__(problem, accuracy)
        self._grids = grids
        # Results whose origin decides how a later comparison is judged; kept alive, so that no address is used twice.
        self._relu_operands: dict[int, tuple[Tensor, Tensor]] = {}
        self._extremes: dict[int, Tensor] = {}
        self._inputs: dict[int, Tensor] = {}

    def declare_input(self, values: Tensor) -> None:
        """An input's equality with a constant or another input is no tie: no rounding stands between."""
        self._inputs[storage(values)] = values

    @override
    def apply(self, func: Any, name: str, args: Any, kwargs: Any) -> Any:
        if name in ROUNDED:
            if kwargs.get("rounding_mode") is not None:
                self.refuse(
                    func, "a quotient that is rounded to a whole number has no tie rule; write it as torch.floor"
                )
            if kwargs.get("alpha", 1) != 1 or (len(args) > 2 and args[2] != 1):
                return self._decompose(add_scaled if name == "add" else subtract_scaled, args, kwargs)
            return self.finish(func, name, self._call(func, name, args, kwargs), 1.0)
        if name in EXACT:
            return self._copy(func, name, args, kwargs)
        if name in PRODUCTS:
            return self.multiply(func, name, *args)
        if name in SUMS:
            return self.sum(func, name, args, kwargs)
        if name in FUNCTIONS or name == "softplus_backward":
            operand = args[1] if name == "softplus_backward" else args[0]
            return self.finish_function(func, name, func(*args, **kwargs), self.accuracy(func, name), operand)
        if name == "pow":
            return self._power(func, args, kwargs)
        if name == "threshold_backward":
            return self._threshold_backward(*args, **kwargs)
        if name in COMPARISONS:
            return self._compare_operands(func, name, args)
        if name in SIGNS or name in STEPS or name in CHOICES:
            return self._step(func, name, args, kwargs)
        if name in ORDERS:
            return self._order(func, name, args, kwargs)
        if name in ACCUMULATIONS:
            return self.accumulate(func, name, args, kwargs)
        if name in ALTERNATIVES:
            with self:
                first, second = (form(*args, **kwargs) for form in ALTERNATIVES[name])
            return self.choose(name, first, second)
        decomposition = DECOMPOSITIONS.get(name) or decomposition_table.get(func)
        if decomposition is None and is_composite(func):
            decomposition = func.decompose
        if decomposition is not None:
            return self._decompose(decomposition, args, kwargs)
        results = func(*args, **kwargs)
        if any(result.is_floating_point() for result in tensors(results)):
            self.refuse(func, "it is neither classified nor decomposable")
        return results

    def finish(self, func: Any, name: str, result: Tensor, ulps: float) -> Tensor:
        """A result that was computed with an error of so many `ulps`."""
        raise NotImplementedError

    def finish_function(self, func: Any, name: str, result: Tensor, ulps: float, operand: Tensor) -> Tensor:
        """The result of an elementary function of `operand`, computed with an error of so many `ulps`."""
        raise NotImplementedError

    def multiply(self, func: Any, name: str, a: Tensor, b: Tensor) -> Tensor:
        """A matrix product."""
        raise NotImplementedError

    def sum(self, func: Any, name: str, args: Any, kwargs: Any) -> Tensor:
        """A sum or mean, added up in blocks."""
        raise NotImplementedError

    def accumulate(self, func: Any, name: str, args: Any, kwargs: Any) -> Tensor:
        """A sum that may be added up one term after the other."""
        raise NotImplementedError

    def compare(self, func: Any, name: str, natural: Tensor, difference: Tensor, extreme: Tensor | None) -> Tensor:
        """A comparison's result; `extreme` is an operand that was chosen from the other, and so equals it somewhere."""
        raise NotImplementedError

    def choose(self, name: str, first: Any, second: Any) -> Any:
        """One of two results that correct implementations reach in different ways."""
        raise NotImplementedError

    def round_constants(self, name: str, args: Any) -> Any:
        """The operands, with constants as the arithmetic would hold them."""
        raise NotImplementedError

    def _call(self, func: Any, name: str, args: Any, kwargs: Any) -> Tensor:
        """The result for operands whose constants are held as the arithmetic holds them."""
        rounded = self.round_constants(name, args)
        if rounded is args:
            return func(*args, **kwargs)
        if name == "masked_fill":
            return torch.where(args[1], rounded[2], rounded[0])
        # A number has become a tensor, which another overload takes.
        return func.overloadpacket(*rounded, **kwargs)

    def _decompose(self, decomposition: Any, args: Any, kwargs: Any) -> Any:
        with self:
            return decomposition(*args, **kwargs)

    def _copy(self, func: Any, name: str, args: Any, kwargs: Any) -> Any:
        if name == "_to_copy" and args[0].is_floating_point():
            target = kwargs.get("dtype", args[0].dtype)
            if target is not None and not target.is_floating_point:
                return self._cast(args[0], target)
        result = self._call(func, name, args, kwargs) if name in _CONSTANT_OPERANDS else func(*args, **kwargs)
        if name in _FILLS and isinstance(args[-1], float) and not is_float32(args[-1]):
            return self.finish(func, "constant", result, 1.0)
        if name == "relu":
            self._relu_operands[storage(result)] = (result, args[0])
        elif name in ("amax", "amin"):
            self._extremes[storage(result)] = result
        elif name == "_to_copy" and result.dtype is not args[0].dtype and bool((result.abs() > _WHOLE_FLOAT32).any()):
            # A whole number that float32 cannot hold.
            return self.finish(func, name, result, 1.0)
        return result

    def _cast(self, values: Tensor, dtype: torch.dtype) -> Tensor:
        with self:
            whole = values != 0 if dtype is torch.bool else torch.trunc(values)
        return whole.to(dtype)

    def _power(self, func: Any, args: Any, kwargs: Any) -> Tensor:
        with self:
            result = raise_to_power(*args)
        if result is not None:
            return result
        return self.finish(func, "pow", self._call(func, "pow", args, kwargs), self.accuracy(func, "pow"))

    def _threshold_backward(self, grad: Tensor, values: Tensor, threshold: Any) -> Tensor:
        # What relu hands to its derivative is its result, in which all that is below 0 looks like a tie.
        _, operand = self._relu_operands.get(storage(values), (values, values))
        with self:
            return torch.where(operand > threshold, grad, torch.zeros_like(grad))

    def _compare_operands(self, func: Any, name: str, args: Any) -> Tensor:
        natural = func(*args)
        if not any(value.is_floating_point() for value in tensors(args)):
            return natural
        if name in ("eq", "ne") and all(self._is_exact(value) for value in tensors(args)):
            return natural
        extreme = next((value for value in tensors(args) if storage(value) in self._extremes), None)
        return self.compare(func, name, natural, args[0] - args[1], extreme)

    def _is_exact(self, values: Tensor) -> bool:
        return storage(values) in self._inputs or not self._grids.has_rows(values.shape)

    def _step(self, func: Any, name: str, args: Any, kwargs: Any) -> Any:
        values = args[0]
        if not values.is_floating_point():
            return func(*args, **kwargs)
        if name in SIGNS:
            with self:
                return (values > 0).to(torch.float64) - (values < 0).to(torch.float64)
        if name in CHOICES:
            return self._choose(func, name, args, kwargs)
        if args[1:] or kwargs:
            self.refuse(func, "rounding to decimals has no tie rule")
        return self._round_to_whole(func, name, values)

    def _order(self, func: Any, name: str, args: Any, kwargs: Any) -> Any:
        if not args[0].is_floating_point():
            return func(*args, **kwargs)
        return order(
            func,
            name,
            args,
            kwargs,
            compare=lambda above, difference: self.compare(func, "gt", above, difference, None),
            refuse=lambda reason: self.refuse(func, reason),
        )

    def _round_to_whole(self, func: Any, name: str, values: Tensor) -> Tensor:
        result = func(values)
        # Where the step is: at whole numbers, between them for round, and not at 0 for trunc.
        edge = torch.floor(values) + 0.5 if name == "round" else torch.round(values)
        upper = {
            "floor": edge,
            "ceil": edge + 1.0,
            "round": edge + 0.5,
            "trunc": torch.where(edge > 0, edge, edge + 1.0),
        }[name]
        difference = values - edge
        if name == "trunc":
            difference = torch.where(edge == 0, torch.ones_like(difference), difference)
        natural = result == upper
        above = self.compare(func, "gt", natural, difference, None)
        return torch.where(above == natural, result, torch.where(above, upper, upper - 1.0))

    def _choose(self, func: Any, name: str, args: Any, kwargs: Any) -> Any:
        largest = name in ("argmax", "max")
        values = args[0]
        dim = args[1] if len(args) > 1 else kwargs.get("dim")
        if isinstance(dim, Tensor):
            self.refuse(func, "write it as torch.maximum or torch.minimum")
        keepdim = args[2] if len(args) > 2 else kwargs.get("keepdim", False)
        if dim is None:
            self.refuse(func, "it reduces over the batch; name the dimension")
        extreme = values.amax(dim, keepdim=True) if largest else values.amin(dim, keepdim=True)
        difference = values - extreme
        chosen = self.compare(func, "eq", difference == 0, difference, extreme)
        # Another element that a coin has chosen goes before the extreme one itself.
        index = torch.where(difference == 0, 1, 2).mul(chosen).argmax(dim, keepdim=True)
        picked = values.gather(dim, index)
        if not keepdim:
            index, picked = index.squeeze(dim), picked.squeeze(dim)
        return index if name.startswith("arg") else (picked, index)
