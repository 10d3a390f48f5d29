"""The verdict on a case: which one, why, and all that was found wrong."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any


class Verdict(StrEnum):
    """What is said of a case at a placement."""

    AGREE = "agree"
    ERROR = "error"
    DISAGREE = "disagree"
    CONTRACT_BROKEN = "contract-broken"
    NOT_PROVEN = "not-proven"


class Cause(StrEnum):
    """Why an implementation and the oracle, or the oracle and a documented value, disagree."""

    FORMULA = "formula"
    ARITHMETIC = "arithmetic"
    DOCUMENTED = "documented"
    ORACLE = "oracle"


PRECEDENCE = (Verdict.ERROR, Verdict.DISAGREE, Verdict.CONTRACT_BROKEN, Verdict.NOT_PROVEN)
"""Where several verdicts hold, a case gets the first of these."""


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that was found wrong.

    `clause` names the broken clause of the contract; `detail` holds figures, such as the element's index, got, value,
    sigma and z.
    """

    verdict: Verdict
    message: str
    quantity: str | None = None
    cause: Cause | None = None
    clause: str | None = None
    detail: Mapping[str, Any] = field(default_factory=dict[str, Any])

    def to_json(self) -> dict[str, Any]:
        """The fault as a JSON object, without what is empty."""
        return {name: value for name, value in asdict(self).items() if value not in (None, {})}

    @classmethod
    def from_json(cls, node: Mapping[str, Any]) -> Fault:
        """The fault that `to_json` wrote."""
        cause = node.get("cause")
        return cls(
            Verdict(node["verdict"]),
            node["message"],
            node.get("quantity"),
            Cause(cause) if cause else None,
            node.get("clause"),
            node.get("detail", {}),
        )


def decide(faults: Iterable[Fault]) -> tuple[Verdict, Cause | None]:
    """The verdict that `faults` add up to, and its cause where one is known."""
    found = list(faults)
    for verdict in PRECEDENCE:
        same = [fault for fault in found if fault.verdict is verdict]
        if same:
            return verdict, next((fault.cause for fault in same if fault.cause), None)
    return Verdict.AGREE, None


def exit_code(verdicts: Iterable[Verdict]) -> int:
    """0 where all agree, 1 for a disagreement, a broken contract or an error, else 3; 3 where there is no verdict."""
    found = set(verdicts)
    if found & {Verdict.ERROR, Verdict.DISAGREE, Verdict.CONTRACT_BROKEN}:
        return 1
    return 0 if found == {Verdict.AGREE} else 3
