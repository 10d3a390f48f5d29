"""The diagnosis of a case that does not agree."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import Any

from conformance.results.record import Record
from conformance.values.verdict import Cause, Fault


def element(quantity: str, index: Sequence[int]) -> str:
    """An element's name as a person would index it: ``grads.w1[0,2]``."""
    return quantity + (f"[{','.join(map(str, index))}]" if index else "")


class Diagnoses:
    """The diagnoses of a run one after the other; a contract that is broken alike in many cases is told once."""

    def __init__(self, again: Sequence[str] = ()) -> None:
        """Nothing told yet; `again` are the options that the run was given."""
        self._again = again
        self._told: dict[Any, str] = {}
        self.ends_in_list = False
        """Whether an empty line is still wanted after the last one."""

    def render(self, record: Record) -> str:
        """The diagnosis of a record that does not agree, with an empty line; or one line, as was told of another."""
        name = f"{record.case} [{record.placement}]"
        if all(fault.clause and not fault.detail for fault in record.faults):
            faults = tuple((fault.clause, fault.quantity, fault.message) for fault in record.faults)
            first = self._told.setdefault((record.problem, faults), name)
            self.ends_in_list = first != name
            if self.ends_in_list:
                clauses = ", ".join(dict.fromkeys(str(fault.clause) for fault in record.faults))
                return f"{record.verdict}: {name}: clause {clauses}, as told of {first}"
        self.ends_in_list = False
        return render_failure(record, self._again) + "\n"


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
