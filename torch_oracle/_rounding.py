"""Runs of an oracle in which every operation errs as a machine's would."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from typing_extensions import override

from conformance.values.arithmetic import Arithmetic

from ._dispatch import tensors
from ._grids import Grids, round_significand
from ._rows import RowMode, is_float32
from ._ties import Coins

_SPACINGS = 2.0**24
_WINDOW = 32
_BLOCKED = 4096
"""XLA's CPU compiler adds up windows of 32 along each dimension one term after the other, so 1024 for two dimensions
(measured: n is 630 for 32 by 32 terms, and 18 for 32), and sums of 4096 terms or more in blocks (n is at most 11).
"""


def _summation_length(values: Tensor, dims: Sequence[int]) -> float:
    """How many terms are added one after the other on the way to a sum over `dims`."""
    sizes = [values.shape[dim] for dim in dims]
    blocked = math.log2(max(math.prod(sizes), 1)) + 1.0
    if math.prod(sizes) >= _BLOCKED:
        return blocked
    return max(blocked, float(math.prod(min(size, _WINDOW) for size in sizes)))


def _reduced(values: Tensor, extreme: Tensor) -> list[int]:
    """The dimensions along which `extreme` was chosen from tensors like `values`; none where that cannot be told."""
    if extreme.dim() != values.dim():
        return []
    return [dim for dim in range(values.dim()) if extreme.shape[dim] != values.shape[dim]]


def _is_power_of_two(value: float) -> bool:
    return abs(math.frexp(value)[0]) == 0.5


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

    @override
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

    @override
    def finish_function(self, func: Any, name: str, result: Tensor, ulps: float, operand: Tensor) -> Tensor:
        scale = self._grids.scale(f"{name} operand", result.shape)
        if scale is None or ulps <= 1.0 or result.dtype is not torch.float64 or operand.shape != result.shape:
            return self.finish(func, name, result, ulps)
        # A machine computes the function by an approximation whose own roundings depend on the operand: operands that
        # differ in their last bit err differently even where the function is flat and their results are equal. Only the
        # last rounding is one of the result.
        scaled = operand * scale
        place = round_significand(scaled, self._roundoff).sub_(scaled).div_(scaled).nan_to_num_(0.0)
        return self.finish(func, name, torch.addcmul(result, result, place, value=ulps - 1.0), 1.0)

    def _round_constant(self, value: float, shape: Sequence[int]) -> Tensor:
        scale = self._grids.scale("constant", shape)
        assert scale is not None
        return round_significand(value * scale, self._roundoff) / scale

    @override
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
            elif isinstance(value, float) and not is_float32(value):
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

    @override
    def choose(self, name: str, first: Any, second: Any) -> Any:
        def pick(one: Tensor | None, other: Tensor | None) -> Tensor | None:
            if one is None or other is None:
                return None
            direction = self._grids.direction(f"{name} form", one.shape)
            return one if direction is None else torch.where(direction < 0, one, other).to(one.dtype)

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
        place = torch.frexp(result * scale).mantissa.mul_(_SPACINGS).add_(offset)
        place.sub_(torch.round(place))
        return self._underflow(name, torch.addcmul(result, deviation, place))

    @override
    def multiply(self, func: Any, name: str, a: Tensor, b: Tensor) -> Tensor:
        if a.dtype is not torch.float64:
            return func(a, b)
        constant = not (self._grids.has_rows(a.shape) and self._grids.has_rows(b.shape))
        a, b = self._round_operand(name + " a", a), self._round_operand(name + " b", b)
        # A constant operand must first be rounded itself: two terms more.
        length = a.shape[-1] + (2 if constant else 0)
        return self._deviate(func, name, func(a, b), func(a.square(), b.square()), length)

    @override
    def sum(self, func: Any, name: str, args: Any, kwargs: Any) -> Tensor:
        values = args[0]
        result = func(*args, **kwargs)
        if result.dtype is not torch.float64 or values.dtype is not torch.float64 or not result.numel():
            return result
        length = values.numel() // result.numel()
        if length <= 1 or result.dim() == 0:
            return result
        dims = args[1] if len(args) > 1 else kwargs.get("dim")
        dims = dims if dims else range(values.dim())
        squares = func(values.square(), *args[1:], **kwargs)
        if name == "mean":
            squares = squares.div_(length)
        result = self._deviate(func, name, result, squares, _summation_length(values, dims))
        if name == "sum":
            return result
        if not _is_power_of_two(length) and self._grids.has_rows(result.shape):
            result = result * (self._round_constant(1.0 / length, result.shape) * length)
        return self.finish(func, "div", result, 1.0)

    @override
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

    @override
    def compare(self, func: Any, name: str, natural: Tensor, difference: Tensor, extreme: Tensor | None) -> Tensor:
        equality = name in ("eq", "ne")
        if name == "eq" and extreme is not None:
            natural = self._part_extremes(func, natural, extreme)
        thrown = self.coins.throw(str(func), name, difference, equal_is_near=not equality and extreme is None)
        if thrown is None:
            return natural
        near, heads = thrown
        if name == "ne":
            return natural & ~(near & heads)
        if equality:
            chosen = natural | (near & heads)
            return chosen if extreme is None else self._let_others_win(chosen, natural, extreme)
        return torch.where(near, heads, natural)

    def _let_others_win(self, chosen: Tensor, natural: Tensor, extreme: Tensor) -> Tensor:
        """In half of the runs in which a coin has chosen others too, the extreme element is not among the chosen."""
        dims = _reduced(natural, extreme)
        direction = self._grids.direction("beaten extreme", natural.shape)
        if not dims or direction is None:
            return chosen
        beaten = (chosen & ~natural).any(dims, keepdim=True) & (direction < 0)
        return chosen & ~(natural & beaten)

    def _part_extremes(self, func: Any, natural: Tensor, extreme: Tensor) -> Tensor:
        """Where several elements are the extreme one, a tie that rounding cannot turn, some of them at random."""
        dims = _reduced(natural, extreme)
        if not dims:
            return natural
        tied = natural & (natural.sum(dims, keepdim=True) > 1)
        heads = self.coins.part(str(func), "extreme", tied) if bool(tied.any()) else None
        if heads is None:
            return natural
        chosen = natural & (heads | ~tied)
        return torch.where(chosen.sum(dims, keepdim=True) > 0, chosen, natural)
