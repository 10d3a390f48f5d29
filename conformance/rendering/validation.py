"""What is shown of a check of files: a line per fault, as text or as annotations of a GitHub workflow, then counts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from conformance.errors import FileFault

FORMATS = ("text", "github")


def render_faults(faults: Iterable[FileFault], form: str) -> list[str]:
    """A line per fault; `form` is one of `FORMATS`."""
    return [_annotate(fault) if form == "github" else str(fault) for fault in faults]


def render_counts(counts: Sequence[tuple[int, str]]) -> str:
    """The counts in one line, each with its noun, which ``{s}`` makes a plural; none of nothing but for the last."""
    *first, last = counts
    shown = [*(pair for pair in first if pair[0]), last]
    return ", ".join(f"{count} {noun.format(s='' if count == 1 else 's')}" for count, noun in shown)


def _annotate(fault: FileFault) -> str:
    """A workflow command, which GitHub shows beside the line that it names.

    Reference: GitHub's documentation, "Workflow commands for GitHub Actions", error messages; the escapes are those of
    the Actions toolkit (packages/core/src/command.ts).
    """
    places = {"file": fault.file, "line": fault.line, "col": fault.column, "title": "conformance"}
    told = ",".join(f"{name}={_escape(str(value), ':,')}" for name, value in places.items())
    return f"::error {told}::{_escape(f'{fault.path}: {fault.message}')}"


def _escape(text: str, marks: str = "") -> str:
    for mark in ("%", "\r", "\n", *marks):
        text = text.replace(mark, f"%{ord(mark):02X}")
    return text
