"""``conformance compare``: shows runs again from their results files."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import click

from conformance.errors import UsageError
from conformance.rendering.failure import Diagnoses
from conformance.rendering.run import render_header, render_summary, render_table, render_unresolved
from conformance.results.record import exit_code_of
from conformance.results.resolution import find_unresolved
from conformance.results.results_file import load_results
from conformance.values.verdict import Verdict


def execute(paths: Sequence[Path], *, whole: bool) -> int:
    """The exit code that the run of one results file deserves, after it was shown.

    Raises:
        ConformanceError: the file is missing, or is no results file; or several were named.
    """
    if len(paths) != 1:
        raise UsageError("comparing results: this version shows one results file; name one")
    results = load_results(paths[0])
    click.echo(f"{render_header(results.header)}\n")
    diagnoses = Diagnoses(results.header.get("again", ()))
    for record in results.records:
        if record.verdict is not Verdict.AGREE:
            told = diagnoses.render(record)
            if told is not None:
                click.echo(f"{told}\n")
    for line in diagnoses.render_rest():
        click.echo(f"{line}\n")
    if results.records:
        click.echo(render_table(results.records, colour=sys.stdout.isatty(), whole=whole) + "\n")
    unresolved = find_unresolved(results.records)
    for line in render_unresolved(unresolved):
        click.echo(line)
    if not results.complete:
        reported = len(results.records)
        of = f" of {results.footer['collected']}" if results.footer else ""
        click.echo(f"not proven: {paths[0]} is incomplete: {reported}{of} cases were reported before the run ended")
    click.echo(render_summary(results.records))
    code = exit_code_of(results.records)
    return code if code or (results.complete and not unresolved) else 3
