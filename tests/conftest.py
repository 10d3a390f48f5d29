"""The table of all calibrations, printed at the end of a session, with and without workers."""

from __future__ import annotations

import pytest

HEAD = f"{'problem':24} {'arithmetic':14} {'quantity':10} {'cases':>6} {'elements':>8} {'largest z':>9} {'rms z':>6}"


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Prints the table, if anything was calibrated."""
    reports = [report for found in terminalreporter.stats.values() for report in found]
    rows = [
        value
        for report in reports
        if getattr(report, "when", "") == "call"
        for name, value in report.user_properties
        if name == "calibration"
    ]
    if rows:
        terminalreporter.section("calibration of sigma")
        for row in [HEAD, *rows]:
            terminalreporter.write_line(row)
