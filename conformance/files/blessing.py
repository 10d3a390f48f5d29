"""Expected values, written into a case file that otherwise stays as it was, byte for byte."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from conformance.files.case_writer import Numbers, render_values
from conformance.files.document import Document
from conformance.values.arithmetic import ROUNDED_TO_ZERO
from conformance.values.case import Rounding
from conformance.values.signature import Leaf, Signature
from conformance.values.tree import leaves, map_leaves

USUAL = Rounding("significant", 6)
"""How values are rounded in a file that does not say."""


@dataclass(frozen=True, slots=True)
class _Edit:
    """New text for the bytes from `start` to `end`."""

    start: int
    end: int
    text: str


def round_value(value: float, rounding: Rounding) -> float:
    """The number that `value` is documented as; never a negative zero, and 0 where float32 has no other number."""
    if abs(value) <= ROUNDED_TO_ZERO:
        return 0.0
    if rounding.kind == "decimals":
        return round(value, rounding.count) + 0.0
    return float(f"{value:.{max(0, rounding.count - 1)}e}") + 0.0


def write_expected(
    document: Document, outputs: Signature, values: Mapping[int, Mapping[str, NDArray[Any]]], rounding: Rounding
) -> bytes:
    """The file's bytes with the quantities in `values`, by the case's number, as its `expected`.

    What was expected before is replaced, and what was not is put behind `inputs`; a file without `rounding` is given
    one before its cases.
    """
    data = document.text.encode()
    edits: list[_Edit] = []
    if "rounding" not in document.value:
        start, _ = document.key_span(("cases",))
        text = f'"rounding": {{"{rounding.kind}": {rounding.count}}},{_newline(data, start)}'
        edits.append(_Edit(start, start, text))
    for number, quantities in values.items():
        case = ("cases", number)
        tree = _shape(outputs, quantities, rounding)
        if "expected" in document.value["cases"][number]:
            start, end = document.span((*case, "expected"))
            key, _ = document.key_span((*case, "expected"))
            edits.append(_Edit(start, end, render_values(tree, _indent(data, key))))
        else:
            key, end = document.key_span((*case, "inputs"))
            text = render_values(tree, _indent(data, key))
            edits.append(_Edit(end, end, f',{_newline(data, key) or " "}"expected": {text}'))
    for edit in sorted(edits, key=lambda edit: edit.start, reverse=True):
        data = data[: edit.start] + edit.text.encode() + data[edit.end :]
    return data


def _shape(outputs: Signature, quantities: Mapping[str, NDArray[Any]], rounding: Rounding) -> Any:
    names = iter([name for name, _ in leaves(outputs)])

    def write(_leaf: Leaf) -> Numbers:
        return Numbers(_write(quantities[next(names)], rounding))

    return map_leaves(write, outputs)


def _write(array: NDArray[Any], rounding: Rounding) -> str:
    if array.ndim:
        return "[" + ", ".join(_write(np.asarray(part), rounding) for part in array) + "]"
    number = array.item()
    if isinstance(number, bool):
        return "true" if number else "false"
    return repr(round_value(number, rounding)) if isinstance(number, float) else str(number)


def _line_start(data: bytes, offset: int) -> bytes:
    return data[data.rfind(b"\n", 0, offset) + 1 : offset]


def _newline(data: bytes, offset: int) -> str:
    """A line's end and the indentation of the key at `offset`; nothing where it does not begin its line."""
    before = _line_start(data, offset)
    if before.strip():
        return ""
    end = "\r\n" if data.rfind(b"\r\n", 0, offset) >= 0 else "\n"
    return end + before.decode()


def _indent(data: bytes, offset: int) -> int:
    return len(_line_start(data, offset).decode()) - len(_line_start(data, offset).decode().lstrip())
