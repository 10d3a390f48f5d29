"""What case files hold that can be computed again: generated cases, and expected values."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from conformance.errors import FileFault, InputFault, NotProven
from conformance.files.document import load_document
from conformance.files.generated import check_regenerated, is_generated
from conformance.running.true_values import TrueValues, check_expected
from conformance.values.case import Case


@dataclass(frozen=True, slots=True)
class Revaluation:
    """How many generated cases and expected values were computed again, what differs, and what could not be."""

    generated: int
    expected: int
    faults: Sequence[FileFault]
    unproven: Sequence[str]


def revaluate(cases: Iterable[Case]) -> Revaluation:
    """What comes of computing the generated cases, and the expected values, of `cases` again; files hold no faults.

    Raises:
        SideUnavailable: the oracle's framework is missing, and there are expected values.
    """
    faults: list[FileFault] = []
    unproven: list[str] = []
    generated = expected = 0
    values: TrueValues | None = None
    for file, inside in groupby(cases, key=_file):
        document = load_document(file)
        held = list(inside)
        if is_generated(document):
            generated += len(held)
            try:
                faults += check_regenerated(document, held[0].problem)
            except InputFault as error:
                faults += error.faults
        for index, case in enumerate(held):
            if case.expected is None:
                continue
            expected += 1
            values = values or TrueValues()
            try:
                faults += check_expected(document, index, case, values)
            except NotProven as error:
                unproven.append(f"{case.id}: {error}")
    return Revaluation(generated, expected, sorted(faults), unproven)


def _file(case: Case) -> Path:
    return case.file
