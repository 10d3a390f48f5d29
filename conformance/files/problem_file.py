"""A problem as its problem.json declares it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from conformance.errors import FileFault, InputFault, UnknownProblem
from conformance.files.document import Document, load_document, show
from conformance.files.domain import check_domain
from conformance.files.positions import JsonPath
from conformance.files.schemas import choice, load_schema, suggest
from conformance.values.problem import Problem
from conformance.values.signature import FLOATING, ArrayLeaf, Leaf, Signature, load_signature
from conformance.values.tree import leaves

FILE = "problem.json"
SCHEMAS = "schema"
"""The folder beside the problems that holds the schemas of their files."""
_MOST_DIMENSIONS = 32
_JUDGED = ("float32", "int32", "bool")


class ProblemFolder:
    """The problems of a root, each loaded once."""

    def __init__(self, root: Path) -> None:
        """The problems below ``cases/`` in `root`."""
        self.root = root.resolve()
        self._loaded: dict[str, Problem] = {}

    @property
    def names(self) -> list[str]:
        """The names of all problems, sorted."""
        return sorted(file.parent.name for file in (self.root / "cases").glob(f"*/{FILE}"))

    def __call__(self, name: str) -> Problem:
        """The problem of that name.

        Raises:
            UnknownProblem: the root has none of that name.
            InputFault: its problem.json is wrong.
        """
        if name not in self._loaded:
            folder = self.root / "cases" / name
            if name not in self.names:
                known = self.names
                raise UnknownProblem(
                    f"found the problem {name!r}, wanted {choice(known)}, the problems of {show(self.root)}"
                    f"{suggest(name, known)}"
                )
            self._loaded[name] = load_problem(folder)
        return self._loaded[name]


def load_problem(folder: Path) -> Problem:
    """The problem that `folder` declares in its problem.json.

    Raises:
        InputFault: there is no such file, or it is not what the format demands.
    """
    document = load_document(folder / FILE)
    faults = [*document.faults, *load_schema("problem").check(document)]
    if faults:
        raise InputFault(*sorted(faults))
    node: Mapping[str, Any] = document.value
    inputs = {name: load_signature(child) for name, child in node["inputs"].items()}
    outputs = load_signature(node["outputs"])
    domain: Mapping[str, Any] = node.get("domain", {})
    faults = [
        *_check_name(document, folder.resolve().name),
        *_check_leaves(document, inputs, outputs),
        *check_domain(document, inputs, domain),
    ]
    if faults:
        raise InputFault(*sorted(faults))
    return Problem(
        name=node["problem"],
        title=node["title"],
        statement=node["statement"],
        inputs=inputs,
        outputs=outputs,
        domain=domain,
        contract=node.get("contract", {}),
        root=folder.resolve().parent.parent,
    )


def json_leaves(signature: Signature, path: JsonPath, *, tuples: bool) -> Iterator[tuple[JsonPath, Leaf]]:
    """The leaves with their JSON paths; `tuples`: whether a tuple has an object of its own, as in problem.json."""
    if isinstance(signature, dict):
        for name, child in signature.items():
            yield from json_leaves(child, (*path, name), tuples=tuples)
    elif isinstance(signature, list | tuple):
        inner = (*path, "tuple") if tuples and isinstance(signature, tuple) else path
        for index, child in enumerate(signature):
            yield from json_leaves(child, (*inner, index), tuples=tuples)
    else:
        yield path, signature


def _check_name(document: Document, folder: str) -> Iterator[FileFault]:
    found: str = document.value["problem"]
    if folder == SCHEMAS:
        yield document.fault(("problem",), f"found {found!r}, wanted another name: cases/{SCHEMAS} holds the schemas")
    if found != folder:
        yield document.fault(("problem",), f"found {found!r}, wanted {folder!r}, the name of its folder")


def _check_leaves(document: Document, inputs: Mapping[str, Signature], outputs: Signature) -> Iterator[FileFault]:
    bound: set[str | int] = set()
    for path, leaf in json_leaves(dict(inputs), ("inputs",), tuples=True):
        if isinstance(leaf, ArrayLeaf):
            bound.update(leaf.dims)
            yield from _check_judged(document, path, leaf)
    if not list(leaves(outputs)):
        yield document.fault(("outputs",), "found no leaf, wanted at least one quantity such as 'float32[]'")
    for path, leaf in json_leaves(outputs, ("outputs",), tuples=True):
        if not isinstance(leaf, ArrayLeaf):
            yield document.fault(path, f"found '{leaf}', wanted an array such as 'float32[]': outputs are arrays")
            continue
        yield from _check_judged(document, path, leaf)
        for dim in leaf.dims:
            if isinstance(dim, str) and dim not in bound:
                yield document.fault(path, f"found the dimension {dim}, wanted one that an input binds")


def _check_judged(document: Document, path: JsonPath, leaf: ArrayLeaf) -> Iterator[FileFault]:
    if len(leaf.dims) > _MOST_DIMENSIONS:
        yield document.fault(path, f"found {len(leaf.dims)} dimensions, wanted at most {_MOST_DIMENSIONS}")
    if leaf.dtype in FLOATING and leaf.dtype not in _JUDGED:
        yield document.fault(path, f"found '{leaf}', wanted {choice(_JUDGED)}: this version cannot judge {leaf.dtype}")
