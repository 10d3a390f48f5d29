"""The sum of the k largest elements, and the rank of each, by counting the elements above it."""

import torch
from torch import Tensor


def evaluate(x: Tensor, k: int, key: int) -> tuple[Tensor, Tensor, Tensor]:
    """Total, ranks, and which are among the k largest."""
    # An element is not above itself: the diagonal is moved off the tie.
    above = x.unsqueeze(-2) - x.unsqueeze(-1) - torch.eye(x.shape[-1], dtype=x.dtype)
    ranks = (above > 0).sum(-1)
    top = ranks < k
    return torch.where(top, x, torch.zeros_like(x)).sum(-1), ranks, top
