"""The table of all calibrations, printed at the end of a session."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

ROWS: pytest.StashKey[list[str]] = pytest.StashKey()
HEAD = f"{'problem':24} {'arithmetic':14} {'quantity':10} {'cases':>6} {'elements':>8} {'largest z':>9} {'rms z':>6}"


@pytest.fixture
def report(request: pytest.FixtureRequest) -> Callable[..., None]:
    """A function that adds the tallies of a problem to the table."""
    rows = request.config.stash.setdefault(ROWS, [HEAD])

    def report(problem: str, arithmetic: str, cases: int, tallies: dict[str, Any]) -> None:
        rows.extend(
            f"{problem:24} {arithmetic:14} {name:10} {cases:6} {tally.elements:8} {tally.largest:9.2f} {tally.rms:6.2f}"
            for name, tally in tallies.items()
        )

    return report


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Prints the table, if anything was calibrated."""
    if ROWS in config.stash:
        terminalreporter.section("calibration of sigma")
        for row in config.stash[ROWS]:
            terminalreporter.write_line(row)
