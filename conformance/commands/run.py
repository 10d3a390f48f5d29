"""``conformance run``: from the command line's options to what is printed and the exit code."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from conformance.commands.implementation_name import choose_problem, repeat_options, resolve_implementation
from conformance.commands.progress import show_progress
from conformance.errors import NotProven, UsageError
from conformance.files.discovery import Selection, find_root, find_selection
from conformance.rendering.failure import Diagnoses
from conformance.rendering.run import render_header, render_summary, render_table, render_unresolved
from conformance.results.record import Record, exit_code_of
from conformance.results.resolution import find_unresolved
from conformance.results.results_file import ResultsWriter
from conformance.running.supervisor import Outcome, Plan, supervise
from conformance.values.verdict import Verdict

_QUIET = (
    "-k",
    "-m",
    "-n",
    "-x",
    "--exitfirst",
    "--maxfail",
    "--junitxml",
    "--junit-xml",
    "--dist",
    "-p",
    "--lf",
    "--ff",
    "-v",
    "--verbose",
)
"""pytest's options that say nothing on the screen; with any other, pytest's own output is shown."""
_VERBOSE = ("-v", "--verbose")
_INTERACTIVE = ("--pdb", "--trace")


@dataclass(frozen=True, slots=True)
class RunOptions:
    """The options of ``conformance run`` as given."""

    paths: Sequence[str]
    platform: str
    precision: str
    modes: Sequence[str]
    impl: str | None
    returns: str | None
    timeout: float
    results: Path | None
    root: Path | None
    pytest_arguments: Sequence[str]


def execute(options: RunOptions) -> int:
    """The exit code of a run, after it was carried out and told.

    Raises:
        ConformanceError: it could not be carried out.
    """
    root = find_root(options.root, options.paths)
    selection = find_selection(root, options.paths)
    if options.returns and not options.impl:
        raise UsageError("reading the command line: --returns goes with --impl; the root's own functions return dicts")
    implementation = resolve_implementation(options.impl) if options.impl else None
    if implementation is not None:
        selection = choose_problem(selection, implementation)
    writer = ResultsWriter(options.results) if options.results else None
    plan = Plan(
        _pytest_arguments(options, root, selection, implementation),
        root,
        None if _given(options.pytest_arguments, _INTERACTIVE) else options.timeout,
        bool(_loud(options.pytest_arguments)),
    )
    again = repeat_options(options.root, options.impl, options.returns)
    diagnoses = Diagnoses(again)
    begun = time.monotonic()
    with show_progress(len(selection.cases)) as advance:

        def on_header(header: dict[str, Any]) -> None:
            click.echo(f"{render_header(header)}\nroot {root}")
            if implementation:
                click.echo(f"implementation {implementation}")
            click.echo()
            if writer is not None:
                writer.write_header({**header, "again": again})

        def on_record(record: Record) -> None:
            advance()
            if writer is not None:
                writer.write_record(record)
            if record.verdict is not Verdict.AGREE:
                told = diagnoses.render(record)
                if told is not None:
                    click.echo(f"{told}\n")

        outcome = supervise(plan, on_header, on_record)
    for line in diagnoses.render_rest():
        click.echo(f"{line}\n")
    if writer is not None:
        counts = {"collected": len(outcome.planned), "reported": len(outcome.records)}
        writer.write_footer({**counts, "stopped": outcome.enough, "interrupted": outcome.interrupted})
    whole = _given(options.pytest_arguments, _VERBOSE)
    return _conclude(outcome, selection, root, time.monotonic() - begun, whole=whole)


def _conclude(outcome: Outcome, selection: Selection, root: Path, seconds: float, *, whole: bool) -> int:
    records = [outcome.records[node] for node in outcome.planned if node in outcome.records]
    code = exit_code_of(records)
    if records:
        click.echo(render_table(records, colour=sys.stdout.isatty(), whole=whole))
        click.echo()
    if outcome.fatal is not None:
        click.echo(f"conformance: {outcome.fatal.text}", err=True)
        return next(wanted for wanted in (2, 1, 3) if wanted in (code, outcome.fatal.exit_code))
    if not outcome.planned and not outcome.interrupted:
        count = len(selection.cases)
        raise NotProven(
            f"selecting cases below {root}: the options for pytest leave none of {count} cases; "
            "nothing was verified. Widen -k or -m."
        )
    for incident in outcome.incidents:
        click.echo(f"conformance: pytest failed and was started again, please report it: {incident}", err=True)
    unresolved = find_unresolved(records)
    for line in render_unresolved(unresolved):
        click.echo(line)
    missing = len(outcome.missing)
    if missing or outcome.interrupted:
        why = "interrupted" if outcome.interrupted else "stopped as asked" if outcome.enough else "lost"
        click.echo(f"not proven: {missing} of {len(outcome.planned)} were not run ({why})")
    click.echo(render_summary(records, seconds))
    proven = not unresolved and not missing and not outcome.interrupted
    return code if code or proven else 3


def _pytest_arguments(options: RunOptions, root: Path, selection: Selection, implementation: str | None) -> list[str]:
    arguments = [
        f"--conformance-root={root}",
        f"--conformance-platform={options.platform}",
        f"--conformance-precision={options.precision}",
        *(f"--conformance-mode={mode}" for mode in options.modes),
    ]
    if implementation:
        arguments.append(f"--conformance-impl={implementation}")
    if options.returns:
        arguments.append(f"--conformance-returns={options.returns}")
    return [*arguments, *options.pytest_arguments, *selection.pytest_arguments]


def _given(arguments: Sequence[str], names: Sequence[str]) -> bool:
    return any(argument.split("=", 1)[0] in names for argument in arguments)


def _loud(arguments: Sequence[str]) -> list[str]:
    return [
        argument
        for argument in arguments
        if argument.startswith("-")
        and argument.split("=", 1)[0] not in _QUIET
        and argument[:2] not in ("-n", "-k", "-m")
    ]
