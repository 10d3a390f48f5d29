"""A generated file, written again from its recipe."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from conformance.errors import FileFault, InputFault
from conformance.files.case_file import load_problem_of, read_expanded
from conformance.files.case_schema import load_case_schema
from conformance.files.document import Document, load_document
from conformance.files.generated import MOST_BYTES, fill_in, is_generated, leave_out
from conformance.values.problem import Problem


@dataclass(frozen=True, slots=True)
class Regenerated:
    """What a generated file is to hold: its bytes, how many cases, and whether it keeps the recipe alone."""

    before: bytes
    after: bytes
    cases: int
    alone: bool


def regenerate(file: Path, problem_of: Callable[[str], Problem]) -> Regenerated | None:
    """The file with the cases of its recipe, whatever it holds as cases now; None where it is not generated.

    Raises:
        InputFault: the file cannot be read, or is wrong in anything but its cases, or its recipe makes cases that are.
    """
    document = load_document(file)
    problem = load_problem_of(document, problem_of)
    if not is_generated(document):
        return None
    # What the file holds as cases is replaced, so nothing in it matters.
    head = Document(file, document.text, {name: part for name, part in document.value.items() if name != "cases"})
    faults: list[FileFault] = [fault for fault in document.faults if not fault.path.startswith("$.cases[")]
    faults += load_case_schema(problem).check(head)
    if faults:
        raise InputFault(*sorted(faults))
    cases = read_expanded(document, problem)
    filled = fill_in(document, problem)
    alone = len(filled) > MOST_BYTES
    return Regenerated(document.text.encode(), leave_out(document) if alone else filled, len(cases), alone)
