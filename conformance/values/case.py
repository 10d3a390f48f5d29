"""A case: one set of inputs of a problem, with optional documented outputs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from conformance.values.problem import Problem


@dataclass(frozen=True, slots=True)
class Rounding:
    """How documented values were rounded: to a number of decimals, or of significant digits."""

    kind: str
    count: int


@dataclass(frozen=True, slots=True)
class Case:
    """One case of a file, checked against its problem.

    `inputs` holds, by name, trees whose leaves are NumPy arrays of the declared dtype, Python floats, static values and
    seeds. `expected` holds documented values by quantity, as float64 arrays (integers and booleans in their own
    type), or None. `content_hash` is the SHA-256 of everything that decides the verdict: problem name, inputs,
    expected, rounding and declarations. `line` is where the case stands in `file`.
    """

    name: str
    why: str
    problem: Problem
    group: str
    inputs: Mapping[str, Any]
    dims: Mapping[str, int]
    expected: Mapping[str, Any] | None
    rounding: Rounding | None
    uninformative: frozenset[str]
    allow_ties: bool
    origin: Mapping[str, Any]
    content_hash: str
    file: Path
    line: int

    @property
    def id(self) -> str:
        """``<problem>/<group>/<name>``."""
        return f"{self.problem.name}/{self.group}/{self.name}"

    @property
    def seed(self) -> int:
        """A 63-bit seed drawn from the content, so that no verdict depends on luck or order."""
        return int(self.content_hash[:16], 16) >> 1
