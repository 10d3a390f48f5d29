"""Everything about one case, as text: inputs, every element, evidence of the contract, and a second opinion."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from conformance.judging.standardised import LIMIT, standardise
from conformance.rendering.failure import element, render_failure
from conformance.results.encoding import decode_array
from conformance.results.record import Quantity, Record
from conformance.values.case import Case
from conformance.values.contract import CHECKPOINT, Finding
from conformance.values.estimate import Estimate
from conformance.values.tree import leaves
from conformance.values.verdict import Verdict

_MOST = 64
"""Of a larger quantity so many elements are shown, those of largest z."""
_WIDTH = 120
_NOTHING: Mapping[str, Any] = {}


def render_explanation(case: Case, record: Record, again: Sequence[str] = ()) -> str:
    """The explanation of `record`, which is of `case`; `again` are the options that the run was given."""
    explanation: Mapping[str, Any] = record.evidence.get("explanation", {})
    parts = [
        _render_head(case, record),
        "inputs\n" + "\n".join(_render_inputs(case)),
        *_render_quantities(case, record),
        "contract\n" + "\n".join(_render_contract(record)),
        *_render_kept(record),
        "second opinion on the oracle\n" + "\n".join(_render_opinion(explanation.get("second_opinion", {}))),
        render_failure(record, again) if record.verdict is not Verdict.AGREE else "",
    ]
    return "\n\n".join(part for part in parts if part)


def _render_head(case: Case, record: Record) -> str:
    cause = f" ({record.cause})" if record.cause else ""
    source = case.origin.get("source")
    lines = [
        f"{record.verdict}{cause}: {record.case} [{record.placement}]",
        f"  file            {case.file}:{case.line}",
        f"  origin          {case.origin.get('kind', '?')}" + (f", {source}" if source else ""),
        f"  implementation  {record.implementation}",
        f"  content         {record.hash[:16]}",
    ]
    if case.why:
        lines.insert(1, f"  why             {case.why}")
    return "\n".join(lines)


def _render_inputs(case: Case) -> Iterator[str]:
    for path, leaf in leaves(dict(case.inputs)):
        if not isinstance(leaf, np.ndarray | np.generic):
            yield f"  {path:<14}  {leaf!r}"
            continue
        value = np.asarray(leaf)
        text = np.array2string(value, max_line_width=100, threshold=_MOST, separator=", ", floatmode="unique")
        indent = "\n" + " " * 18
        yield f"  {path:<14}  {text.replace(chr(10), indent)}  {value.dtype} {value.shape}"


def _render_quantities(case: Case, record: Record) -> Iterator[str]:
    for name, quantity in record.quantities.items():
        unresolved = "" if quantity.resolved else ", unresolved: too few to tell right from wrong"
        shown = _elements(case, name, quantity)
        if shown is None:
            largest = "-" if quantity.largest_z is None else f"{quantity.largest_z:.3g}"
            yield f"{name}: {quantity.digits:.1f} digits{unresolved}; largest z {largest}; too large to be shown here"
            continue
        rows, left_out = shown
        table = Table(box=None, pad_edge=False, header_style="bold")
        table.add_column("  element", no_wrap=True)
        for column in ("got", "oracle", "documented", "sigma", "z"):
            if column != "documented" or case.expected is not None:
                table.add_column(column, justify="right", no_wrap=True)
        for row in rows:
            table.add_row(*row)
        more = f", {left_out} elements of smaller z left out" if left_out else ""
        yield f"{name}: {quantity.digits:.1f} digits{unresolved}{more}\n{_draw(table)}"


def _elements(case: Case, name: str, quantity: Quantity) -> tuple[list[list[str]], int] | None:
    arrays = {key: decode_array(node) for key, node in quantity.arrays.items()}
    value, sigma, got = arrays.get("value"), arrays.get("sigma"), arrays.get("got")
    if value is None or ("sigma" in arrays and sigma is None) or ("got" in arrays and got is None):
        return None
    z = None if got is None else standardise(got, Estimate(value, sigma)).z
    order = list(np.ndindex(value.shape))
    if len(order) > _MOST:
        chosen = np.argsort(-(np.zeros(value.size) if z is None else z.ravel()), kind="stable")[:_MOST]
        order = [order[int(place)] for place in sorted(chosen)]
    documented = None if case.expected is None else case.expected.get(name)
    rows: list[list[str]] = []
    for index in order:
        row = [
            f"  {element(name, index)}",
            "-" if got is None else f"{got[index].item():.9g}",
            str(value[index].item()),
        ]
        if case.expected is not None:
            row.append("-" if documented is None else str(documented[index].item()))
        row.append("exact" if sigma is None else f"{sigma[index].item():.3g}")
        row.append("-" if z is None else f"{z[index]:.3g}" + (" *" if not z[index] <= LIMIT else ""))
        rows.append(row)
    return rows, value.size - len(rows)


def _render_contract(record: Record) -> Iterator[str]:
    for clause, finding in record.contract.items():
        yield f"  {clause:<20}  {finding.status}{_evidence(clause, finding)}"
        for message in finding.messages:
            yield f"    {message}"


def _evidence(clause: str, finding: Finding) -> str:
    evidence = finding.evidence
    said: list[str] = []
    if clause == CHECKPOINT and "policies" in evidence:
        said = [
            f"policy {', '.join(evidence['policies']) or 'none'}",
            f"forward {_counts(evidence['forward'])}",
            f"recomputed {_counts(evidence['recomputed'])}",
            f"behind a barrier {_counts(evidence['behind_barrier'])}",
        ]
        mirror = evidence.get("oracle")
        if mirror:
            said += [f"oracle keeps {_counts(mirror['saved'])} and recomputes {_counts(mirror['recomputed'])}"]
    elif "outputs" in evidence:
        by_origin: dict[str, list[str]] = {}
        for name, origin in evidence["outputs"].items():
            by_origin.setdefault(origin, []).append(name)
        said = [evidence["how"], *(f"{', '.join(names)} from {origin}" for origin, names in by_origin.items())]
    elif "leaves" in evidence:
        called = f"called {evidence['called']}, " if "called" in evidence else ""
        said = [f"{called}{evidence['leaves']} leaves compared"]
    return f": {'; '.join(said)}" if said else ""


def _counts(counts: Mapping[str, Any]) -> str:
    return ", ".join(f"{count} {name}" for name, count in counts.items() if count) or "nothing"


def _render_kept(record: Record) -> Iterator[str]:
    """The tensors that both sides keep for the backward pass, side by side."""
    evidence: Mapping[str, Any] = record.contract[CHECKPOINT].evidence if CHECKPOINT in record.contract else _NOTHING
    if "residuals" not in evidence or "oracle" not in evidence:
        return
    theirs: list[Mapping[str, Any]] = [*evidence["residuals"], *_unread(evidence)]
    ours: list[Mapping[str, Any]] = evidence["oracle"]["residuals"]
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("  implementation", "shape", "bytes", "  oracle", "shape", "bytes"):
        table.add_column(column, justify="right" if column == "bytes" else "left", no_wrap=True)
    for row in range(max(len(theirs), len(ours))):
        table.add_row(*_cells(theirs, row, "  "), *_cells(ours, row, "  "))
    table.add_row("  in all", "", _total(theirs), "  in all", "", _total(ours))
    same: bool = evidence["oracle"]["same_kept"]
    asked = sorted(str(tuple(tensor["shape"])) for tensor in evidence["saved_by_policy"])
    verdict = (
        f"both policies keep the same results: {', '.join(asked) or 'none'}"
        if same
        else "the policies keep results of different shapes"
    )
    yield f"kept for the backward pass ({verdict}; * by the policy)\n{_draw(table)}"


def _unread(evidence: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """What a policy asks to keep and the backward pass does not read, so that nobody keeps it."""
    kept = [(tensor["origin"], tuple(tensor["shape"])) for tensor in evidence["residuals"]]
    for tensor in evidence["saved_by_policy"]:
        key = (tensor["origin"], tuple(tensor["shape"]))
        if key in kept:
            kept.remove(key)
        else:
            yield {**tensor, "origin": f"{tensor['origin']}, never read", "bytes": 0}


def _cells(tensors: Sequence[Mapping[str, Any]], row: int, indent: str) -> list[str]:
    if row >= len(tensors):
        return ["", "", ""]
    tensor = tensors[row]
    star = " *" if tensor["by_policy"] else ""
    return [f"{indent}{tensor['origin']}{star}", str(tuple(tensor["shape"])), str(tensor["bytes"])]


def _total(tensors: Sequence[Mapping[str, Any]]) -> str:
    return str(sum(int(tensor["bytes"]) for tensor in tensors))


def _render_opinion(opinion: Mapping[str, Any]) -> Iterator[str]:
    if "failure" in opinion or not opinion:
        yield f"  none: {opinion.get('failure', 'it was not asked for')}"
        return
    for name, told in opinion["gradients"].items():
        if not told["known"]:
            yield f"  {name}: no opinion: the loss is not finite near any of {_count(told['elements'])}"
            continue
        where = element(name, told["index"])
        apart = abs(told["gradient"] - told["difference"])
        if told["disagree"]:
            yield (
                f"  {name}: {told['disagree']} of {told['elements']} elements are NOT the finite differences of the "
                f"oracle's own loss: the oracle is at fault. {where}: gradient {told['gradient']!r}, difference "
                f"{told['difference']!r} (error {told['error']:.1e})"
            )
        else:
            yield (
                f"  {name}: {_count(told['elements'])} equal the finite differences of the oracle's own loss; "
                f"the worst, {where}, is {apart:.1e} away (error {told['error']:.1e})"
            )


def _count(elements: int) -> str:
    return f"{elements} element{'' if elements == 1 else 's'}"


def _draw(table: Table) -> str:
    console = Console(file=io.StringIO(), width=_WIDTH, highlight=False)
    with console.capture() as capture:
        console.print(table)
    return "\n".join(line.rstrip() for line in capture.get().rstrip("\n").split("\n"))
