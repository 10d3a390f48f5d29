"""What the engine's tests share."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from miniatures import PROBLEM, MiniatureImplementationSide, MiniatureOracleSide

from conformance.results.record import Record
from conformance.running.runner import Runner, Settings
from conformance.values.case import Case, Rounding
from conformance.values.placement import Placement
from conformance.values.problem import Problem
from conformance.values.signature import load_signature


def make_case(fault: str = "", expected: Mapping[str, Any] | None = None, **fields: Any) -> Case:
    """The case of the miniature problem with that fault."""
    problem = Problem(
        "double",
        PROBLEM["title"],
        PROBLEM["statement"],
        {name: load_signature(node) for name, node in PROBLEM["inputs"].items()},
        load_signature(PROBLEM["outputs"]),
        PROBLEM["domain"],
        PROBLEM["contract"],
        Path("/nowhere"),
    )
    values: dict[str, Any] = {
        "name": "case",
        "why": "",
        "problem": problem,
        "group": "group",
        "inputs": {"x": np.float32([1.0, 2.0]), "fault": fault},
        "dims": {"N": 2},
        "expected": expected,
        "rounding": Rounding("decimals", 6) if expected else None,
        "uninformative": frozenset(),
        "allow_ties": False,
        "origin": {"kind": "written"},
        "content_hash": hashlib.sha256(repr((fault, expected)).encode()).hexdigest(),
        "file": Path("/nowhere/cases/double/group.json"),
        "line": 1,
    }
    return Case(**{**values, **fields})


@pytest.fixture
def verify() -> Callable[..., Record]:
    """A function that runs a case with a fault through the miniature sides and hands back its record."""
    runner = Runner(Settings(), MiniatureImplementationSide(), MiniatureOracleSide())
    runner.start()

    def verify(fault: str = "", **fields: Any) -> Record:
        case = make_case(fault, **fields)
        return runner.run(case, Placement("cpu", "jit"), "cases/double/group.json::case[cpu-jit]", "main")

    return verify
