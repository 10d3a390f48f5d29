"""Runs of an oracle in which every operation errs as a machine's would."""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch._decomp import decomposition_table

from conformance.arithmetic import Arithmetic

from ._decompositions import ALTERNATIVES, DECOMPOSITIONS, _add, _pow, _sub
from ._dispatch import ClassifyingMode, is_composite, tensors
from ._grids import Grids, round_significand
from ._operations import (
    ACCUMULATIONS,
    CHOICES,
    COMPARISONS,
    EXACT,
    FUNCTIONS,
    PRODUCTS,
    ROUNDED,
    SIGNS,
    STEPS,
    SUMS,
)
from ._ties import Coins

_CONSTANT_OPERANDS = ROUNDED | {"clamp", "clamp_max", "clamp_min", "masked_fill", "maximum", "minimum", "where"}
_SIGNIFICAND = 2.0**24
_BLOCK = 8
_LARGEST = 2.0**127
"""Magnitudes up to here are admitted: half of float32's range, so that no run overflows."""


def _is_power_of_two(value: float) -> bool:
    return abs(math.frexp(value)[0]) == 0.5


@functools.lru_cache(maxsize=4096)
def _is_float32(value: float) -> bool:
    return not abs(value) < _LARGEST or float(np.float32(value)) == value


def _storage(tensor: Tensor) -> int:
    return tensor.untyped_storage().data_ptr()


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
        self._inputs[_storage(values)] = values

    def apply(self, func: Any, name: str, args: Any, kwargs: Any) -> Any:
        if name in ROUNDED:
            if kwargs.get("alpha", 1) != 1 or (len(args) > 2 and args[2] != 1):
                return self._decompose(_add if name == "add" else _sub, args, kwargs)
            return self.finish(func, name, self._call(func, name, args, kwargs), 1.0)
        if name in EXACT:
            return self._copy(func, name, args, kwargs)
        if name in PRODUCTS:
            return self.multiply(func, name, *args)
        if name in SUMS:
            return self.sum(func, name, args, kwargs)
        if name in FUNCTIONS or name == "softplus_backward":
            return self.finish(func, name, func(*args, **kwargs), self.accuracy(func, name))
        if name == "pow":
            return self._power(func, args, kwargs)
        if name == "threshold_backward":
            return self._threshold_backward(func, *args, **kwargs)
        if name in COMPARISONS:
            return self._compare_operands(func, name, args)
        if name in SIGNS or name in STEPS or name in CHOICES:
            return self._step(func, name, args, kwargs)
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
        return func(*args, **kwargs)

    def finish(self, func: Any, name: str, result: Tensor, ulps: float) -> Tensor:
        """A result that was computed with an error of so many `ulps`."""
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
        return first

    def round_constants(self, name: str, args: Any) -> Any:
        """The operands, with constants as the arithmetic would hold them."""
        return args

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
        if name == "relu":
            self._relu_operands[_storage(result)] = (result, args[0])
        elif name in ("amax", "amin"):
            self._extremes[_storage(result)] = result
        elif name == "_to_copy" and result.dtype is not args[0].dtype and bool((result.abs() > _SIGNIFICAND).any()):
            # A whole number that float32 cannot hold.
            return self.finish(func, name, result, 1.0)
        return result

    def _cast(self, values: Tensor, dtype: torch.dtype) -> Tensor:
        with self:
            whole = values != 0 if dtype is torch.bool else torch.trunc(values)
        return whole.to(dtype)

    def _power(self, func: Any, args: Any, kwargs: Any) -> Tensor:
        with self:
            result = _pow(*args)
        if result is not None:
            return result
        return self.finish(func, "pow", self._call(func, "pow", args, kwargs), self.accuracy(func, "pow"))

    def _threshold_backward(self, func: Any, grad: Tensor, values: Tensor, threshold: Any) -> Tensor:
        # What relu hands to its derivative is its result, in which all that is below 0 looks like a tie.
        _, operand = self._relu_operands.get(_storage(values), (values, values))
        with self:
            return torch.where(operand > threshold, grad, torch.zeros_like(grad))

    def _compare_operands(self, func: Any, name: str, args: Any) -> Tensor:
        natural = func(*args)
        if not any(value.is_floating_point() for value in tensors(args)):
            return natural
        if name in ("eq", "ne") and all(self._is_exact(value) for value in tensors(args)):
            return natural
        extreme = next((value for value in tensors(args) if _storage(value) in self._extremes), None)
        return self.compare(func, name, natural, args[0] - args[1], extreme)

    def _is_exact(self, values: Tensor) -> bool:
        return _storage(values) in self._inputs or not self._grids.has_rows(values.shape)

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

    def _round_to_whole(self, func: Any, name: str, values: Tensor) -> Tensor:
        result = func(values)
        # Where the step is: at whole numbers, between them for round, and not at 0 for trunc.
        edge = torch.floor(values) + 0.5 if name == "round" else torch.round(values)
        difference = values - edge
        if name == "trunc":
            difference = torch.where(edge == 0, torch.ones_like(difference), difference)
        above = self.compare(func, "gt", difference > 0, difference, None)
        below_value, above_value = {
            "floor": (edge - 1, edge),
            "ceil": (edge, edge + 1),
            "round": (edge - 0.5, edge + 0.5),
            "trunc": (torch.where(edge > 0, edge - 1, edge), torch.where(edge > 0, edge, edge + 1)),
        }[name]
        if name == "trunc":
            return torch.where(edge == 0, result, torch.where(above, above_value, below_value))
        return torch.where(above, above_value, below_value)

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


class RoundedRun(RowMode):
    """Every result is rounded on its row's own grid."""

    def __init__(self, problem: str, grids: Grids, arithmetic: Arithmetic) -> None:
        super().__init__(problem, grids, arithmetic.accuracy)
        self.coins = Coins(grids)
        self._arithmetic = arithmetic
        self._roundoff = arithmetic.unit_roundoff

    def _underflow(self, name: str, values: Tensor) -> Tensor:
        direction = self._grids.direction(name, values.shape)
        return values if direction is None else torch.add(values, direction, alpha=self._arithmetic.underflow)

    def round_input(self, name: str, values: Tensor) -> Tensor:
        """An input: exact, unless it is a subnormal that is flushed; 0 stays 0."""
        return torch.where(values == 0, values, self._underflow(name, values))

    def round_number(self, name: str, values: Tensor) -> Tensor:
        """A number that the arithmetic must first round to hold it."""
        scale = self._grids.scale(name, values.shape)
        assert scale is not None
        return round_significand(values * scale, self._roundoff) / scale

    def finish(self, func: Any, name: str, result: Tensor, ulps: float) -> Tensor:
        if result.dtype is not torch.float64 or not result.numel():
            return result
        scale = self._grids.scale(name, result.shape)
        if scale is None:
            if result.numel() == 1:
                return result
            # A constant: one error for all runs, hence the largest that the rounding can have.
            error = round_significand(result * 0.8125, self._roundoff) - result * 0.8125
            return result + ulps * self._roundoff * result.abs() * torch.sign(error)
        scaled = result * scale
        error = round_significand(scaled, self._roundoff).sub_(scaled).div_(scale)
        rounded = torch.add(result, error, alpha=ulps)
        direction = self._grids.direction(name, result.shape)
        assert direction is not None
        return rounded.add_(direction, alpha=self._arithmetic.underflow)

    def _round_constant(self, value: float, shape: Sequence[int]) -> Tensor:
        scale = self._grids.scale("constant", shape)
        assert scale is not None
        return round_significand(value * scale, self._roundoff) / scale

    def round_constants(self, name: str, args: Any) -> Any:
        like = next((value for value in tensors(args) if self._grids.has_rows(value.shape)), None)
        if like is None:
            return args
        rounded = list(args)
        changed = False
        for position, value in enumerate(args):
            if name == "div" and position == 1 and isinstance(value, int | float):
                if not _is_power_of_two(value):
                    # XLA multiplies by the reciprocal of a constant instead.
                    rounded[position] = torch.reciprocal(self._round_constant(1.0 / value, like.shape))
                    changed = True
            elif isinstance(value, float) and not _is_float32(value):
                rounded[position] = self._round_constant(value, like.shape)
                changed = True
            elif isinstance(value, Tensor) and value.dtype is torch.float64 and not self._grids.has_rows(value.shape):
                if bool((value.to(torch.float32).to(torch.float64) == value).all()):
                    continue
                scale = self._grids.scale("constant", torch.broadcast_shapes(value.shape, like.shape))
                if scale is not None:
                    rounded[position] = round_significand(value * scale, self._roundoff) / scale
                    changed = True
        return tuple(rounded) if changed else args

    def choose(self, name: str, first: Any, second: Any) -> Any:
        def pick(one: Any, other: Any) -> Any:
            direction = None if one is None else self._grids.direction(f"{name} form", one.shape)
            return one if direction is None else torch.where(direction < 0, one, other)

        return tuple(map(pick, first, second)) if isinstance(first, tuple) else pick(first, second)

    def _round_operand(self, name: str, values: Tensor) -> Tensor:
        roundoff = self._arithmetic.operand_roundoff
        if not roundoff or not values.is_floating_point():
            return values
        scale = self._grids.scale(name, values.shape)
        return (
            round_significand(values, roundoff)
            if scale is None
            else round_significand(values * scale, roundoff) / scale
        )

    def _deviate(self, func: Any, name: str, result: Tensor, squares: Tensor, length: float) -> Tensor:
        """A sum of terms with the sum of squares `squares`, in error by what adding up `length` of them costs."""
        scale = self._grids.scale(name, result.shape)
        if scale is None:
            if result.numel() > 1:
                self.refuse(
                    func,
                    f"its result of shape {tuple(result.shape)} has lost the batch dimensions {self._grids.batch}",
                    "Wanted them in front of every tensor. Count dimensions from the end (dim=-1).",
                )
            return result
        offset = self._grids.offset(name, result.shape)
        assert offset is not None
        # Higham and Mary: the errors of the products and of the partial sums add up like independent ones.
        variance = squares.mul_(1.0 + length / 2.0).add_(result.square().mul_(length / 3.0))
        deviation = variance.mul_(4.0 * self._roundoff * self._roundoff).sqrt_()
        # The place of the value between two numbers of the shifted grid, from -1/2 to 1/2: uniform, with variance 1/12.
        place = torch.frexp(result * scale).mantissa.mul_(_SIGNIFICAND).add_(offset)
        place.sub_(torch.round(place))
        return self._underflow(name, torch.addcmul(result, deviation, place))

    def multiply(self, func: Any, name: str, a: Tensor, b: Tensor) -> Tensor:
        if a.dtype is not torch.float64:
            return func(a, b)
        constant = not (self._grids.has_rows(a.shape) and self._grids.has_rows(b.shape))
        a, b = self._round_operand(name + " a", a), self._round_operand(name + " b", b)
        # A constant operand must first be rounded itself: two terms more.
        length = a.shape[-1] + (2 if constant else 0)
        return self._deviate(func, name, func(a, b), func(a.square(), b.square()), length)

    def sum(self, func: Any, name: str, args: Any, kwargs: Any) -> Tensor:
        values = args[0]
        result = func(*args, **kwargs)
        if result.dtype is not torch.float64 or values.dtype is not torch.float64 or not result.numel():
            return result
        length = values.numel() // result.numel()
        if length <= 1 or result.dim() == 0:
            return result
        squares = func(values.square(), *args[1:], **kwargs)
        if name == "mean":
            squares = squares.div_(length)
        # XLA adds up short rows one after the other, and longer ones in blocks.
        result = self._deviate(func, name, result, squares, max(math.log2(length) + 1.0, min(length, _BLOCK)))
        if name == "sum":
            return result
        if not _is_power_of_two(length) and self._grids.has_rows(result.shape):
            result = result * (self._round_constant(1.0 / length, result.shape) * length)
        return self.finish(func, "div", result, 1.0)

    def accumulate(self, func: Any, name: str, args: Any, kwargs: Any) -> Tensor:
        result = func(*args, **kwargs)
        if result.dtype is not torch.float64 or not result.numel():
            return result
        if name == "cumsum":
            squares, length = func(args[0].square(), *args[1:], **kwargs), args[0].shape[args[1]]
        elif name == "index_put":
            if not (args[3:] and args[3]) and not kwargs.get("accumulate", False):
                return result
            squares = func(args[0].square(), args[1], args[2].square(), *args[3:], **kwargs)
            length = max(index.numel() for index in args[1] if index is not None)
        elif name == "embedding_dense_backward":
            squares, length = func(args[0].square(), *args[1:], **kwargs), args[1].numel()
        else:
            # index_add and scatter_add: self, dim, index, source
            squares = func(args[0].square(), args[1], args[2], args[3].square(), **kwargs)
            length = args[2].shape[args[1]] if args[2].dim() else 1
        return self._deviate(func, name, result, squares, float(length))

    def compare(self, func: Any, name: str, natural: Tensor, difference: Tensor, extreme: Tensor | None) -> Tensor:
        equality = name in ("eq", "ne")
        thrown = self.coins.throw(str(func), name, difference, equal_is_near=not equality and extreme is None)
        if thrown is None:
            return natural
        near, heads = thrown
        if equality:
            return natural | (near & heads) if name == "eq" else natural & ~(near & heads)
        return torch.where(near, heads, natural)


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

    def multiply(self, func: Any, name: str, a: Tensor, b: Tensor) -> Tensor:
        return self.finish(func, name, func(a, b), 1.0)

    def sum(self, func: Any, name: str, args: Any, kwargs: Any) -> Tensor:
        return self.finish(func, name, func(*args, **kwargs), 1.0)

    accumulate = sum

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
