"""A stand-alone script that reproduces a case: it needs the two frameworks and NumPy, and nothing of this project."""

from __future__ import annotations

import base64
import inspect
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from conformance.judging.standardised import LIMIT
from conformance.results.record import Record
from conformance.running import standalone
from conformance.values.case import Case
from conformance.values.estimate import Estimation
from conformance.values.kinds import is_dict, is_sequence
from conformance.values.script import ScriptPart, Source
from conformance.values.signature import ArrayLeaf, FloatLeaf, KeyLeaf
from conformance.values.tree import leaves

_QUOTES = "'''"


def compose_script(
    case: Case,
    record: Record,
    estimation: Estimation,
    rows: Sequence[Mapping[str, Any]],
    own: int,
    parts: Sequence[ScriptPart],
) -> str:
    """The text of the script: inputs, both sides' parts with their sources, and the comparison.

    `rows` are the inputs of the whole batch, of which the case is the one numbered `own`.
    """
    static, keys = _passed(case, record)
    sources = {name: source for part in parts for name, source in part.sources.items()}
    sigma = {name: estimate.sigma for name, estimate in estimation.quantities.items() if estimate.sigma is not None}
    about = [
        f"case            {case.id} (content {case.content_hash[:16]})",
        f"placement       {record.placement}",
        f"implementation  {record.implementation}",
        f"verdict         {record.verdict}" + (f" ({record.cause})" if record.cause else ""),
        "",
        "It compares numbers; a contract is not looked at here.",
    ]
    head = [
        '"""Reproduces one case without the project that it comes from; needs jax, torch and numpy.',
        "",
        *(line.replace("\\", "\\\\").replace('"', '\\"') for line in about),
        '"""',
        inspect.getsource(standalone).partition('"""\n')[2],
        "",
        "# Inputs: one row, or three of a batch.",
        f"ROWS = [{', '.join(_literal(dict(row), 0) for row in rows)}]",
        f"STATIC = {static!r}",
        f"NOTE = {_note(record)!r}",
        f"KEYS = {keys!r}",
        "# The standard deviation of each quantity's rounding errors, as the oracle estimated it.",
        f"SIGMA = {_literal(sigma, 0)}",
        f"SOURCES = {{{''.join(_source(name, source) for name, source in sources.items())}\n}}",
        "sys.meta_path.insert(0, Sources(SOURCES))",
        "provide_annotations()",
        "",
    ]
    tail = [
        "",
        'if __name__ == "__main__":',
        f"    got, value = run_implementation(ROWS, STATIC, KEYS), run_oracle(ROWS[{own}])",
        f"    sys.exit(report(got, value, SIGMA, {LIMIT!r}, NOTE))",
        "",
    ]
    return "\n".join([*head, *(f"\n{part.code}" for part in parts), *tail])


def _note(record: Record) -> str:
    """What the script cannot show of a record."""
    broken = sorted({fault.clause for fault in record.faults if fault.clause})
    return f"not looked at here, but found: {', '.join(broken)} of the contract" if broken else ""


def _passed(case: Case, record: Record) -> tuple[list[str], list[str]]:
    """The leaves that are not traced, and those that are keys."""
    how = record.evidence.get("arguments", {})
    named = dict(leaves(dict(case.problem.inputs)))
    keys = [path for path, leaf in named.items() if isinstance(leaf, KeyLeaf)]
    static = [
        path
        for path, leaf in named.items()
        if not isinstance(leaf, ArrayLeaf | KeyLeaf) and (not isinstance(leaf, FloatLeaf) or how.get(path) == "static")
    ]
    return static, keys


def _literal(node: Any, indent: int) -> str:
    """A tree as a Python expression that gives the same bits."""
    if is_dict(node):
        inner = " " * (indent + 4)
        parts = [f"{inner}{name!r}: {_literal(child, indent + 4)},\n" for name, child in node.items()]
        return "{\n" + "".join(parts) + " " * indent + "}"
    if is_sequence(node):
        inside = "".join(f"{_literal(child, indent)}, " for child in node)
        return f"[{inside}]" if isinstance(node, list) else f"({inside})"
    if isinstance(node, np.ndarray | np.generic):
        value = np.asarray(node)
        little = value.dtype.newbyteorder("<")
        text = base64.b64encode(np.ascontiguousarray(value).astype(little).tobytes()).decode()
        shape = "".join(f", {size}" for size in value.shape)
        return f'array("{text}", "{little.str}"{shape})'
    return repr(node)


def _source(name: str, source: Source) -> str:
    plain = _QUOTES not in source.text and not source.text.endswith(("'", "\\"))
    text = f"r{_QUOTES}{source.text}{_QUOTES}" if plain else repr(source.text)
    return f"\n    {name!r}: ({source.file!r}, {source.is_package}, {text}),"
