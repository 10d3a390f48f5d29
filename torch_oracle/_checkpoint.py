"""The checkpoint that keeps matrix products and nothing else, with a count of what was kept.

Oracles import `checkpoint_matrix_products` from here: ``from ._checkpoint import checkpoint_matrix_products``.
"""

from __future__ import annotations

import contextlib
import functools
from collections import Counter
from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from typing import Any

import torch
import torch.utils.checkpoint as torch_checkpoint
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.checkpoint import CheckpointPolicy

_create_contexts = torch_checkpoint.create_selective_checkpoint_contexts

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


@dataclass(slots=True)
class CheckpointCounts:
    """What selective checkpoints kept, computed again, and were asked about, by ATen name."""

    saved: Counter[str] = field(default_factory=Counter)
    recomputed: Counter[str] = field(default_factory=Counter)
    products: Counter[str] = field(default_factory=Counter)
    policies: list[str] = field(default_factory=list)


# Autograd detaches when it saves; that computes nothing.
_IGNORED = frozenset({_aten.detach.default})

_observers: list[CheckpointCounts] = []


def _name(operation: Any) -> str:
    return f"{operation.namespace}.{operation.overloadpacket.__name__}"


class _CountingMode(TorchDispatchMode):
    """Counts every operation that reaches it."""

    def __init__(self, counter: Counter[str]) -> None:
        super().__init__()
        self._counter = counter

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func not in _IGNORED:
            self._counter[_name(func)] += 1
        return func(*args, **(kwargs or {}))


@contextlib.contextmanager
def _counted_recomputation(context: Any, counter: Counter[str]) -> Generator[None]:
    # The counting mode lies outside: it sees only what the checkpoint does not answer from its store.
    with _CountingMode(counter), context:
        yield


def _observed_contexts(policy: Any, *args: Any, **kwargs: Any) -> tuple[Any, Any]:
    if not _observers:
        return _create_contexts(policy, *args, **kwargs)
    counts = _observers[-1]
    decide = policy
    if isinstance(policy, list):
        _create_contexts(policy, *args, **kwargs)  # refuses packets

        def decide(_context: Any, operation: Any, *_args: Any, **_kwargs: Any) -> CheckpointPolicy:
            return CheckpointPolicy.MUST_SAVE if operation in policy else CheckpointPolicy.PREFER_RECOMPUTE

    counts.policies.append(getattr(policy, "__qualname__", None) or repr(policy))

    def counting_policy(context: Any, operation: Any, *operands: Any, **options: Any) -> Any:
        decision = decide(context, operation, *operands, **options)
        # Releases before 2.13 ask again while recomputing.
        if not context.is_recompute:
            if operation in MATRIX_PRODUCTS:
                counts.products[_name(operation)] += 1
            if decision in (True, CheckpointPolicy.MUST_SAVE, CheckpointPolicy.PREFER_SAVE):
                counts.saved[_name(operation)] += 1
        return decision

    forward, recomputation = _create_contexts(counting_policy, *args, **kwargs)
    return forward, _counted_recomputation(recomputation, counts.recomputed)


@contextlib.contextmanager
def observable_checkpoints() -> Generator[None]:
    """Whatever asks PyTorch for selective checkpoint contexts meanwhile can be observed, then and later."""
    before = torch_checkpoint.create_selective_checkpoint_contexts
    torch_checkpoint.create_selective_checkpoint_contexts = _observed_contexts
    try:
        yield
    finally:
        torch_checkpoint.create_selective_checkpoint_contexts = before


@contextlib.contextmanager
def observe_checkpoints() -> Generator[CheckpointCounts]:
    """The counts of the selective checkpoints that run meanwhile."""
    counts = CheckpointCounts()
    _observers.append(counts)
    try:
        with observable_checkpoints():
            yield counts
    finally:
        _observers.pop()


def _save_matrix_products(_context: Any, operation: Any, *_args: Any, **_kwargs: Any) -> CheckpointPolicy:
    return CheckpointPolicy.MUST_SAVE if operation in MATRIX_PRODUCTS else CheckpointPolicy.PREFER_RECOMPUTE


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
        context_fn=functools.partial(_observed_contexts, _save_matrix_products),
    )
