"""What a check of problem files and case files found, without running anything."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from conformance.errors import FileFault, InputFault, NotProven
from conformance.files.case_file import check_ids, load_cases
from conformance.files.discovery import find_case_files
from conformance.files.problem_file import FILE, ProblemFolder, load_problem
from conformance.files.schema_files import check_schema_files
from conformance.values.case import Case


@dataclass(frozen=True, slots=True)
class Validation:
    """The files that were checked, the cases of those without fault, and all faults."""

    problem_files: tuple[Path, ...]
    case_files: tuple[Path, ...]
    cases: tuple[Case, ...]
    faults: tuple[FileFault, ...]


def validate(root: Path, paths: Sequence[str | Path] = ()) -> Validation:
    """The faults of a root's problem files and case files, or of those that `paths` name; all of them are found.

    Raises:
        UsageError: a path does not exist.
        NotProven: a folder has neither in it.
    """
    problem_of = ProblemFolder(root)
    problems, files = _find_files(problem_of.root, [Path(path) for path in paths])
    cases: list[Case] = []
    faults: dict[FileFault, None] = {}
    for file in [*problems, *files]:
        try:
            if file in problems:
                load_problem(file.parent)
            else:
                cases += load_cases(file, problem_of)
        except InputFault as error:
            faults.update(dict.fromkeys(error.faults))
    faults.update(dict.fromkeys(check_ids(cases)))
    if not paths:
        faults.update(dict.fromkeys(check_schema_files(problem_of)))
    return Validation(tuple(problems), tuple(files), tuple(cases), tuple(sorted(faults)))


def _find_files(root: Path, paths: Sequence[Path]) -> tuple[list[Path], list[Path]]:
    """The problem files and the case files that `paths` name, or all of the root."""
    problems: list[Path] = []
    files: list[Path] = []
    for path in paths or [root / "cases"]:
        if path.is_dir():
            inside = sorted(file.resolve() for file in path.rglob(FILE))
            problems += inside
            try:
                files += find_case_files(root, [path])
            except NotProven:
                if not inside:
                    raise
        elif path.name == FILE and path.is_file():
            problems.append(path.resolve())
        else:
            files += find_case_files(root, [path])
    return list(dict.fromkeys(problems)), sorted(dict.fromkeys(files))
