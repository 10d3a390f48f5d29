"""``conformance bless``: expected values from the oracle, written into case files."""

from __future__ import annotations

import difflib
import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click
import numpy as np
from numpy.typing import NDArray

from conformance.errors import NotProven, UsageError
from conformance.files.blessing import USUAL, write_expected
from conformance.files.case_file import load_cases
from conformance.files.discovery import find_case_files, find_root
from conformance.files.document import Document, load_document, show
from conformance.files.problem_file import ProblemFolder
from conformance.judging.documented import differs, unit_of
from conformance.sides import Oracle, OracleSide, load_oracle_side
from conformance.values.arithmetic import CPU
from conformance.values.case import Case, Rounding

_PROTECTED = ("documented", "reported")
"""Origins whose values somebody else has stated."""
_RUNS = 2
"""As few as the oracle takes: its value needs none of them."""
_BOM = b"\xef\xbb\xbf"
_FLOAT32_MAX = float(np.finfo(np.float32).max)

_Values = Mapping[str, NDArray[Any]]


@dataclass(slots=True)
class _Outcome:
    """What becomes of a file's cases: new values by the case's number, and what is to be told."""

    values: dict[int, _Values] = field(default_factory=dict[int, _Values])
    filled: int = 0
    replaced: int = 0
    told: list[str] = field(default_factory=list[str])
    code: int = 0

    def tell(self, text: str, code: int) -> None:
        """Notes a line and the exit code that it deserves; where several hold it is 2, then 1, then 3."""
        self.told.append(text)
        self.code = next(wanted for wanted in (2, 1, 3, 0) if wanted in (self.code, code))


def execute(paths: Sequence[str], root: Path | None, *, force: bool) -> int:
    """0 where every case has the oracle's value; 1 where a stated value differs and stays; 3 where there is none.

    Raises:
        ConformanceError: a file is missing or wrong, or the oracle's framework is.
    """
    found = find_root(root, paths)
    problems = ProblemFolder(found)
    side = load_oracle_side()
    side.start(1)
    oracles: dict[str, Oracle] = {}
    codes = {0}
    for file in find_case_files(found, paths):
        cases = load_cases(file, problems)
        document = load_document(file)
        outcome = _Outcome()
        rounding = _rounding(document)
        for number, case in enumerate(cases):
            _judge(case, number, rounding, _estimate(side, oracles, case, outcome), outcome, force=force)
        _write(file, document, cases, rounding, outcome)
        codes.add(outcome.code)
    return next(code for code in (2, 1, 3, 0) if code in codes)


def _rounding(document: Document) -> Rounding:
    node: Mapping[str, int] = document.value.get("rounding", {})
    return next((Rounding(kind, count) for kind, count in node.items()), USUAL)


def _estimate(side: OracleSide, oracles: dict[str, Oracle], case: Case, outcome: _Outcome) -> _Values | None:
    name = case.problem.name
    try:
        if name not in oracles:
            oracles[name] = side.load(case.problem)
        (found,) = oracles[name].estimate([case.inputs], CPU, runs=_RUNS, seeds=[case.seed], allow_ties=case.allow_ties)
    except NotProven as error:
        outcome.tell(f"{case.id}: has no expected values: {error}", 3)
        return None
    values = {name: estimate.value for name, estimate in found.quantities.items()}
    for name, value in values.items():
        if value.dtype.kind == "f" and not np.all(np.abs(value) <= _FLOAT32_MAX):
            outcome.tell(f"{case.id}: {name} leaves the range of float32, so no implementation can meet it", 2)
            return None
    return values


def _judge(
    case: Case, number: int, rounding: Rounding, values: _Values | None, outcome: _Outcome, *, force: bool
) -> None:
    if values is None:
        return
    stale = [
        name
        for name, value in values.items()
        if case.expected is not None and np.any(differs(value, case.expected[name], rounding))
    ]
    if case.expected is not None and not stale:
        return
    if case.origin.get("kind") in _PROTECTED and not force:
        what = f"{', '.join(stale)} differ from what the oracle gives" if stale else "it has no expected values"
        outcome.tell(f"{case.id}: {what}; a {case.origin['kind']} case is changed with --force alone", 1)
        return
    outcome.values[number] = values
    outcome.filled += case.expected is None
    outcome.replaced += case.expected is not None
    outcome.told += _find_too_fine(case, rounding, values)


def _find_too_fine(case: Case, rounding: Rounding, values: _Values) -> Iterator[str]:
    """A warning for each quantity whose rounding says more than float32 can hold."""
    for name, value in values.items():
        if value.dtype.kind != "f" or not value.size:
            continue
        magnitude = float(np.max(np.abs(value)))
        unit = float(np.min(unit_of(np.asarray(magnitude), rounding)))
        if 0.0 < unit < magnitude * 2.0**-24:
            yield (
                f"{case.id}: warning: {rounding.count} {rounding.kind} of {name} ({magnitude:.3g}) are finer than "
                "float32 can resolve"
            )


def _write(file: Path, document: Document, cases: Sequence[Case], rounding: Rounding, outcome: _Outcome) -> None:
    if outcome.values:
        before = file.read_bytes()
        after = write_expected(document, cases[0].problem.outputs, outcome.values, rounding)
        after = _BOM + after if before.startswith(_BOM) else after
        old, new = (data.decode("utf-8-sig").splitlines() for data in (before, after))
        click.echo("\n".join(difflib.unified_diff(old, new, show(file), show(file), n=1, lineterm="")))
        _replace(file, after)
    for text in outcome.told:
        click.echo(text)
    unchanged = len(cases) - outcome.filled - outcome.replaced
    click.echo(f"{show(file)}: {outcome.filled} filled in, {outcome.replaced} replaced, {unchanged} unchanged")


def _replace(file: Path, data: bytes) -> None:
    """The file holds `data`, or what it held before: never a part."""
    try:
        with tempfile.NamedTemporaryFile(dir=file.parent, prefix=f".{file.name}.", delete=False) as temporary:
            temporary.write(data)
        Path(temporary.name).chmod(file.stat().st_mode & 0o7777)
        os.replace(temporary.name, file)  # noqa: PTH105 - the name of an open file is text
    except OSError as error:
        raise UsageError(f"writing {show(file)}: {error.strerror}; make room, or allow writing there") from None
