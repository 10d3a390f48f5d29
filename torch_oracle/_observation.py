"""What selective checkpoints keep for the backward pass and compute again, counted while an oracle runs."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Generator, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
import torch.utils.checkpoint as torch_checkpoint
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves
from torch.utils.checkpoint import CheckpointPolicy

from conformance.values.contract import KeptTensor

from ._checkpoint import MATRIX_PRODUCTS

_ORIGINALS = {name: getattr(torch_checkpoint, name) for name in ("checkpoint", "create_selective_checkpoint_contexts")}
# Autograd detaches when it saves; that computes nothing.
_IGNORED = frozenset({torch.ops.aten.detach.default})
_PRODUCT = "dot_general"
"""How contracts name a matrix product."""


@dataclass(slots=True)
class Observed:
    """What selective checkpoints kept, computed again, and were asked about, by ATen name.

    `kept` has every tensor that stays alive for the backward pass, each once, by its memory and shape; `inputs` are the
    problem's inputs by path.
    """

    inputs: Mapping[str, Tensor] = field(default_factory=dict[str, Tensor])
    saved: Counter[str] = field(default_factory=Counter)
    recomputed: Counter[str] = field(default_factory=Counter)
    products: Counter[str] = field(default_factory=Counter)
    policies: list[str] = field(default_factory=list)
    kept: dict[Any, KeptTensor] = field(default_factory=dict[Any, KeptTensor])

    def keep(self, tensor: Tensor, origin: str = "") -> Tensor:
        """The tensor itself, noted as kept; without an `origin` it is told by its memory or its gradient function."""
        key = (tensor.data_ptr(), tuple(tensor.shape))
        if key not in self.kept:
            self.kept[key] = KeptTensor(
                origin or self._find_origin(tensor),
                tuple(tensor.shape),
                str(tensor.dtype).removeprefix("torch."),
                tensor.element_size(),
                by_policy=bool(origin),
            )
        return tensor

    def keep_result(self, operation: Any, result: Any) -> None:
        """Nothing; the result of an operation is noted as kept because a policy asked for it."""
        name = name_operation(operation)
        for tensor in tree_leaves(result):
            self.keep(tensor, name_primitives({name: 1})[name])

    def _find_origin(self, tensor: Tensor) -> str:
        for path, value in self.inputs.items():
            if value.numel() and value.data_ptr() == tensor.data_ptr():
                return f"input {path}"
        function = tensor.grad_fn
        return "constant" if function is None else function.name().partition("Backward")[0].lower()


_observers: list[Observed] = []


def name_operation(operation: Any) -> str:
    """The name of an ATen overload without its overload: ``aten.mm``."""
    return f"{operation.namespace}.{operation.overloadpacket.__name__}"


def name_primitives(names: Mapping[str, int]) -> dict[str, str]:
    """How a contract names each of these operations: a matrix product of any kind, or the name without ``aten``."""
    products = {name_operation(operation) for operation in MATRIX_PRODUCTS}
    return {name: _PRODUCT if name in products else name.rpartition(".")[2] for name in names}


class _CountingMode(TorchDispatchMode):
    """Counts every operation that reaches it."""

    def __init__(self, counter: Counter[str]) -> None:
        super().__init__()
        self._counter = counter

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func not in _IGNORED:
            self._counter[name_operation(func)] += 1
        return func(*args, **(kwargs or {}))


class _KeepingMode(TorchDispatchMode):
    """Notes the result of an operation that a policy has asked to save before it ran."""

    def __init__(self, observed: Observed) -> None:
        super().__init__()
        self._observed = observed
        self.asked: Any = None

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        if func is self.asked:
            self.asked = None
            self._observed.keep_result(func, result)
        return result


@contextlib.contextmanager
def _within(outer: TorchDispatchMode, context: Any) -> Generator[None]:
    # Our mode lies outside: it sees only what the checkpoint does not answer from its store.
    with outer, context:
        yield


def _observed_checkpoint(function: Any, *args: Any, **kwargs: Any) -> Any:
    if _observers:
        for tensor in tree_leaves(args):
            if isinstance(tensor, Tensor):
                _observers[-1].keep(tensor)
    return _ORIGINALS["checkpoint"](function, *args, **kwargs)


def _observed_contexts(policy: Any, *args: Any, **kwargs: Any) -> tuple[Any, Any]:
    create = _ORIGINALS["create_selective_checkpoint_contexts"]
    if not _observers:
        return create(policy, *args, **kwargs)
    observed = _observers[-1]
    keeping = _KeepingMode(observed)
    decide = policy
    if isinstance(policy, list):
        create(policy, *args, **kwargs)  # refuses packets

        def decide(_context: Any, operation: Any, *_args: Any, **_kwargs: Any) -> CheckpointPolicy:
            return CheckpointPolicy.MUST_SAVE if operation in policy else CheckpointPolicy.PREFER_RECOMPUTE

    observed.policies.append(getattr(policy, "__qualname__", None) or repr(policy))

    def observed_policy(context: Any, operation: Any, *operands: Any, **options: Any) -> Any:
        decision = decide(context, operation, *operands, **options)
        # Releases before 2.13 ask again while recomputing.
        if not context.is_recompute:
            if operation in MATRIX_PRODUCTS:
                observed.products[name_operation(operation)] += 1
            if decision in (True, CheckpointPolicy.MUST_SAVE, CheckpointPolicy.PREFER_SAVE):
                observed.saved[name_operation(operation)] += 1
                # Releases from 2.11 on run the operation first, and hand over what it gave.
                if hasattr(context, "op_output"):
                    observed.keep_result(operation, context.op_output)
                else:
                    keeping.asked = operation
        return decision

    forward, recomputation = create(observed_policy, *args, **kwargs)
    return _within(keeping, forward), _within(_CountingMode(observed.recomputed), recomputation)


@contextlib.contextmanager
def observable_checkpoints() -> Generator[None]:
    """Whatever asks PyTorch for a checkpoint meanwhile can be observed, then and later."""
    before = {name: getattr(torch_checkpoint, name) for name in _ORIGINALS}
    torch_checkpoint.checkpoint = _observed_checkpoint
    torch_checkpoint.create_selective_checkpoint_contexts = _observed_contexts
    try:
        yield
    finally:
        for name, function in before.items():
            setattr(torch_checkpoint, name, function)


@contextlib.contextmanager
def observe_checkpoints(inputs: Mapping[str, Tensor]) -> Generator[Observed]:
    """What the selective checkpoints that run meanwhile keep and compute again, and what is kept outside of them."""
    observed = Observed(inputs)
    _observers.append(observed)
    try:
        with observable_checkpoints(), torch.autograd.graph.saved_tensors_hooks(observed.keep, lambda kept: kept):
            yield observed
    finally:
        _observers.pop()
