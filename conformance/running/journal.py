"""What the processes of a run tell their supervising parent, as it happens.

Each event is one line of a file, so that it is there even when the next thing that happens is the end of the process.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from conformance.errors import ConformanceError
from conformance.results.jsonl import append_line
from conformance.results.record import Record


@dataclass(frozen=True, slots=True)
class Journal:
    """The writing end; without a path nothing is written."""

    path: Path | None

    def _write(self, event: str, **fields: Any) -> None:
        if self.path is not None:
            append_line(self.path, {"event": event, "pid": os.getpid(), **fields})

    def starting(self) -> None:
        """Tells that this process starts the frameworks."""
        self._write("starting")

    def started(self, header: Mapping[str, Any]) -> None:
        """Tells that the frameworks have started, with the header of the results."""
        self._write("started", header=header)

    def collected(self, items: Sequence[Mapping[str, Any]], most_failures: int) -> None:
        """Tells which items will be run, as `describe_item` tells each; and after how many failures to stop."""
        self._write(
            "collected",
            most_failures=most_failures,
            items=list(items),
        )

    def begin(self, node: str) -> None:
        """Tells that this process starts an item."""
        self._write("begin", node=node)

    def waiting(self, node: str) -> None:
        """Tells that the implementation has answered, and that the oracle is waited for."""
        self._write("waiting", node=node)

    def record(self, record: Record) -> None:
        """Tells what came of the item that was begun."""
        self._write("record", record=record.to_json())

    def lost(self, node: str) -> None:
        """Tells that the process that had begun an item is gone; the session's own process saw that."""
        self._write("lost", node=node)

    def fatal(self, error: ConformanceError) -> None:
        """Tells of a fault that ends the whole run."""
        self._write("fatal", text=str(error), exit_code=error.exit_code)

    def finish(self, status: int, stopped: bool) -> None:
        """Tells that the session ended by itself, with pytest's exit status, and whether it stopped early as asked."""
        self._write("finish", status=status, stopped=stopped)
