"""``conformance new``: a case file to begin with, and the schemas with which an editor helps to fill it in."""

from __future__ import annotations

from pathlib import Path

import click

from conformance.errors import InputFault, UnknownProblem, UsageError
from conformance.files.discovery import find_root
from conformance.files.document import show
from conformance.files.problem_file import ProblemFolder
from conformance.files.schema_files import write_schema_files
from conformance.files.skeleton import parse_dims, write_skeleton


def execute(problem: str, name: str, dims: str, root: Path | None) -> int:
    """0 once the file is written and told.

    Raises:
        UsageError: there is no such problem, a name or a dimension does not fit, or the file exists.
        InputFault: the problem's own file is wrong.
    """
    problems = ProblemFolder(find_root(root))
    try:
        found = problems(problem)
    except UnknownProblem as error:
        raise UsageError(f"writing a new case: {error}") from None
    path = write_skeleton(problems, found, name, parse_dims(dims))
    try:
        write_schema_files(problems)
    except InputFault as error:
        click.echo(f"conformance: cases/schema was not written, since another problem has a fault:\n{error}", err=True)
    click.echo(f"{show(path)}: a valid case to begin with; put in its numbers and say why it is there, then")
    for command in ("validate", "bless", "run"):
        click.echo(f"  conformance {command} {show(path)}")
    return 0
