"""Squared error after layer normalisation, by PyTorch's fused function and its own derivative."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional


def evaluate(params: dict[str, Tensor], y: Tensor) -> dict[str, Any]:
    """The loss, shape ``batch``, and its gradients, each of its parameter's shape."""
    leaves = {name: value.detach().requires_grad_() for name, value in params.items()}
    normal = functional.layer_norm(leaves["x"], leaves["x"].shape[-1:], eps=1e-5)
    out = leaves["gain"].unsqueeze(-2) * normal + leaves["bias"].unsqueeze(-2)
    loss = ((out - y) ** 2).mean((-2, -1))
    grads = torch.autograd.grad(loss.sum(), list(leaves.values()))
    return {"loss": loss.detach(), "grads": dict(zip(leaves, grads, strict=True))}
