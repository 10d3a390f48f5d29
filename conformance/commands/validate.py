"""``conformance validate``: what is wrong with case files and problem files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from conformance.files.discovery import find_root
from conformance.files.validation import validate
from conformance.rendering.validation import render_counts, render_faults


def execute(paths: Sequence[str], root: Path | None, *, values: bool, form: str) -> int:
    """0 where nothing is wrong, 2 where anything is, 3 where a value could not be computed again.

    Raises:
        ConformanceError: there is no such path, or nothing to check; or `values` are asked for without an oracle.
    """
    validation = validate(find_root(root, paths), paths)
    faults = list(validation.faults)
    unproven: Sequence[str] = ()
    counts = [
        (len(validation.problem_files), "problem file{s}"),
        (len(validation.case_files), "case file{s}"),
        (len(validation.cases), "case{s}"),
    ]
    if values:
        # Imported here: without it no oracle is needed.
        from conformance.running.revaluation import revaluate

        found = revaluate(validation.cases)
        faults = sorted({*faults, *found.faults})
        unproven = found.unproven
        counts.append((found.generated, "case{s} generated again"))
        counts.append((found.expected, "case{s} with expected values checked"))
    for line in (*render_faults(faults, form), *unproven):
        click.echo(line)
    click.echo(render_counts([*counts, (len(faults), "fault{s}")]))
    return 2 if faults else 3 if unproven else 0
