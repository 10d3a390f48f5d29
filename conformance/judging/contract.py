"""The clauses of a contract as faults of a case, and the oracle's side of the clause ``checkpoint``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from conformance.values.contract import CHECKPOINT, RETURNS, Finding, Status
from conformance.values.estimate import Estimation
from conformance.values.verdict import Fault, Verdict

_VERDICTS = {Status.BROKEN: Verdict.CONTRACT_BROKEN, Status.NOT_PROVEN: Verdict.NOT_PROVEN}


def judge_contract(findings: Mapping[str, Finding]) -> list[Fault]:
    """A fault for each message of each clause that is broken or could not be judged.

    Those of `returns` are left to the comparison of the structure, which names the quantities.
    """
    return [
        Fault(_VERDICTS[finding.status], message, clause=clause)
        for clause, finding in findings.items()
        if clause != RETURNS and finding.status in _VERDICTS
        for message in finding.messages
    ]


def leave_unproven(findings: Mapping[str, Finding]) -> dict[str, Finding]:
    """The findings where nothing came back: what could not be judged then was not checked, as the error tells why."""
    return {
        clause: replace(finding, status=Status.NOT_CHECKED) if finding.status is Status.NOT_PROVEN else finding
        for clause, finding in findings.items()
    }


def mirror_checkpoint(contract: Mapping[str, Any], finding: Finding, estimation: Estimation) -> Finding:
    """The finding of the clause ``checkpoint`` with the oracle's own checkpoint beside it.

    Both are to keep the same: as many results of the operations in `saves`, none of them computed again, and everything
    in `recomputes` computed again. An oracle that does not is no mirror image: the clause is not proven then.
    """
    clause: Mapping[str, Any] = contract[CHECKPOINT]
    saved, recomputed = (_by_primitive(counts, estimation) for counts in (estimation.saved, estimation.recomputed))
    faults = list(_unmirrored(clause, saved, recomputed))
    mirror = {
        "saved": dict(estimation.saved),
        "recomputed": dict(estimation.recomputed),
        "residuals": [tensor.to_json() for tensor in estimation.kept],
        "same_kept": _same_kept(finding, estimation),
    }
    evidence = {**finding.evidence, "oracle": mirror}
    if not faults:
        return replace(finding, evidence=evidence)
    status = Status.NOT_PROVEN if finding.status is Status.KEPT else finding.status
    return Finding(status, (*finding.messages, *faults), evidence)


def _by_primitive(counts: Mapping[str, int], estimation: Estimation) -> Counter[str]:
    found: Counter[str] = Counter()
    for operation, count in counts.items():
        found[estimation.primitives.get(operation, operation)] += count
    return found


def _unmirrored(clause: Mapping[str, Any], saved: Counter[str], recomputed: Counter[str]) -> Iterator[str]:
    for name, number in clause.get("saves", {}).items():
        if saved[name] != number or recomputed[name]:
            yield (
                f"the oracle is no mirror image: its checkpoint keeps {saved[name]} and recomputes {recomputed[name]} "
                f"results of {name}; wanted {number} kept and none recomputed"
            )
    for name in clause.get("recomputes", []):
        if not recomputed[name]:
            yield f"the oracle is no mirror image: its checkpoint does not recompute {name}"


def _same_kept(finding: Finding, estimation: Estimation) -> bool:
    """Whether both sides' policies keep tensors of the same shapes."""
    theirs = sorted(tuple(tensor["shape"]) for tensor in finding.evidence.get("saved_by_policy", []))
    return theirs == sorted(tensor.shape for tensor in estimation.kept if tensor.by_policy)
