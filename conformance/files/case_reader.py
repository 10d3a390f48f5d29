"""What one case of a file holds, checked number by number against its problem."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from conformance.errors import FileFault
from conformance.files.document import Document, describe
from conformance.files.domain import outside
from conformance.files.leaf_values import Findings, check_scalar, load_value, load_written
from conformance.files.positions import JsonPath, render_path
from conformance.files.problem_file import json_leaves
from conformance.values.kinds import is_dict, is_list
from conformance.values.problem import Problem
from conformance.values.signature import ArrayLeaf, Leaf, Signature
from conformance.values.tree import ROOT, leaves, map_leaves

_ABSENT = object()


@dataclass(frozen=True, slots=True)
class Content:
    """Inputs by name, the sizes of their dimensions, and documented values by quantity."""

    inputs: Mapping[str, Any]
    dims: Mapping[str, int]
    expected: Mapping[str, NDArray[Any]] | None


@dataclass(frozen=True, slots=True)
class _Place:
    """A leaf of the problem: its name, its path below `inputs` or `expected`, and its limits."""

    name: str
    path: JsonPath
    leaf: Leaf
    limits: Mapping[str, Any]


class CaseReader:
    """Reads the cases of one document; keeps what is wrong in `faults`."""

    def __init__(self, document: Document, problem: Problem, known: Iterable[FileFault]) -> None:
        """A reader that says nothing more of the leaves that have `known` faults."""
        self.faults: list[FileFault] = []
        self._document = document
        self._problem = problem
        self._known = {place for fault in known for place in _places_above(fault.path)}
        self._inputs = list(_places(dict(problem.inputs), problem.domain))
        self._outputs = list(_places(problem.outputs, {}))
        self._rounded = isinstance(document.value.get("rounding"), dict)

    def read(self, index: int, case: Any) -> Content:
        """The content of the case at `index`; of no use once there are faults."""
        base: JsonPath = ("cases", index)
        if not is_dict(case):
            return Content({}, {}, None)
        found = len(self.faults)
        dims: dict[str, int] = {}
        written = self._written(case.get("inputs"), (*base, "inputs"), self._inputs)
        self._bind(base, written, dims)
        expected = None
        if "expected" in case:
            expected = self._written(case["expected"], (*base, "expected"), self._outputs)
            self._check_expected(base, expected, dims)
        if self._known or len(self.faults) > found:
            return Content({}, {}, None)
        values = iter([load_value(written[place.name], place.leaf) for place in self._inputs])
        return Content(_fill(self._problem, values), dims, expected)

    def _fault(self, path: JsonPath, message: str) -> None:
        self.faults.append(self._document.fault(path, message))

    def _written(self, node: Any, base: JsonPath, places: list[_Place]) -> dict[str, NDArray[Any]]:
        arrays: dict[str, NDArray[Any]] = {}
        for place in places:
            value = _at(node, place.path)
            if value is _ABSENT or (self._known and self._is_known((*base, *place.path))):
                continue
            findings: Findings = []
            if isinstance(place.leaf, ArrayLeaf):
                array = load_written(value, place.leaf, findings)
            else:
                message = check_scalar(value, place.leaf)
                findings += [((), message)] if message else []
                array = np.array(value, object if isinstance(value, str) else None)
            if array is None or findings:
                for path, message in findings:
                    self._fault((*base, *place.path, *path), message)
                continue
            if place.limits:
                for path, wanted in outside(array, place.limits):
                    found = describe(_at(value, path))
                    self._fault(
                        (*base, *place.path, *path), f"found {found}, wanted {wanted}, the domain of {place.name}"
                    )
            arrays[place.name] = array
        return arrays

    def _is_known(self, path: JsonPath) -> bool:
        return render_path(path) in self._known

    def _bind(self, base: JsonPath, written: dict[str, NDArray[Any]], dims: dict[str, int]) -> None:
        """Binds the dimension letters across all inputs, then gives arrays without elements their full shape."""
        binders: dict[str, str] = {}
        for place in self._inputs:
            if place.name not in written or not isinstance(place.leaf, ArrayLeaf):
                continue
            path = (*base, "inputs", *place.path)
            for axis, (dim, size) in enumerate(zip(place.leaf.dims, written[place.name].shape, strict=False)):
                if not isinstance(dim, str):
                    if size != dim:
                        self._fault(
                            path, f"found {size} along axis {axis}, wanted {dim} ({place.name} is {place.leaf})"
                        )
                elif dim not in dims:
                    dims[dim] = size
                    binders[dim] = place.name
                    for _, wanted in outside(np.array(size), self._problem.domain.get(dim, {})):
                        self._fault(path, f"found {dim} = {size}, wanted {wanted}, the domain of {dim}")
                elif dims[dim] != size:
                    message = f"found {dim} = {size}, wanted {dim} = {dims[dim]} as in {binders[dim]}"
                    self._fault(path, f"{message} ({place.name} is {place.leaf})")
        for place in self._inputs:
            if place.name in written and isinstance(place.leaf, ArrayLeaf):
                self._complete(written, place, (*base, "inputs", *place.path), dims)

    def _complete(self, written: dict[str, NDArray[Any]], place: _Place, path: JsonPath, dims: dict[str, int]) -> None:
        array = written[place.name]
        leaf = place.leaf
        if not isinstance(leaf, ArrayLeaf) or array.ndim == len(leaf.dims):
            return
        rest = leaf.dims[array.ndim :]
        unknown = [dim for dim in rest if isinstance(dim, str) and dim not in dims]
        if unknown:
            self._fault(path, f"found no elements, wanted some input that tells {', '.join(unknown)} ({leaf})")
            return
        sizes = [dims[dim] if isinstance(dim, str) else dim for dim in rest]
        written[place.name] = array.reshape(*array.shape, *sizes)

    def _check_expected(self, base: JsonPath, expected: dict[str, NDArray[Any]], dims: dict[str, int]) -> None:
        path = (*base, "expected")
        if not self._rounded:
            self._fault(path, 'found expected values, wanted "rounding" in the file to say how they were rounded')
        for place in self._outputs:
            leaf = place.leaf
            if place.name not in expected or not isinstance(leaf, ArrayLeaf):
                continue
            if any(isinstance(dim, str) and dim not in dims for dim in leaf.dims):
                continue
            shape = tuple(dims[dim] if isinstance(dim, str) else dim for dim in leaf.dims)
            found = expected[place.name].shape
            if found == shape[: len(found)] and expected[place.name].size == np.prod(shape):
                expected[place.name] = expected[place.name].reshape(shape)
            else:
                self._fault((*path, *place.path), f"found shape {list(found)}, wanted {list(shape)} for {leaf}")


def _fill(problem: Problem, values: Iterator[Any]) -> dict[str, Any]:
    def take(_leaf: Leaf) -> Any:
        return next(values)

    return map_leaves(take, dict(problem.inputs))


def _places(signature: Signature, domain: Mapping[str, Any]) -> Iterator[_Place]:
    for (name, leaf), (path, _) in zip(leaves(signature), json_leaves(signature, (), tuples=False), strict=True):
        yield _Place(name or ROOT, path, leaf, domain.get(name, {}))


def _places_above(path: str) -> Iterator[str]:
    """The path and all that it lies in."""
    yield path
    yield from (path[:end] for end, mark in enumerate(path) if mark in ".[")


def _at(node: Any, path: JsonPath) -> Any:
    for step in path:
        if isinstance(step, int):
            if not is_list(node) or step >= len(node):
                return _ABSENT
            node = node[step]
        else:
            if not is_dict(node) or step not in node:
                return _ABSENT
            node = node[step]
    return node
