"""The hash of all that decides a case's verdict, and of nothing else."""

from __future__ import annotations

import hashlib
import json
import struct
import sys
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from conformance.files.case_reader import Content
from conformance.values.case import Rounding
from conformance.values.tree import leaves


def hash_content(problem: str, content: Content, rounding: Rounding | None, case: Mapping[str, Any]) -> str:
    """The SHA-256 of problem name, inputs, expected values and declarations, in sorted order.

    Each leaf is a line of JSON with its name, type and shape, then its numbers as they lie in memory, little-endian.
    Text and integers, which have no width of their own, stand in their line.
    """
    expected = content.expected
    about = (problem, None if expected is None else rounding, *sorted(case.get("uninformative", ())), case.get("ties"))
    parts = [_declare(*about)]
    for values in (dict(leaves(content.inputs)), expected or {}):
        parts.append(b"\n")
        for name in sorted(values):
            parts += _write(name, values[name])
    return hashlib.sha256(b"".join(parts)).hexdigest()


def _write(name: str, value: Any) -> tuple[bytes, ...]:
    if isinstance(value, np.ndarray):
        array: NDArray[Any] = value.byteswap() if sys.byteorder == "big" else value
        return _describe(name, value.dtype, value.shape), array.tobytes()
    if isinstance(value, float):
        return _describe(name, np.dtype(float), ()), struct.pack("<d", value)
    return (_line(name, type(value).__name__, value),)


@lru_cache(1024)
def _declare(problem: str, rounding: Rounding | None, *declarations: str | None) -> bytes:
    return _line(problem, rounding and [rounding.kind, rounding.count], declarations)


@lru_cache(1024)
def _describe(name: str, dtype: np.dtype[Any], shape: tuple[int, ...]) -> bytes:
    return _line(name, dtype.name, shape)


def _line(*values: Any) -> bytes:
    return json.dumps(values).encode() + b"\n"
