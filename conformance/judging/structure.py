"""The clause ``returns``: the containers, keys, types, dtypes and shapes of what came back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from conformance.values.contract import RETURNS
from conformance.values.evaluation import Returned, ReturnedTree, UnknownContainer
from conformance.values.signature import ArrayLeaf, Signature
from conformance.values.tree import ROOT
from conformance.values.verdict import Fault, Verdict


@dataclass(slots=True)
class Structure:
    """The leaves that can be compared, by quantity, and what is wrong with the rest."""

    leaves: dict[str, Returned] = field(default_factory=dict[str, Returned])
    faults: list[Fault] = field(default_factory=list)


def check_structure(returned: ReturnedTree, outputs: Signature, dims: Mapping[str, int], array_kind: str) -> Structure:
    """The structure of `returned` against the declared `outputs`; `array_kind` is the type that each leaf must have."""
    structure = Structure()
    _check(structure, returned, outputs, dims, array_kind, "")
    return structure


def _fault(structure: Structure, path: str, message: str) -> None:
    structure.faults.append(Fault(Verdict.CONTRACT_BROKEN, message, path or ROOT, clause=RETURNS))


def _check(
    structure: Structure, node: ReturnedTree, wanted: Signature, dims: Mapping[str, int], array_kind: str, path: str
) -> None:
    if isinstance(wanted, dict):
        if not isinstance(node, dict):
            _fault(structure, path, f"found {_describe(node)}; wanted a dict with the keys {_names(list(wanted))}")
            return
        missing = [name for name in wanted if name not in node]
        extra = [name for name in node if name not in wanted]
        if missing:
            _fault(structure, path, f"missing {_names(missing)}; found the keys {_names(list(node))}")
        if extra:
            _fault(structure, path, f"unexpected {_names(extra)}; wanted the keys {_names(list(wanted))}")
        for name, child in wanted.items():
            if name in node:
                _check(structure, node[name], child, dims, array_kind, f"{path}.{name}" if path else name)
    elif isinstance(wanted, list | tuple):
        kind = "list" if isinstance(wanted, list) else "tuple"
        if not isinstance(node, type(wanted)):
            _fault(structure, path, f"found {_describe(node)}; wanted a {kind} of {len(wanted)}")
        elif len(node) != len(wanted):
            _fault(structure, path, f"found a {kind} of {len(node)}; wanted {len(wanted)} parts")
        else:
            for index, (part, child) in enumerate(zip(node, wanted, strict=True)):
                _check(structure, part, child, dims, array_kind, f"{path}.{index}" if path else str(index))
    elif isinstance(wanted, ArrayLeaf):
        _check_leaf(structure, node, wanted, dims, array_kind, path)


def _check_leaf(
    structure: Structure, node: ReturnedTree, wanted: ArrayLeaf, dims: Mapping[str, int], array_kind: str, path: str
) -> None:
    shape = resolve_shape(wanted, dims)
    if not isinstance(node, Returned):
        _fault(structure, path, f"found {_describe(node)}; wanted a {array_kind}, {wanted.dtype} of shape {shape}")
        return
    if node.kind != array_kind:
        _fault(structure, path, f"found a {node.kind}; wanted a {array_kind}")
    if node.array is None:
        return
    if node.dtype != wanted.dtype:
        _fault(structure, path, f"found dtype {node.dtype}; wanted {wanted.dtype}")
    if node.shape != shape:
        _fault(structure, path, f"found shape {node.shape}; wanted {shape} for {wanted}")
        return
    if node.array.dtype.kind == "f" or node.dtype == wanted.dtype:
        structure.leaves[path or ROOT] = node


def resolve_shape(leaf: ArrayLeaf, dims: Mapping[str, int]) -> tuple[int, ...]:
    """The shape of `leaf` once its dimension letters are bound."""
    return tuple(dims[dim] if isinstance(dim, str) else dim for dim in leaf.dims)


def _names(names: Sequence[Any]) -> str:
    return ", ".join(map(str, names)) if names else "none at all"


def _describe(node: ReturnedTree) -> str:
    if isinstance(node, dict):
        return f"a dict with the keys {_names(list(node))}"
    if isinstance(node, list | tuple):
        return f"a {'list' if isinstance(node, list) else 'tuple'} of {len(node)}"
    if isinstance(node, UnknownContainer):
        return f"a {node.kind}"
    return f"a {node.kind}" + (f", {node.dtype} of shape {node.shape}" if node.dtype else "")
