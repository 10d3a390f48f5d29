"""How far a run is, on a terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager


@contextmanager
def show_progress(cases: int) -> Generator[Callable[[], None]]:
    """A function to call for each record: shows how far the run is, on a terminal alone."""
    if not sys.stderr.isatty():
        yield lambda: None
        return
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    # Lines that are printed meanwhile go above the progress on a terminal, and straight to a file.
    shown = sys.stdout.isatty()
    screen = Console(stderr=True)
    with Progress(*columns, console=screen, transient=True, redirect_stdout=shown, redirect_stderr=False) as progress:
        task = progress.add_task(f"starting ({cases} cases)")

        def advance() -> None:
            progress.advance(task)
            progress.update(task, description=f"{int(progress.tasks[0].completed)} verdicts")

        yield advance
