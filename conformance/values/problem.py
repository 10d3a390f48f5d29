"""A problem: a mathematical task with named inputs and outputs, as its problem.json declares it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from conformance.values.signature import Signature


@dataclass(frozen=True, slots=True)
class Problem:
    """One problem of a root.

    `root` is the folder that holds ``cases/``, ``jax_impl/`` and ``torch_oracle/``; `domain` and `contract` are the
    parsed JSON objects of problem.json.
    """

    name: str
    title: str
    statement: str
    inputs: Mapping[str, Signature]
    outputs: Signature
    domain: Mapping[str, Any]
    contract: Mapping[str, Any]
    root: Path
