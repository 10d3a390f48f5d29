"""The independent reference of L2-regularised logistic regression.

With ``z = X w + b``::

    L(w, b) = (1/N) sum_i [softplus(z_i) - y_i z_i] + (l2/2) sum_j w_j^2

The intercept b is not penalised. Domain: y in {0, 1}, l2 >= 0, any finite x, w and b.
Edges: softplus is PyTorch's fused function, so z = 0 has the derivative 1/2 without a convention of ours, and no
logit overflows. Its linear branch begins at 700, where float64 cannot tell it from the curve any more.
Independence: reverse-mode differentiation by PyTorch's autograd, of the fused softplus and its own derivative, in
float64; it shares neither code nor formula of a derivative with the implementation. The logits' matrix product is kept
by a selective checkpoint, and all else is computed again.
"""

# ruff: noqa: F722, UP037  (jaxtyping's shapes are no Python expressions)
from __future__ import annotations

from typing import Any

import torch
from jaxtyping import Float64
from torch import Tensor
from torch.nn import functional

from ._checkpoint import checkpoint_matrix_products


def _data_loss(
    x: Float64[Tensor, "... N D"], y: Float64[Tensor, "... N"], w: Float64[Tensor, "... D"], b: Float64[Tensor, "..."]
) -> Float64[Tensor, "..."]:
    logits = (x @ w.unsqueeze(-1)).squeeze(-1) + b.unsqueeze(-1)
    return (functional.softplus(logits, threshold=700.0) - y * logits).mean(-1)


def evaluate(
    params: dict[str, Float64[Tensor, "..."]],
    x: Float64[Tensor, "... N D"],
    y: Float64[Tensor, "... N"],
    l2: float | Float64[Tensor, "..."],
) -> dict[str, Any]:
    """The loss, shape ``batch``, and its gradients by parameter: w ``(*batch, D)`` and b ``batch``."""
    w = params["w"].detach().requires_grad_()
    b = params["b"].detach().requires_grad_()
    loss = checkpoint_matrix_products(_data_loss, x, y, w, b) + 0.5 * l2 * (w * w).sum(-1)
    grad_w, grad_b = torch.autograd.grad(loss.sum(), [w, b])
    return {"loss": loss.detach(), "grads": {"w": grad_w, "b": grad_b}}
