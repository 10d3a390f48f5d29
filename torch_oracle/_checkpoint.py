"""The checkpoint that keeps matrix products and nothing else.

Oracles import `checkpoint_matrix_products` from here: ``from ._checkpoint import checkpoint_matrix_products``. This
module needs PyTorch alone, so that a script that reproduces a case can carry it along.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.utils.checkpoint as torch_checkpoint
from torch.utils.checkpoint import CheckpointPolicy

_aten = torch.ops.aten
# Policies are given overloads; a packet such as aten.mm would match nothing, silently (pytorch/pytorch #176065).
MATRIX_PRODUCTS = frozenset(
    {
        _aten.mm.default,
        _aten.bmm.default,
        _aten.addmm.default,
        _aten.baddbmm.default,
        _aten.mv.default,
        _aten.dot.default,
    }
)


def _save_matrix_products(_context: Any, operation: Any, *_args: Any, **_kwargs: Any) -> CheckpointPolicy:
    return CheckpointPolicy.MUST_SAVE if operation in MATRIX_PRODUCTS else CheckpointPolicy.PREFER_RECOMPUTE


def _create_contexts() -> tuple[Any, Any]:
    return torch_checkpoint.create_selective_checkpoint_contexts(_save_matrix_products)


def checkpoint_matrix_products(function: Callable[..., Any], *args: Any) -> Any:
    """``function(*args)``, keeping its matrix products for the backward pass and computing all else again.

    The mirror image of JAX's policy ``dots_saveable``. Everything that needs a gradient is to be among `args`.
    """
    return torch_checkpoint.checkpoint(
        function,
        *args,
        use_reentrant=False,
        # Oracles have no random operations.
        preserve_rng_state=False,
        context_fn=_create_contexts,
    )
