"""``conformance generate``: the cases of generated files, from the recipe that each holds."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from conformance.errors import FileFault, InputFault, NotProven
from conformance.files.discovery import find_case_files, find_root
from conformance.files.document import show
from conformance.files.generated import MOST_BYTES
from conformance.files.problem_file import ProblemFolder
from conformance.files.regeneration import Regenerated, regenerate
from conformance.files.replacing import replace_text


def execute(paths: Sequence[str], root: Path | None) -> int:
    """0 once every generated file holds the cases of its recipe; files of another origin are left alone.

    Nothing is written unless all of the files are right.

    Raises:
        ConformanceError: a file is missing or wrong, or none is generated.
    """
    found = find_root(root, paths)
    problems = ProblemFolder(found)
    made: dict[Path, Regenerated] = {}
    faults: list[FileFault | str] = []
    for file in find_case_files(found, paths):
        try:
            regenerated = regenerate(file, problems)
        except InputFault as error:
            faults += error.faults or [str(error)]
            continue
        if regenerated is not None:
            made[file] = regenerated
    if faults:
        raise InputFault(*faults)
    if not made:
        raise NotProven(
            'generating cases: found no file whose origin.kind is "generated"; docs/strategies.md says how to write one'
        )
    for file, regenerated in made.items():
        changed = regenerated.before != regenerated.after
        if changed:
            replace_text(file, regenerated.after)
        click.echo(f"{show(file)}: {_tell(regenerated)}, {'written' if changed else 'unchanged'}")
    return 0


def _tell(regenerated: Regenerated) -> str:
    cases = f"{regenerated.cases} case{'' if regenerated.cases == 1 else 's'}"
    if not regenerated.alone:
        return cases
    return f"{cases}, more than {MOST_BYTES // 1024} KB, so it keeps the recipe alone and is expanded when it is read"
