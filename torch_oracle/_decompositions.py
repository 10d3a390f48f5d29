"""Composite operations written as the primitive operations that round.

Each function takes an ATen operation's arguments. One rounding for a whole softmax or layer norm would be far too
little: correct implementations differ by up to 1e4 times that.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

_MEAN, _SUM = 1, 2


def _reduce(values: Tensor, reduction: int) -> Tensor:
    return values.mean() if reduction == _MEAN else values.sum() if reduction == _SUM else values


def add_scaled(a: Any, b: Any, *, alpha: Any = 1) -> Tensor:
    """``a + alpha b``."""
    return torch.add(a, b if alpha == 1 else torch.mul(b, alpha))


def subtract_scaled(a: Any, b: Any, *, alpha: Any = 1) -> Tensor:
    """``a - alpha b``."""
    return torch.sub(a, b if alpha == 1 else torch.mul(b, alpha))


def _rsub(a: Tensor, b: Any, alpha: Any = 1) -> Tensor:
    return torch.add(torch.neg(a) if alpha == 1 else torch.mul(a, -alpha), b)


def _scaled_sum(bias: Tensor, beta: Any, product: Tensor, alpha: Any) -> Tensor:
    product = product if alpha == 1 else product * alpha
    return product if beta == 0 else (bias if beta == 1 else bias * beta) + product


def _addmm(bias: Tensor, a: Tensor, b: Tensor, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    return _scaled_sum(bias, beta, torch.mm(a, b), alpha)


def _baddbmm(bias: Tensor, a: Tensor, b: Tensor, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    return _scaled_sum(bias, beta, torch.bmm(a, b), alpha)


def _addmv(bias: Tensor, a: Tensor, b: Tensor, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    return _scaled_sum(bias, beta, torch.mv(a, b), alpha)


def _addcmul(a: Tensor, b: Tensor, c: Tensor, *, value: Any = 1) -> Tensor:
    return add_scaled(a, b * c, alpha=value)


def _addcdiv(a: Tensor, b: Tensor, c: Tensor, *, value: Any = 1) -> Tensor:
    return add_scaled(a, b / c, alpha=value)


def _lerp(start: Tensor, end: Tensor, weight: Any) -> Tensor:
    return start + weight * (end - start)


def _softmax(x: Tensor, dim: int, _half_to_float: bool = False) -> Tensor:
    e = torch.exp(x - x.amax(dim, keepdim=True))
    return e / e.sum(dim, keepdim=True)


def _softmax_backward(grad: Tensor, output: Tensor, dim: int, _dtype: Any = None) -> Tensor:
    weighted = grad * output
    return weighted - output * weighted.sum(dim, keepdim=True)


def _log_softmax(x: Tensor, dim: int, _half_to_float: bool = False) -> Tensor:
    shifted = x - x.amax(dim, keepdim=True)
    return shifted - torch.log(torch.exp(shifted).sum(dim, keepdim=True))


def _log_softmax_backward(grad: Tensor, output: Tensor, dim: int, _dtype: Any = None) -> Tensor:
    return grad - torch.exp(output) * grad.sum(dim, keepdim=True)


def _logsumexp(x: Tensor, dim: Sequence[int], keepdim: bool = False) -> Tensor:
    dims = tuple(dim)
    largest = x.amax(dims, keepdim=True)
    total = torch.log(torch.exp(x - largest).sum(dims, keepdim=True)) + largest
    return total if keepdim else total.squeeze(dims)


def _tanh_backward(grad: Tensor, output: Tensor) -> Tensor:
    return grad * (1 - output * output)


def _sigmoid_backward(grad: Tensor, output: Tensor) -> Tensor:
    return grad * ((1 - output) * output)


def _exp2(x: Tensor) -> Tensor:
    return torch.exp(x * math.log(2.0))


def _log_sigmoid_forward(x: Tensor) -> tuple[Tensor, Tensor]:
    return torch.neg(functional.softplus(torch.neg(x), threshold=700.0)), x.new_zeros(0)


def _log_sigmoid_backward(grad: Tensor, x: Tensor, _buffer: Tensor) -> Tensor:
    return torch.ops.aten.softplus_backward(grad, torch.neg(x), 1.0, 700.0)


def _silu(x: Tensor) -> Tensor:
    return x * torch.sigmoid(x)


def _silu_backward(grad: Tensor, x: Tensor) -> Tensor:
    s = torch.sigmoid(x)
    return grad * (s * (1 + x * (1 - s)))


_GELU_CUBIC = 0.044715


def _gelu(x: Tensor, *, approximate: str = "none") -> Tensor:
    if approximate == "tanh":
        inner = math.sqrt(2 / math.pi) * (x + _GELU_CUBIC * (x * x * x))
        return 0.5 * x * (1 + torch.tanh(inner))
    return 0.5 * x * (1 + torch.erf(x * math.sqrt(0.5)))


def _gelu_backward(grad: Tensor, x: Tensor, *, approximate: str = "none") -> Tensor:
    if approximate == "tanh":
        h = torch.tanh(math.sqrt(2 / math.pi) * (x + _GELU_CUBIC * (x * x * x)))
        slope = math.sqrt(2 / math.pi) * (1 + 3 * _GELU_CUBIC * (x * x))
        return grad * (0.5 * (1 + h) + 0.5 * x * (1 - h * h) * slope)
    density = torch.exp(-0.5 * (x * x)) * (1 / math.sqrt(2 * math.pi))
    return grad * (0.5 * (1 + torch.erf(x * math.sqrt(0.5))) + x * density)


def _var_mean(
    x: Tensor, dim: Any = None, unbiased: bool = True, keepdim: bool = False, *, correction: Any = None
) -> tuple[Tensor, Tensor]:
    if isinstance(dim, bool):
        dim, unbiased = None, dim
    dims = tuple(range(x.dim())) if dim is None or dim == [] else (dim,) if isinstance(dim, int) else tuple(dim)
    if correction is None:
        correction = 1 if unbiased else 0
    mean = x.mean(dims, keepdim=True)
    centred = x - mean
    total = (centred * centred).sum(dims, keepdim=keepdim)
    count = x.numel() // max(mean.numel(), 1)
    return total / max(count - correction, 0), mean if keepdim else mean.squeeze(dims)


def _var(x: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    return _var_mean(x, *args, **kwargs)[0]


def _std(x: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    return torch.sqrt(_var(x, *args, **kwargs))


def _native_layer_norm(
    x: Tensor, shape: Sequence[int], weight: Tensor | None, bias: Tensor | None, eps: float
) -> tuple[Tensor, Tensor, Tensor]:
    dims = tuple(range(x.dim() - len(shape), x.dim()))
    mean = x.mean(dims, keepdim=True)
    centred = x - mean
    rstd = torch.rsqrt((centred * centred).mean(dims, keepdim=True) + eps)
    out = centred * rstd
    if weight is not None:
        out = out * weight
    return (out if bias is None else out + bias), mean, rstd


_Grads = tuple[Tensor | None, Tensor | None, Tensor | None]


def _layer_norm_parameters(grad: Tensor, normal: Tensor, outer: tuple[int, ...], wanted: Sequence[bool]) -> Any:
    return (grad * normal).sum(outer) if wanted[1] else None, grad.sum(outer) if wanted[2] else None


def _layer_norm_backward_fused(
    grad: Tensor, x: Tensor, shape: Sequence[int], mean: Tensor, rstd: Tensor, weight: Any, _bias: Any, wanted: Any
) -> _Grads:
    """The closed form that fused kernels use."""
    dims = tuple(range(x.dim() - len(shape), x.dim()))
    normal = (x - mean) * rstd
    scaled = grad if weight is None else grad * weight
    pull = scaled - scaled.mean(dims, keepdim=True) - normal * (scaled * normal).mean(dims, keepdim=True)
    return pull * rstd, *_layer_norm_parameters(grad, normal, tuple(range(x.dim() - len(shape))), wanted)


def _layer_norm_backward_chained(
    grad: Tensor, x: Tensor, shape: Sequence[int], mean: Tensor, rstd: Tensor, weight: Any, _bias: Any, wanted: Any
) -> _Grads:
    """The chain rule through mean and variance, as automatic differentiation of the formula goes.

    An error of the mean reaches this result with another factor than the closed form's.
    """
    dims = tuple(range(x.dim() - len(shape), x.dim()))
    centred = x - mean
    scaled = grad if weight is None else grad * weight
    slope = (scaled * centred).sum(dims, keepdim=True) * (rstd * rstd * rstd) / math.prod(shape)
    pull = scaled * rstd - centred * slope
    parameters = _layer_norm_parameters(grad, centred * rstd, tuple(range(x.dim() - len(shape))), wanted)
    return pull - pull.mean(dims, keepdim=True), *parameters


def _mse_loss(a: Tensor, b: Tensor, reduction: int = _MEAN) -> Tensor:
    difference = a - b
    return _reduce(difference * difference, reduction)


def _mse_loss_backward(grad: Tensor, a: Tensor, b: Tensor, reduction: int) -> Tensor:
    slope = 2.0 * (a - b)
    return grad * (slope / a.numel() if reduction == _MEAN else slope)


def _bce_with_logits(
    x: Tensor, y: Tensor, weight: Tensor | None = None, pos_weight: Tensor | None = None, reduction: int = _MEAN
) -> Tensor:
    softplus = functional.softplus(torch.neg(x), threshold=700.0)
    if pos_weight is not None:
        softplus = (1 + (pos_weight - 1) * y) * softplus
    loss = (1 - y) * x + softplus
    return _reduce(loss if weight is None else loss * weight, reduction)


def _norm(x: Tensor, order: Any = 2, dim: Any = None, keepdim: bool = False, **_options: Any) -> Tensor:
    dims = tuple(range(x.dim())) if dim is None else tuple(dim)
    if order == math.inf:
        return x.abs().amax(dims, keepdim=keepdim)
    if order == -math.inf:
        return x.abs().amin(dims, keepdim=keepdim)
    if order == 1:
        return x.abs().sum(dims, keepdim=keepdim)
    if order == 2:
        return torch.sqrt((x * x).sum(dims, keepdim=keepdim))
    return (x.abs() ** order).sum(dims, keepdim=keepdim) ** (1 / order)


def _prod_one(x: Tensor, dim: int, keepdim: bool = False, **_options: Any) -> Tensor:
    out = x.select(dim, 0)
    for position in range(1, x.shape[dim]):
        out = out * x.select(dim, position)
    return out.unsqueeze(dim) if keepdim else out


def _cumprod(x: Tensor, dim: int, **_options: Any) -> Tensor:
    parts = [x.select(dim, 0)]
    parts += [parts[-1] * x.select(dim, 1)] if x.shape[dim] > 1 else []
    for position in range(2, x.shape[dim]):
        parts.append(parts[-1] * x.select(dim, position))
    return torch.stack(parts, dim)


def raise_to_power(base: Any, exponent: Any) -> Tensor | None:
    """The power by multiplications, roots and reciprocals, or None where it takes the function pow."""
    if not isinstance(exponent, int | float):
        return None
    if exponent == 0.5:
        return torch.sqrt(base)
    if exponent == -0.5:
        return torch.rsqrt(base)
    count = abs(int(exponent))
    if exponent != int(exponent) or count > 16:
        return None
    if count == 0:
        return torch.ones_like(base)
    # By repeated squaring, as XLA expands small integer powers.
    power, square = None, base
    while count:
        if count & 1:
            power = square if power is None else power * square
        count >>= 1
        if count:
            square = square * square
    assert power is not None
    return torch.reciprocal(power) if exponent < 0 else power * 1 if power is base else power


DECOMPOSITIONS: dict[str, Callable[..., Any]] = {
    "rsub": _rsub,
    "addmm": _addmm,
    "baddbmm": _baddbmm,
    "addmv": _addmv,
    "addcmul": _addcmul,
    "addcdiv": _addcdiv,
    "lerp": _lerp,
    "_softmax": _softmax,
    "_softmax_backward_data": _softmax_backward,
    "_log_softmax": _log_softmax,
    "_log_softmax_backward_data": _log_softmax_backward,
    "logsumexp": _logsumexp,
    "tanh_backward": _tanh_backward,
    "sigmoid_backward": _sigmoid_backward,
    "log_sigmoid_forward": _log_sigmoid_forward,
    "log_sigmoid_backward": _log_sigmoid_backward,
    "exp2": _exp2,
    "silu": _silu,
    "silu_backward": _silu_backward,
    "gelu": _gelu,
    "gelu_backward": _gelu_backward,
    "var": _var,
    "var_mean": _var_mean,
    "std": _std,
    "native_layer_norm": _native_layer_norm,
    "mse_loss": _mse_loss,
    "mse_loss_backward": _mse_loss_backward,
    "binary_cross_entropy_with_logits": _bce_with_logits,
    "linalg_vector_norm": _norm,
    "prod": _prod_one,
    "cumprod": _cumprod,
}

ALTERNATIVES: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "native_layer_norm_backward": (_layer_norm_backward_fused, _layer_norm_backward_chained)
}
"""Composite operations that correct implementations compute in two ways, whose errors differ: each run takes one."""
