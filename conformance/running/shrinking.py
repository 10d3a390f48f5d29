"""A failing case made small: fewer rows and features, zeros and rounder numbers, while it still fails alike.

Delta debugging (Zeller and Hildebrandt, "Simplifying and isolating failure-inducing input", IEEE TSE 28(2), 2002) on
the dimensions, then on the numbers.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from conformance.errors import InputFault
from conformance.files.case_file import load_cases
from conformance.files.case_writer import render_case_file
from conformance.files.problem_file import ProblemFolder
from conformance.results.record import Record
from conformance.values.case import Case
from conformance.values.signature import FLOATING, ArrayLeaf, FloatLeaf
from conformance.values.tree import leaves, map_leaves
from conformance.values.verdict import Cause, Verdict

MOST = 400
"""Candidates that are tried at most."""
_ELEMENTS = 64
"""Larger arrays are made simple as a whole, never element by element."""
_DIGITS = (1, 2, 3)


@dataclass(frozen=True, slots=True)
class Shrunk:
    """A smaller case that fails alike, the text of its file, and how many candidates were tried."""

    case: Case
    text: str
    record: Record
    tried: int


@dataclass(frozen=True, slots=True)
class _Likeness:
    """What makes two failures the same: verdict, cause, broken clauses, and what can be told right from wrong."""

    verdict: Verdict
    cause: Cause | None
    clauses: frozenset[str]
    resolved: frozenset[str]

    @classmethod
    def of(cls, record: Record) -> _Likeness:
        broken = (fault.clause for fault in record.faults if fault.verdict is Verdict.CONTRACT_BROKEN)
        resolved = frozenset(name for name, quantity in record.quantities.items() if quantity.resolved)
        return cls(record.verdict, record.cause, frozenset(clause for clause in broken if clause), resolved)

    def is_kept_by(self, other: _Likeness) -> bool:
        """Whether `other` is the same failure, of a case that tells as much."""
        same = (other.verdict, other.cause, other.clauses) == (self.verdict, self.cause, self.clauses)
        return same and self.resolved <= other.resolved


def shrink(case: Case, record: Record, run: Callable[[Case], Record], *, most: int = MOST) -> Shrunk:
    """The smallest case that was found to fail as `record` tells of `case`; `run` gives the record of another one.

    Every candidate goes through a case file, so that it is in the problem's domain and is just what the file holds.
    """
    search = _Search(case, _Likeness.of(record), run, most, record)
    with tempfile.TemporaryDirectory(prefix="conformance-") as folder:
        search.file = Path(folder) / f"{case.group}-shrunk.json"
        search.problems = ProblemFolder(case.problem.root)
        search.try_(dict(case.inputs))  # without documented values, and as its file would hold it
        progress = True
        while progress and search.tried < most:
            progress = _shrink_dimensions(search)
            progress = _simplify(search) or progress
    return Shrunk(search.best, _render(search.best, case, search.record), search.record, search.tried)


@dataclass(slots=True)
class _Search:
    best: Case
    likeness: _Likeness
    run: Callable[[Case], Record]
    most: int
    record: Record
    tried: int = 0
    file: Path = Path()
    problems: ProblemFolder | None = None

    def try_(self, inputs: Mapping[str, Any]) -> bool:
        """Whether the case with these inputs fails alike; it is the best one then."""
        if self.tried >= self.most or self.problems is None:
            return False
        candidate = replace(self.best, inputs=inputs, name=self.best.name.removesuffix("-shrunk") + "-shrunk")
        self.file.write_text(render_case_file(candidate, "A candidate."), encoding="utf-8")
        try:
            (loaded,) = load_cases(self.file, self.problems)
        except InputFault:  # outside of the domain
            return False
        self.tried += 1
        record = self.run(loaded)
        if not self.likeness.is_kept_by(_Likeness.of(record)):
            return False
        self.best, self.record = loaded, record
        return True


def _render(best: Case, original: Case, record: Record) -> str:
    cause = f" ({record.cause})" if record.cause else ""
    return render_case_file(
        best, f"Shrunk from {original.id}: {record.verdict}{cause} for {Path(record.implementation).name}."
    )


def _shrink_dimensions(search: _Search) -> bool:
    progress = False
    for letter in list(search.best.dims):
        parts = 2
        while (size := search.best.dims[letter]) > 1 and search.tried < search.most:
            chunk = max(1, size // parts)
            starts = range(0, size, chunk)
            # A chunk alone first, then all but a chunk.
            kept = [list(range(start, min(start + chunk, size))) for start in starts]
            kept += [[i for i in range(size) if not start <= i < start + chunk] for start in starts]
            if any(0 < len(keep) < size and search.try_(_select(search.best, letter, keep)) for keep in kept):
                progress, parts = True, 2
            elif chunk == 1:
                break
            else:
                parts *= 2
    return progress


def _select(case: Case, letter: str, keep: list[int]) -> dict[str, Any]:
    def select(leaf: Any, value: Any) -> Any:
        if isinstance(leaf, ArrayLeaf):
            for axis, dim in enumerate(leaf.dims):
                if dim == letter:
                    value = np.take(value, keep, axis)
        return value

    return map_leaves(select, dict(case.problem.inputs), dict(case.inputs))


def _simplify(search: _Search) -> bool:
    progress = False
    for path, leaf in leaves(dict(search.best.problem.inputs)):
        floats = isinstance(leaf, FloatLeaf) or (isinstance(leaf, ArrayLeaf) and leaf.dtype in FLOATING)
        if not floats:
            continue
        value = np.asarray(dict(leaves(dict(search.best.inputs)))[path])
        whole = any(search.try_(_replace(search.best, path, simple)) for simple in _simpler(value))
        progress = whole or progress
        if value.size == 1 or value.size > _ELEMENTS:
            continue
        for index in np.ndindex(value.shape):
            current = np.asarray(dict(leaves(dict(search.best.inputs)))[path])
            for simple in _simpler(current[index]):
                changed = current.copy()
                changed[index] = simple
                if search.try_(_replace(search.best, path, changed)):
                    progress = True
                    break
    return progress


def _simpler(value: Any) -> Iterator[NDArray[Any]]:
    """Simpler numbers in place of `value`, the simplest first, none that it equals or that is less simple."""
    array = np.asarray(value)
    seen = [array]
    candidates = [np.zeros_like(array), np.sign(array), *(_round(array, digits) for digits in _DIGITS)]
    for candidate in candidates:
        if any(np.array_equal(candidate, other) for other in seen):
            if np.array_equal(candidate, array):
                return
            continue
        seen.append(candidate)
        yield candidate


def _round(array: NDArray[Any], digits: int) -> NDArray[Any]:
    rounded = [float(f"{float(number):.{digits - 1}e}") for number in array.ravel()]
    return np.array(rounded, array.dtype).reshape(array.shape)


def _replace(case: Case, path: str, value: Any) -> dict[str, Any]:
    names = iter([name for name, _ in leaves(dict(case.problem.inputs))])

    def replace_leaf(leaf: Any, old: Any) -> Any:
        if next(names) != path:
            return old
        return float(value) if isinstance(leaf, FloatLeaf) else np.asarray(value, np.asarray(old).dtype)

    return map_leaves(replace_leaf, dict(case.problem.inputs), dict(case.inputs))
