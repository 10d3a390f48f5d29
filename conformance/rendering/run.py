"""What people see of a run: its head, its table, and its counts."""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from conformance.judging.standardised import LIMIT
from conformance.rendering.failure import element
from conformance.results.record import Record
from conformance.values.placement import MODES
from conformance.values.verdict import Verdict

_COLOURS = {
    Verdict.AGREE: "green",
    Verdict.ERROR: "red",
    Verdict.DISAGREE: "red",
    Verdict.CONTRACT_BROKEN: "red",
    Verdict.NOT_PROVEN: "yellow",
}
_UNLIMITED = 10_000
_MANY = 6
"""Of a file, more cases than this that agree share a row."""


def render_header(header: Mapping[str, Any]) -> str:
    """One line: where the run was, and with which versions."""
    implementation, oracle = header.get("implementation", {}), header.get("oracle", {})
    found = {**implementation, **oracle}.items()
    versions = [f"{name} {value}" for name, value in found if isinstance(value, str) and value[:1].isdigit()]
    devices = implementation.get("devices", [])
    kinds = ", ".join(f"{count} x {kind}" for kind, count in Counter(d.get("kind", "?") for d in devices).items())
    place = f"{header.get('platform', '?')}" + (f" ({kinds})" if kinds else "")
    return " · ".join([place, f"precision {header.get('precision', '?')}", *versions])


def render_table(records: Sequence[Record], colour: bool = False, whole: bool = False) -> str:
    """A row per case, a column per mode with the largest z there, behind the cause or verdict where it does not agree.

    Unless it is to be `whole`, the cases of a file that agree share a row where they are many: the largest z of all,
    and the digits of each quantity in the case that tells most. Nothing is cut off: a narrow terminal wraps its lines.
    """
    placements = _placements(records)
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("case", no_wrap=True)
    for placement in placements:
        table.add_column(placement, justify="right", no_wrap=True)
    table.add_column("digits", justify="right", no_wrap=True)
    table.add_column("worst", no_wrap=True)
    for row in _find_rows(records, whole):
        shown = [_cell([record for record in row.records if str(record.placement) == name]) for name in placements]
        table.add_row(row.name, *shown, _digits(row.records), _worst(row))
    system = "auto" if colour else None
    console = Console(file=io.StringIO(), width=_UNLIMITED, force_terminal=colour, color_system=system, highlight=False)
    with console.capture() as capture:
        console.print(table)
    return "\n".join(line.rstrip() for line in capture.get().rstrip("\n").split("\n"))


@dataclass(frozen=True, slots=True)
class _Row:
    """The records of one case, or of many that agree."""

    name: str
    records: Sequence[Record]

    @property
    def cases(self) -> int:
        return len({record.case for record in self.records})


def _find_rows(records: Sequence[Record], whole: bool) -> list[_Row]:
    """The rows in the order of their first records."""
    cases: dict[str, list[Record]] = {}
    for record in records:
        cases.setdefault(record.case, []).append(record)
    agreeing: dict[str, list[str]] = {}
    for case, found in cases.items():
        if all(record.verdict is Verdict.AGREE for record in found):
            agreeing.setdefault(case.rsplit("/", 1)[0], []).append(case)
    many = {group: names for group, names in agreeing.items() if not whole and len(names) > _MANY}
    rows: dict[str, _Row] = {}
    for case, found in cases.items():
        group = case.rsplit("/", 1)[0]
        if case in many.get(group, ()):
            together = [record for name in many[group] for record in cases[name]]
            rows.setdefault(group, _Row(f"{group} ({len(many[group])} cases)", together))
        else:
            rows[case] = _Row(case, found)
    return list(rows.values())


def _placements(records: Iterable[Record]) -> list[str]:
    found = {str(record.placement): record.placement for record in records}
    return sorted(found, key=lambda name: (found[name].platform, found[name].precision, MODES.index(found[name].mode)))


def _cell(records: Sequence[Record]) -> Text:
    """What came of one case at a placement, or of many that agree there."""
    if not records:
        return Text("-", style="dim")
    largest = max((record.largest_z for record in records if record.largest_z is not None), default=None)
    z = "" if largest is None else f"{largest:.2g}"
    record = records[0]
    if record.verdict is Verdict.AGREE:
        return Text(z or "agree", style="green")
    if record.verdict is Verdict.CONTRACT_BROKEN:
        z = ""  # the numbers are not what is wrong
    return Text(f"{record.cause or record.verdict} {z}".rstrip(), style=_COLOURS[record.verdict])


def _digits(records: Iterable[Record]) -> str:
    """The digits of the quantity that is known least, in the case that tells most of it."""
    most: dict[str, float] = {}
    for record in records:
        for name, quantity in record.quantities.items():
            if name not in record.uninformative:
                most[name] = max(most.get(name, 0.0), quantity.digits)
    return f"{min(most.values()):.1f}" if most else "-"


def _worst(row: _Row) -> str:
    found = [
        (quantity.largest_z, name, quantity.where, record.case.rsplit("/", 1)[1])
        for record in row.records
        for name, quantity in record.quantities.items()
        if quantity.largest_z is not None
    ]
    if not found:
        return "-"
    _, name, where, case = max(found, key=lambda entry: entry[0])
    return element(name, where) + (f" of {case}" if row.cases > 1 else "")


def render_summary(records: Sequence[Record], seconds: float | None = None) -> str:
    """One line of counts: verdicts, cases, problems, the largest z."""
    counts = Counter(record.verdict for record in records)
    said = [f"{counts[verdict]} {verdict}" for verdict in Verdict if counts[verdict]]
    cases, problems = len({record.case for record in records}), len({record.problem for record in records})
    largest = max((record.largest_z for record in records if record.largest_z is not None), default=None)
    parts = [
        ", ".join(said) or "nothing was run",
        f"{_count(cases, 'case')} of {_count(problems, 'problem')}",
        *([] if largest is None else [f"largest z {largest:.2g} (limit {LIMIT:g})"]),
        *([] if seconds is None else [f"{seconds:.1f} s"]),
    ]
    return " · ".join(parts)


def _count(number: int, word: str) -> str:
    return f"{number} {word}" + ("" if number == 1 else "s")


def render_unresolved(unresolved: Iterable[str]) -> list[str]:
    """A line for each quantity that no case of a run resolves."""
    return [
        f"not proven: no case that was run resolves {text}: fewer than 2 digits in each, so any small answer would "
        "pass. Add a case that resolves it, or declare it uninformative in its cases."
        for text in unresolved
    ]
