"""What a check of problem files and case files found, without running anything."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from conformance.errors import FileFault, InputFault
from conformance.files.case_file import check_ids, load_cases
from conformance.files.discovery import find_case_files
from conformance.files.problem_file import FILE, ProblemFolder, load_problem
from conformance.values.case import Case


@dataclass(frozen=True, slots=True)
class Validation:
    """The files that were checked, their cases, and all faults."""

    files: tuple[Path, ...]
    cases: tuple[Case, ...]
    faults: tuple[FileFault, ...]

    @property
    def exit_code(self) -> int:
        """2 if anything is wrong, 3 if there was nothing to check, else 0."""
        return 2 if self.faults else 0 if self.files else 3

    def render(self) -> str:
        """A line per fault, then the counts."""
        counts = ", ".join(
            f"{count} {word}{'' if count == 1 else 's'}"
            for count, word in ((len(self.files), "file"), (len(self.cases), "case"), (len(self.faults), "fault"))
        )
        return "\n".join([*map(str, self.faults), counts])


def validate(root: Path, paths: Sequence[str | Path] = ()) -> Validation:
    """The faults of a root's problem files and case files, or of those that `paths` name.

    Raises:
        UsageError: a path does not exist.
        NotProven: a folder has no case file in it.
    """
    problem_of = ProblemFolder(root)
    wanted = [Path(path) for path in paths]
    problems = [path.resolve() for path in wanted if path.name == FILE and path.is_file()]
    others = [path for path in wanted if path.resolve() not in problems]
    files = find_case_files(root, others) if others or not problems else []
    if not paths:
        problems = sorted((problem_of.root / "cases").glob(f"*/{FILE}"))
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
    return Validation((*problems, *files), tuple(cases), tuple(sorted(faults)))
