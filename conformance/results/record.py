"""The record of one case at one placement: all that is needed to show it again, compare it and reproduce it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from conformance.judging.comparison import Compared
from conformance.results.encoding import decode_number, encode_array
from conformance.values.contract import Finding
from conformance.values.estimate import RESOLVED_DIGITS
from conformance.values.placement import Placement
from conformance.values.verdict import Cause, Fault, Verdict, decide, exit_code


@dataclass(frozen=True, slots=True)
class Quantity:
    """What a record holds of one quantity: figures, and the arrays as `encode_array` writes them."""

    digits: float
    largest_z: float | None = None
    rms_z: float | None = None
    where: tuple[int, ...] = ()
    arrays: Mapping[str, Any] = field(default_factory=dict[str, Any])

    @property
    def resolved(self) -> bool:
        """Whether the quantity can tell a right answer from a wrong one."""
        return self.digits >= RESOLVED_DIGITS

    @classmethod
    def of(cls, compared: Compared) -> Quantity:
        """The record of a quantity that was estimated, and compared where something came back."""
        arrays = {"value": encode_array(compared.estimate.value)}
        if compared.estimate.sigma is not None:
            arrays["sigma"] = encode_array(compared.estimate.sigma)
        if compared.got is None or compared.standardised is None:
            return cls(compared.estimate.digits, arrays=arrays)
        arrays["got"] = encode_array(compared.got)
        z = compared.standardised
        return cls(compared.estimate.digits, z.largest, z.rms, z.where, arrays)

    def to_json(self) -> dict[str, Any]:
        """The quantity as a JSON object."""
        return {
            **self.arrays,
            "largest_z": self.largest_z,
            "rms_z": self.rms_z,
            "where": list(self.where),
            "digits": self.digits,
            "resolved": self.resolved,
        }

    @classmethod
    def from_json(cls, node: Mapping[str, Any]) -> Quantity:
        """The quantity that `to_json` wrote."""
        arrays = {name: node[name] for name in ("got", "value", "sigma") if name in node}
        largest, rms = (None if node[name] is None else decode_number(node[name]) for name in ("largest_z", "rms_z"))
        return cls(decode_number(node["digits"]), largest, rms, tuple(node["where"]), arrays)


def exit_code_of(records: Iterable[Record]) -> int:
    """2 where a case was rejected, else as the verdicts say."""
    found = list(records)
    return 2 if any(record.rejected for record in found) else exit_code(record.verdict for record in found)


@dataclass(frozen=True, slots=True)
class Record:
    """The verdict on a case at a placement, with everything it rests on.

    `node` is the item's test id; `hash` the case's content hash; `evidence` says on which device each leaf lay, which
    process did the work, and when.
    """

    node: str
    case: str
    hash: str
    placement: Placement
    implementation: str
    faults: Sequence[Fault] = ()
    quantities: Mapping[str, Quantity] = field(default_factory=dict[str, Quantity])
    uninformative: frozenset[str] = frozenset()
    contract: Mapping[str, Finding] = field(default_factory=dict[str, Finding])
    evidence: Mapping[str, Any] = field(default_factory=dict[str, Any])

    @property
    def verdict(self) -> Verdict:
        """The first verdict, by precedence, that the faults add up to."""
        return decide(self.faults)[0]

    @property
    def cause(self) -> Cause | None:
        """The cause of that verdict, where one is known."""
        return decide(self.faults)[1]

    @property
    def rejected(self) -> bool:
        """Whether the case itself is bad input: no implementation could return its true outputs."""
        return any(fault.detail.get("rejected") for fault in self.faults)

    @property
    def problem(self) -> str:
        """The problem's name."""
        return self.case.split("/", 1)[0]

    @property
    def largest_z(self) -> float | None:
        """The largest z of all quantities; None where nothing was compared."""
        return max((q.largest_z for q in self.quantities.values() if q.largest_z is not None), default=None)

    def to_json(self) -> dict[str, Any]:
        """The record as a JSON object, `"kind": "record"`."""
        return {
            "kind": "record",
            "node": self.node,
            "case": self.case,
            "hash": self.hash,
            "placement": {
                "platform": self.placement.platform,
                "mode": self.placement.mode,
                "precision": self.placement.precision,
            },
            "implementation": self.implementation,
            "verdict": self.verdict.value,
            "cause": self.cause.value if self.cause else None,
            "faults": [fault.to_json() for fault in self.faults],
            "quantities": {name: quantity.to_json() for name, quantity in self.quantities.items()},
            "uninformative": sorted(self.uninformative),
            "contract": {clause: finding.to_json() for clause, finding in self.contract.items()},
            "evidence": dict(self.evidence),
        }

    @classmethod
    def from_json(cls, node: Mapping[str, Any]) -> Record:
        """The record that `to_json` wrote."""
        return cls(
            node["node"],
            node["case"],
            node["hash"],
            Placement(**node["placement"]),
            node["implementation"],
            [Fault.from_json(fault) for fault in node["faults"]],
            {name: Quantity.from_json(quantity) for name, quantity in node["quantities"].items()},
            frozenset(node["uninformative"]),
            {clause: Finding.from_json(finding) for clause, finding in node["contract"].items()},
            node["evidence"],
        )
