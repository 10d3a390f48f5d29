"""Results files: a header, a record per case and placement as it ends, a footer with the counts."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from conformance.errors import InputFault, ResultsLost, UsageError
from conformance.results.jsonl import append_line
from conformance.results.record import Record
from conformance.values.kinds import is_dict

FORMAT = 2
_KINDS = ("header", "record", "footer")


@dataclass(frozen=True, slots=True)
class Results:
    """A results file, read back. `footer` is None where the run did not end; `torn` where its last line is cut off."""

    header: Mapping[str, Any]
    records: Sequence[Record]
    footer: Mapping[str, Any] | None
    torn: bool = False

    @property
    def complete(self) -> bool:
        """Whether the run ended, and reported all that it collected."""
        return (
            self.footer is not None
            and self.footer["collected"] == self.footer["reported"] == len(self.records)
            and not self.footer.get("stopped", False)
        )


class ResultsWriter:
    """Writes a results file line by line, so that what was done is readable whatever happens next.

    Each call raises `ResultsLost` where the line cannot be written.
    """

    def __init__(self, path: Path) -> None:
        """A new file at `path`, in place of an old one.

        Raises:
            UsageError: the file cannot be made.
        """
        self._path = path
        self._has_header = False
        try:
            path.write_bytes(b"")
        except OSError as error:
            raise UsageError(
                f"writing results to {path}: {error.strerror}; name a file in a folder that can be written to"
            ) from None

    def write_header(self, header: Mapping[str, Any]) -> None:
        """Nothing; the header is the file's first line. Later calls are ignored."""
        if not self._has_header:
            self._has_header = True
            self._append({"kind": "header", "format": FORMAT, **header})

    def write_record(self, record: Record) -> None:
        """Nothing; the record is in the file when this returns."""
        self.write_header({})
        self._append(record.to_json())

    def write_footer(self, footer: Mapping[str, Any]) -> None:
        """Nothing; the footer is the file's last line."""
        self.write_header({})
        self._append({"kind": "footer", **footer})

    def _append(self, node: Mapping[str, Any]) -> None:
        try:
            append_line(self._path, node)
        except OSError as error:
            raise ResultsLost(
                f"writing results to {self._path}: {error.strerror}; what was written before is readable. "
                "Make room, or name another file, and run again."
            ) from None


def load_results(path: Path) -> Results:
    """The results file at `path`; a last line that is cut off is left out.

    Raises:
        UsageError: there is no such file, or it cannot be read.
        InputFault: it is no results file of a format that this version reads.
    """
    try:
        lines = path.read_bytes().split(b"\n")
    except OSError as error:
        raise UsageError(f"reading results from {path}: {error.strerror}; wanted a file that --results wrote") from None
    torn = lines[-1] != b""
    nodes: list[dict[str, Any]] = []
    for number, line in enumerate(lines[:-1], 1):
        try:
            node: Any = json.loads(line)
        except ValueError as error:
            raise InputFault(f"{path}:{number}: found {error}; wanted a line that --results wrote") from None
        if not is_dict(node) or node.get("kind") not in _KINDS:
            raise InputFault(f"{path}:{number}: found no {', '.join(_KINDS)}; wanted a line that --results wrote")
        nodes.append(node)
    if not nodes or nodes[0]["kind"] != "header":
        raise InputFault(f"{path}:1: found no header; wanted a results file that --results wrote")
    if nodes[0].get("format") != FORMAT:
        raise InputFault(f"{path}:1: found format {nodes[0].get('format')}; this version reads format {FORMAT}")
    try:
        records = [Record.from_json(node) for node in nodes if node["kind"] == "record"]
    except (KeyError, TypeError, ValueError) as error:
        raise InputFault(f"{path}: found a damaged record ({error!r}); wanted a file that --results wrote") from None
    footer = next((node for node in nodes if node["kind"] == "footer"), None)
    return Results(nodes[0], records, footer, torn)
