"""Gathers the records of a pytest session in the session's own process, whichever worker made them."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from conformance.errors import UsageError
from conformance.results.record import Record
from conformance.results.resolution import find_unresolved
from conformance.results.results_file import ResultsWriter
from conformance.running.journal import Journal
from conformance.running.losses import is_case, record_loss_of


class Listener:
    """Keeps the records, writes the results file, and makes a session red that proves too little."""

    def __init__(self, config: pytest.Config) -> None:
        """A listener of the session of `config`; a results file is begun at once, so that a bad path is told early."""
        self._records: list[Record] = []
        self._collected = 0
        self._writer: ResultsWriter | None = None
        journal = config.option.conformance_journal
        self._journal = Journal(Path(journal)) if journal else None
        if config.option.conformance_results:
            try:
                self._writer = ResultsWriter(Path(config.option.conformance_results))
            except UsageError as error:
                raise pytest.UsageError(str(error)) from None

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keeps the record that a report carries, and one of its own for a worker that died."""
        carried: dict[str, Any] | None = getattr(report, "conformance", None)
        record: Record | None = None
        if carried is not None:
            record = Record.from_json(carried["record"])
            if self._writer is not None:
                self._writer.write_header(carried["header"])
        elif report.when not in ("setup", "call", "teardown"):
            record = record_loss_of(report.nodeid, "the worker process died while it ran this case")
            if record is not None and self._journal is not None:
                self._journal.lost(report.nodeid)
        if record is None:
            return
        self._records.append(record)
        if self._writer is not None:
            self._writer.write_record(record)

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Counts the cases that were collected; a session may hold other tests too."""
        self._count(item.nodeid for item in session.items)

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, ids: Iterable[str]) -> None:
        """Counts those that workers collected: each of them collects all."""
        self._count(ids)

    def _count(self, nodes: Iterable[str]) -> None:
        self._collected = sum(map(is_case, nodes))

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        """Ends the results file; a session in which a quantity was resolved by no case is red."""
        stopped = bool(session.shouldfail or session.shouldstop)
        if exitstatus == 0 and find_unresolved(self._records):
            session.exitstatus = pytest.ExitCode.TESTS_FAILED
        if self._writer is not None:
            counts = {"collected": self._collected, "reported": len(self._records)}
            self._writer.write_footer({**counts, "stopped": stopped})
        if self._journal is not None:
            self._journal.finish(int(exitstatus), stopped)

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Writes the table of all cases; a supervised session leaves that to its parent."""
        if self._records and self._journal is None:
            from conformance.rendering.run import render_table, render_unresolved

            terminalreporter.section("conformance")
            terminalreporter.write_line(render_table(self._records, whole=terminalreporter.verbosity > 0))
            for line in render_unresolved(find_unresolved(self._records)):
                terminalreporter.write_line(line, red=True)
