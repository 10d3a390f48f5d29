"""What is known of a contract's clause: whether it was kept, and the evidence for that."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

RETURNS = "returns"
DIFFERENTIATED_WITH = "differentiated_with"
INPUTS_UNCHANGED = "inputs_unchanged"
CHECKPOINT = "checkpoint"


class Status(StrEnum):
    """What was found of a clause."""

    KEPT = "kept"
    BROKEN = "broken"
    NOT_PROVEN = "not-proven"
    NOT_CHECKED = "not-checked"


@dataclass(frozen=True, slots=True)
class Finding:
    """What was found of one clause: `messages` say what is broken or why it could not be judged; both may be many."""

    status: Status
    messages: Sequence[str] = ()
    evidence: Mapping[str, Any] = field(default_factory=dict[str, Any])

    def to_json(self) -> dict[str, Any]:
        """The finding as a JSON object."""
        return {"status": self.status.value, "messages": list(self.messages), "evidence": dict(self.evidence)}

    @classmethod
    def from_json(cls, node: Mapping[str, Any]) -> Finding:
        """The finding that `to_json` wrote."""
        return cls(Status(node["status"]), node["messages"], node["evidence"])


@dataclass(frozen=True, slots=True)
class KeptTensor:
    """A tensor that stays alive from the forward to the backward pass.

    `origin` is the operation that made it, as a contract names it (``dot_general``), or the input that it is
    (``input params.w1``); `by_policy` tells that a checkpoint's policy asked for it.
    """

    origin: str
    shape: tuple[int, ...]
    dtype: str
    item_bytes: int
    by_policy: bool = False

    @property
    def bytes(self) -> int:
        """The tensor's size in bytes."""
        return math.prod(self.shape) * self.item_bytes

    def to_json(self) -> dict[str, Any]:
        """The tensor as a JSON object."""
        return {
            "origin": self.origin,
            "shape": list(self.shape),
            "dtype": self.dtype,
            "bytes": self.bytes,
            "by_policy": self.by_policy,
        }
