"""``conformance explain``: one case, run and told in full."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from conformance.commands.implementation_name import repeat_options, resolve_implementation
from conformance.commands.progress import show_progress
from conformance.errors import UsageError
from conformance.files.discovery import find_root, find_selection
from conformance.files.schemas import sample
from conformance.rendering.explanation import render_explanation
from conformance.rendering.run import render_header
from conformance.results.record import Record, exit_code_of
from conformance.running.supervisor import Plan, supervise
from conformance.values.placement import MODES

_PLACEMENT = re.compile(r"\[[a-z]+-(?P<mode>[a-z]+)(-[a-z]+)?\]$")


@dataclass(frozen=True, slots=True)
class ExplainOptions:
    """The options of ``conformance explain`` as given."""

    case: str
    platform: str
    precision: str
    mode: str | None
    impl: str | None
    returns: str | None
    timeout: float
    script: Path | None
    shrink: bool
    root: Path | None


def execute(options: ExplainOptions) -> int:
    """The exit code that ``conformance run`` has for the case, after everything about it was told.

    Raises:
        ConformanceError: it could not be carried out.
    """
    if options.script is not None and not options.script.absolute().parent.is_dir():
        raise UsageError(
            f"writing the script to {options.script}: its folder does not exist; make it, or name another file"
        )
    root = find_root(options.root, [options.case])
    selection = find_selection(root, [options.case])
    if len(selection.cases) != 1:
        known = sample([case.id for case in selection.cases])
        raise UsageError(f"explaining {options.case}: it holds {len(selection.cases)} cases; wanted one of {known}")
    if options.returns and not options.impl:
        raise UsageError("reading the command line: --returns goes with --impl; the root's own functions return dicts")
    (case,) = selection.cases
    implementation = resolve_implementation(options.impl) if options.impl else None
    named = _PLACEMENT.search(options.case)
    mode = options.mode or (named["mode"] if named and named["mode"] in MODES else "jit")
    parts = [name for name, wanted in (("script", options.script), ("shrunk", options.shrink)) if wanted]
    arguments = [
        f"--conformance-root={root}",
        f"--conformance-platform={options.platform}",
        f"--conformance-precision={options.precision}",
        f"--conformance-mode={mode}",
        f"--conformance-explain={','.join(parts)}",
        *([f"--conformance-impl={implementation}"] if implementation else []),
        *([f"--conformance-returns={options.returns}"] if options.returns else []),
    ]
    with show_progress(1) as advance:

        def on_header(header: dict[str, Any]) -> None:
            click.echo(f"{render_header(header)}\nroot {root}\n")

        def on_record(_record: Record) -> None:
            advance()

        plan = Plan([*arguments, *selection.pytest_arguments], root, options.timeout, show_output=False)
        outcome = supervise(plan, on_header, on_record)
    if outcome.fatal is not None:
        click.echo(f"conformance: {outcome.fatal.text}", err=True)
        return outcome.fatal.exit_code
    if not outcome.records:
        click.echo("conformance: interrupted; nothing was explained", err=True)
        return 3
    (record,) = outcome.records.values()
    click.echo(render_explanation(case, record, repeat_options(options.root, options.impl, options.returns)))
    _tell_extras(record, options)
    return exit_code_of([record])


def _tell_extras(record: Record, options: ExplainOptions) -> None:
    explanation = record.evidence.get("explanation", {})
    if options.script is not None:
        made = explanation.get("script", {"failure": "the case did not live to the end"})
        if "text" in made:
            try:
                options.script.write_text(made["text"], encoding="utf-8")
            except OSError as error:
                where = f"writing the script to {options.script}"
                raise UsageError(f"{where}: {error.strerror}; name another file") from None
            click.echo(f"\nscript: {options.script} compares the numbers with jax and torch alone")
        else:
            click.echo(f"\nscript: not written: {made['failure']}")
    if options.shrink:
        made = explanation.get("shrunk", {"failure": "the case did not live to the end"})
        if "text" not in made:
            click.echo(f"\nshrunk: not possible: {made['failure']}")
            return
        dims = ", ".join(f"{name}={size}" for name, size in made["dims"].items())
        click.echo(f"\nshrunk to {dims} after {made['tried']} tries; a case file that fails alike:\n\n{made['text']}")
