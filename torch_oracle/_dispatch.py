"""The dispatch mode under which an oracle runs: every operation is classified, or refused by name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

import torch
from torch import Tensor
from torch._decomp import decomposition_table
from torch.utils._python_dispatch import TorchDispatchMode

from conformance.errors import OracleRefusal

from ._decompositions import ALTERNATIVES, DECOMPOSITIONS
from ._operations import (
    ACCUMULATIONS,
    CHOICES,
    COMPARISONS,
    EXACT,
    FUNCTIONS,
    NAMESPACES,
    ORDERS,
    PRODUCTS,
    REFUSED,
    ROUNDED,
    SIGNS,
    STEPS,
    SUMS,
    WRITES,
    in_place,
    operation_name,
)

_SPECIAL = frozenset(("pow", "threshold_backward", "softplus_backward"))
_CLASSIFIED = (
    (ACCUMULATIONS | CHOICES | COMPARISONS | EXACT | FUNCTIONS | ORDERS | PRODUCTS | ROUNDED | SIGNS | STEPS | SUMS)
    | _SPECIAL
    | DECOMPOSITIONS.keys()
    | ALTERNATIVES.keys()
)
_ADVICE = "Wanted operations that the rounding model knows. Write the oracle without it, or add a rule with a test."
_EXACT_TYPES = frozenset((torch.bool, torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8))


def tensors(values: Any) -> list[Tensor]:
    """The tensors among arguments or results, those in lists and tuples too."""
    if isinstance(values, Tensor):
        return [values]
    if isinstance(values, list | tuple):
        return [tensor for value in values for tensor in tensors(value)]
    return []


def storage(tensor: Tensor) -> int:
    """The address that a tensor's views share."""
    return tensor.untyped_storage().data_ptr()


def is_composite(operation: Any) -> bool:
    """Whether PyTorch itself writes the operation as others, in terms of which it is differentiated."""
    return operation.has_kernel_for_dispatch_key(torch._C.DispatchKey.CompositeImplicitAutograd)  # noqa: SLF001


class ClassifyingMode(TorchDispatchMode):
    """Runs every operation as PyTorch does, and refuses those for which the rounding model has no rule."""

    def __init__(self, problem: str, accuracy: Any) -> None:
        super().__init__()
        self._problem = problem
        self._accuracy = accuracy
        self._names: dict[Any, tuple[str, bool]] = {}
        self._protected: list[Tensor] = []

    def protect(self, inputs: Sequence[Tensor]) -> None:
        """Lets nothing be written to these, nor to views of them."""
        self._protected = list(inputs)

    def refuse(self, operation: Any, reason: str, advice: str = _ADVICE) -> NoReturn:
        """Raises the refusal of `operation`.

        Raises:
            OracleRefusal: always.
        """
        raise OracleRefusal(f"estimating {self._problem}: the oracle uses {operation}; {reason}. {advice}")

    def apply(self, func: Any, name: str, args: Any, kwargs: Any) -> Any:  # noqa: ARG002  (for subclasses)
        """The result of an operation that has been classified."""
        return func(*args, **kwargs)

    def accuracy(self, func: Any, name: str) -> float:
        """The error of an elementary function in ulps.

        Raises:
            OracleRefusal: the arithmetic does not state it.
        """
        found = self._accuracy.get(name)
        if found is None:
            self.refuse(func, f"the arithmetic states no accuracy for {name}")
        return found

    def _is_protected(self, written: Tensor) -> bool:
        return storage(written) in map(storage, self._protected)

    def _classify(self, func: Any, args: Any, kwargs: Any) -> tuple[str, bool]:
        name = operation_name(func)
        if func.namespace not in NAMESPACES:
            self.refuse(func, "it is a custom operation, whose rounding is not known")
        if name in REFUSED:
            self.refuse(func, REFUSED[name])
        if name not in _CLASSIFIED and func not in decomposition_table and not is_composite(func):
            floating = any(value.is_floating_point() for value in tensors([*args, *kwargs.values()]))
            if floating:
                self.refuse(func, "it is neither classified nor decomposable")
        if name in FUNCTIONS or name == "softplus_backward":
            self.accuracy(func, name)
        return name, in_place(func)

    def _check_types(self, func: Any, results: Any) -> None:
        for result in tensors(results):
            if result.dtype is torch.float64 or result.dtype in _EXACT_TYPES:
                continue
            if result.dtype.is_complex:
                self.refuse(func, f"its result is {result.dtype}, and complex numbers have no rounding rule")
            self.refuse(func, f"its result is {result.dtype}; the oracle is to stay in torch.float64")

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        found = self._names.get(func)
        if found is None:
            found = self._names[func] = self._classify(func, args, kwargs)
        name, writes = found
        if not writes:
            results = self.apply(func, name, args, kwargs)
            self._check_types(func, results)
            return results
        # Autograd's own formulas, and fused losses, write to tensors that they have just made; an oracle is to leave
        # its data alone.
        functional = getattr(getattr(torch.ops.aten, name, None), func._overloadname, None)  # noqa: SLF001
        in_backward = torch._C._current_graph_task_id() != -1  # noqa: SLF001
        allowed = in_backward or (name in WRITES and not self._is_protected(args[0]))
        if not allowed or functional is None or in_place(functional):
            self.refuse(func, "it writes to its operand in place; write it as an operation that returns its result")
        results = self.apply(functional, name, args, kwargs)
        self._check_types(func, results)
        return args[0].copy_(results)
