"""``conformance schema``: the JSON Schemas with which an editor completes and checks case files."""

from __future__ import annotations

from pathlib import Path

import click

from conformance.files.discovery import find_root
from conformance.files.document import show
from conformance.files.problem_file import SCHEMAS, ProblemFolder
from conformance.files.schema_files import write_schema_files


def execute(root: Path | None) -> int:
    """0 once the schemas of a root's problems are written, and told.

    Raises:
        ConformanceError: there is no root, a problem.json is wrong, or a file cannot be written.
    """
    problems = ProblemFolder(find_root(root))
    for file in write_schema_files(problems):
        click.echo(f"{show(file)}: written")
    click.echo(
        f"{show(problems.root / 'cases' / SCHEMAS)}: the schemas of {len(problems.names)} problems are up to date"
    )
    return 0
