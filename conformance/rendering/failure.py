"""The diagnosis of a case that does not agree."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from typing import Any

from conformance.results.record import Record
from conformance.values.verdict import Cause, Fault, Verdict

_NUMBER = re.compile(r"\d+")


def element(quantity: str, index: Sequence[int]) -> str:
    """An element's name as a person would index it: ``grads.w1[0,2]``."""
    return quantity + (f"[{','.join(map(str, index))}]" if index else "")


class Diagnoses:
    """The diagnoses of a run one after the other; what goes wrong alike in many cases is told in full once."""

    def __init__(self, again: Sequence[str] = ()) -> None:
        """Nothing told yet; `again` are the options that the run was given."""
        self._again = again
        self._alike: dict[Any, list[str]] = {}

    def render(self, record: Record) -> str | None:
        """The diagnosis of a record that does not agree; None where the same was told of another."""
        names = self._alike.setdefault(_outline(record), [])
        names.append(f"{record.case} [{record.placement}]")
        return render_failure(record, self._again) if len(names) == 1 else None

    def render_rest(self) -> list[str]:
        """A line for each diagnosis that holds for more cases than the one that it was told of."""
        return [f"likewise, as {first}: {', '.join(others)}" for first, *others in self._alike.values() if others]


def _outline(record: Record) -> Any:
    """What a diagnosis says, but for what differs from case to case: shapes, line numbers, and figures.

    Figures are told for every case; the modes of a case that disagree in the same quantities share theirs.
    """
    if any(fault.detail for fault in record.faults):
        return record.case, tuple((fault.verdict, fault.quantity, fault.cause, fault.clause) for fault in record.faults)
    said = tuple((fault.clause, fault.quantity, _NUMBER.sub("#", fault.message)) for fault in record.faults)
    mode = record.placement.mode if record.verdict is Verdict.ERROR else ""  # its text names the mode
    return record.problem, mode, said


def render_failure(record: Record, again: Sequence[str] = ()) -> str:
    """The diagnosis of a record that does not agree; `again` are the options that its run was given."""
    cause = f" ({record.cause})" if record.cause else ""
    lines = [f"{record.verdict}{cause}: {record.case} [{record.placement}]"]
    for fault in record.faults:
        lines += _render_fault(fault, record)
    name = record.case if record.node.startswith("cases/") else record.node.rsplit("[", 1)[0]
    command = ["conformance", "run", name, "--mode", record.placement.mode]
    if record.placement.platform != "cpu":
        command += ["--platform", record.placement.platform]
    lines.append(f"  again: {shlex.join([*command, *again])}")
    return "\n".join(lines)


def _render_fault(fault: Fault, record: Record) -> list[str]:
    clause = f"clause {fault.clause}: " if fault.clause else ""
    verdict = "" if fault.verdict is record.verdict else f"{fault.verdict}: "
    detail = fault.detail
    where = element(fault.quantity, detail.get("index", ())) + ": " if fault.quantity else ""
    first, *rest = fault.message.split("\n")
    lines = [f"  {verdict}{clause}{where}{first}", *(f"    {line}" for line in rest)]
    for name, label in (
        ("got", "got"),
        ("value", "oracle"),
        ("documented", "documented"),
        ("sigma", "sigma"),
        ("z", "z"),
        ("limit", "limit"),
    ):
        if detail.get(name) is not None:
            lines.append(f"    {label:<11}{_number(name, detail[name])}")
    if "float64_z" in detail:
        said = "the mathematics differs" if fault.cause is Cause.FORMULA else "the mathematics is right"
        said = "undecided" if fault.cause is None else said
        lines.append(f"    {'in float64':<11}z {_number('z', detail['float64_z'])} of the same sigma: {said}")
    if "undecided" in detail:
        lines.append(f"    {'cause':<11}undecided: {detail['undecided']}")
    if "on_cpu" in detail:
        lines.append(f"    {'on the CPU':<11}{detail['on_cpu']}")
    return lines


def _number(name: str, value: Any) -> str:
    """9 significant digits give a float32 back exactly, Python's own text a float64."""
    if isinstance(value, bool | int | str) or name in ("value", "documented"):
        return str(value)
    return f"{value:.{9 if name == 'got' else 3}g}"
