"""Operations that order elements, decided pair by pair, so that they share the tie rule of comparisons.

Sorted values move no more than their elements do, and rounding adds nothing to them. The indices, and with them every
gradient, jump where two elements change places.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

import torch
from torch import Tensor

_MOST = 512
"""Elements whose pairs fit in memory in all runs of a case: 34 MB a tensor for 32 runs."""

_Compare = Callable[[Tensor, Tensor], Tensor]
_Refuse = Callable[[str], NoReturn]


def order(func: Any, name: str, args: Any, kwargs: Any, compare: _Compare, refuse: _Refuse) -> tuple[Tensor, Tensor]:
    """The values and indices that sort, topk, kthvalue or median return.

    `compare` is given whether the first of each pair goes above the second, and their difference, both
    ``(..., n (n - 1) / 2)``, and says how the pairs are to be taken. `refuse` raises with a reason.
    """
    names = [argument.name for argument in func._schema.arguments]  # noqa: SLF001
    named = dict(zip(names, args, strict=False)) | kwargs
    values: Tensor = named["self"]
    if name == "median" and "dim" not in named:
        refuse("it reduces over the batch; name the dimension")
    if not named.get("sorted", True):
        refuse("it leaves the order of its results open; let them be sorted")
    dim = named.get("dim", -1)
    count = values.shape[dim]
    if count > _MOST:
        refuse(f"it orders {count} elements, which are compared pair by pair; up to {_MOST} can be")
    descending = bool(named.get("largest", True) if name == "topk" else named.get("descending", False))
    index = _find_order(values.movedim(dim, -1), descending, compare).movedim(-1, dim)
    ordered = values.sort(dim=dim, descending=descending).values
    if name == "sort":
        return ordered, index
    if name == "topk":
        return ordered.narrow(dim, 0, named["k"]), index.narrow(dim, 0, named["k"])
    # PyTorch's median is the lower one of two.
    place = named["k"] - 1 if name == "kthvalue" else (count - 1) // 2
    ordered, index = ordered.narrow(dim, place, 1), index.narrow(dim, place, 1)
    return (ordered, index) if named.get("keepdim", False) else (ordered.squeeze(dim), index.squeeze(dim))


def _find_order(values: Tensor, descending: bool, compare: _Compare) -> Tensor:
    """The indices ``(..., n)`` that sort the last dimension; equal elements keep their order.

    Where the pairs as they are taken make no order, elements go by the number of pairs that they win.
    """
    count = values.shape[-1]
    first, second = torch.triu_indices(count, count, 1)
    difference = values[..., first] - values[..., second]
    above = compare(difference >= 0 if descending else difference > 0, difference)
    wins = torch.zeros(values.shape, dtype=torch.int64)
    wins.scatter_add_(-1, first.expand(above.shape), above.to(torch.int64))
    wins.scatter_add_(-1, second.expand(above.shape), (~above).to(torch.int64))
    return wins.sort(dim=-1, descending=descending, stable=True).indices
