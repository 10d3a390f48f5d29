"""``conformance bless``: expected values from the oracle, written into case files."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click
import numpy as np
from numpy.typing import NDArray

from conformance.errors import NotProven
from conformance.files.blessing import USUAL, write_expected
from conformance.files.case_file import load_cases
from conformance.files.discovery import find_case_files, find_root
from conformance.files.document import Document, load_document, show
from conformance.files.generated import is_generated
from conformance.files.problem_file import ProblemFolder
from conformance.files.replacing import replace_text
from conformance.judging.documented import differs, unit_of
from conformance.running.true_values import TrueValues
from conformance.values.case import Case, Rounding

_PROTECTED = ("documented", "reported")
"""Origins whose values somebody else has stated."""

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
    values: TrueValues | None = None
    codes = {0}
    for file in find_case_files(found, paths):
        cases = load_cases(file, problems)
        document = load_document(file)
        if is_generated(document):
            click.echo(f"{show(file)}: generated, so it holds no expected values; the oracle gives them in each run")
            continue
        values = values or TrueValues()
        outcome = _Outcome()
        rounding = _rounding(document)
        for number, case in enumerate(cases):
            _judge(case, number, rounding, _estimate(values, case, outcome), outcome, force=force)
        _write(file, document, cases, rounding, outcome)
        codes.add(outcome.code)
    return next(code for code in (2, 1, 3, 0) if code in codes)


def _rounding(document: Document) -> Rounding:
    node: Mapping[str, int] = document.value.get("rounding", {})
    return next((Rounding(kind, int(count)) for kind, count in node.items()), USUAL)


def _estimate(values: TrueValues, case: Case, outcome: _Outcome) -> _Values | None:
    try:
        return values.of(case)
    except NotProven as error:
        outcome.tell(f"{case.id}: has no expected values: {error}", error.exit_code)
        return None


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
        after = write_expected(document, cases[0].problem.outputs, outcome.values, rounding)
        old, new = document.text.splitlines(), after.decode().splitlines()
        click.echo("\n".join(difflib.unified_diff(old, new, show(file), show(file), n=1, lineterm="")))
        replace_text(file, after)
    for text in outcome.told:
        click.echo(text)
    unchanged = len(cases) - outcome.filled - outcome.replaced
    click.echo(f"{show(file)}: {outcome.filled} filled in, {outcome.replaced} replaced, {unchanged} unchanged")
