"""Everything that can be found out about one case, beyond its verdict."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from conformance.errors import ConformanceError, NotProven
from conformance.results.record import Record
from conformance.running.neighbours import neighbours
from conformance.running.runner import Runner
from conformance.running.script import compose_script
from conformance.running.shrinking import shrink
from conformance.values.case import Case
from conformance.values.differences import Differences
from conformance.values.estimate import Estimation
from conformance.values.placement import Placement
from conformance.values.verdict import Cause, Verdict

KEY = "explanation"
"""Where a record's evidence has the explanation."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What an explanation is to have beside a second opinion on the oracle."""

    script: bool = False
    shrunk: bool = False


def explain(runner: Runner, case: Case, placement: Placement, node: str, worker: str, wanted: Wanted) -> Record:
    """The record of the case, with the explanation in its evidence: JSON alone.

    Raises:
        LoadError: the implementation or the oracle is not where it should be.
    """
    record = runner.run(case, placement, node, worker)
    # Asked before shrinking, whose many estimates push this one out.
    estimation = runner.estimation(case)
    found: dict[str, Any] = {"second_opinion": _ask_again(runner, case, estimation)}
    if wanted.script:
        found["script"] = _write_script(runner, case, placement, record, estimation)
    if wanted.shrunk:
        found["shrunk"] = _shrink(runner, case, placement, record, node, worker)
    return replace(record, evidence={**record.evidence, KEY: found})


def _ask_again(runner: Runner, case: Case, estimation: Estimation | NotProven) -> dict[str, Any]:
    if isinstance(estimation, NotProven):
        return {"failure": str(estimation)}
    try:
        found = runner.oracle(case.problem).differentiate(case.inputs, seed=case.seed)
    except NotProven as error:
        return {"failure": str(error)}
    if not found:
        return {"failure": "the problem's signature does not tell which output is the loss's gradient in which input"}
    return {"gradients": {name: _tell(differences) for name, differences in found.items()}}


def _tell(differences: Differences) -> Mapping[str, Any]:
    worst = differences.worst
    if not np.isfinite(differences.errors[worst]):
        return {"elements": len(differences.indices), "known": 0}
    return {
        "elements": len(differences.indices),
        "known": int(np.sum(np.isfinite(differences.errors))),
        "disagree": int(np.sum(differences.disagree)),
        "index": list(differences.indices[worst]),
        "gradient": float(differences.gradients[worst]),
        "difference": float(differences.differences[worst]),
        "error": float(differences.errors[worst]),
    }


def _write_script(
    runner: Runner, case: Case, placement: Placement, record: Record, estimation: Estimation | NotProven
) -> dict[str, str]:
    if isinstance(estimation, NotProven):
        return {"failure": f"there is no estimate to compare with: {estimation}"}
    rows: list[Mapping[str, Any]] = [case.inputs]
    own = 0
    if placement.mode == "vmap":
        first, second = neighbours(case)
        rows, own = [first, case.inputs, second], 1
    try:
        parts = [
            runner.implementation(case.problem).write_script(placement),
            runner.oracle(case.problem).write_script(),
        ]
    except (ConformanceError, OSError, SyntaxError) as error:
        return {"failure": f"its sources cannot be read: {error}"}
    return {"text": compose_script(case, record, estimation, rows, own, parts)}


def _shrink(runner: Runner, case: Case, placement: Placement, record: Record, node: str, worker: str) -> dict[str, Any]:
    if record.verdict is Verdict.AGREE:
        return {"failure": "the case agrees: there is no failure to keep while it gets smaller"}
    if record.cause in (Cause.DOCUMENTED, Cause.ORACLE):
        return {"failure": "the documented value belongs to these inputs alone"}
    if record.verdict is Verdict.NOT_PROVEN:
        return {"failure": "the case is not proven: there is no failure of the implementation to keep"}
    shrunk = shrink(case, record, lambda candidate: runner.run(candidate, placement, node, worker))
    return {"text": shrunk.text, "tried": shrunk.tried, "dims": dict(shrunk.case.dims)}
