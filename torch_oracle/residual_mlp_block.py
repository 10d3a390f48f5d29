"""The independent reference of the residual MLP block.

::

    out = x + tanh(x W1 + b1) W2 + b2
    L = mean over all B*D entries of (out - y)^2

Domain: any finite x, y and parameters. Edges: a saturated tanh has the derivative 1 - h*h, which is 0 in float64 from
about 19 on; the gradients of w1 and b1 vanish there.
Independence: reverse-mode differentiation by PyTorch's autograd in float64. The block runs under a selective
checkpoint that keeps the two matrix products and computes tanh again, as the implementation's contract wants it there.
"""

# ruff: noqa: F722, UP037  (jaxtyping's shapes are no Python expressions)
from __future__ import annotations

from typing import Any

import torch
from jaxtyping import Float64
from torch import Tensor

from ._checkpoint import checkpoint_matrix_products


def _block(
    x: Float64[Tensor, "... B D"],
    w1: Float64[Tensor, "... D H"],
    b1: Float64[Tensor, "... H"],
    w2: Float64[Tensor, "... H D"],
    b2: Float64[Tensor, "... D"],
) -> Float64[Tensor, "... B D"]:
    hidden = torch.tanh(x @ w1 + b1.unsqueeze(-2))
    return x + hidden @ w2 + b2.unsqueeze(-2)


def evaluate(
    params: dict[str, Float64[Tensor, "..."]],
    x: Float64[Tensor, "... B D"],
    y: Float64[Tensor, "... B D"],
) -> dict[str, Any]:
    """The loss, shape ``batch``, and its gradients by parameter, each of its parameter's shape."""
    leaves = {name: value.detach().requires_grad_() for name, value in params.items()}
    out = checkpoint_matrix_products(_block, x, leaves["w1"], leaves["b1"], leaves["w2"], leaves["b2"])
    loss = ((out - y) ** 2).mean((-2, -1))
    grads = torch.autograd.grad(loss.sum(), list(leaves.values()))
    return {"loss": loss.detach(), "grads": dict(zip(leaves, grads, strict=True))}
