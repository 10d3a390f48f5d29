"""Why an implementation disagrees: its mathematics, or the arithmetic that it ran in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from conformance.judging.standardised import LIMIT, standardise
from conformance.values.estimate import Estimate, Estimation
from conformance.values.evaluation import Evaluation, Returned
from conformance.values.tree import leaves
from conformance.values.verdict import Cause, Fault, Verdict

FLOAT64_LIMIT = 1.0
"""In the sigma of the placement, not of float64: a Python scalar, a cast inside or a series good to 1e-8 is no wrong
mathematics."""


@dataclass(frozen=True, slots=True)
class Again:
    """What came of running a case again, or why it could not be run."""

    evaluation: Evaluation | None
    failure: str = ""


def needs_cause(fault: Fault) -> bool:
    """Whether a fault is a disagreement whose cause is not known yet."""
    return fault.verdict is Verdict.DISAGREE and fault.cause is None and fault.quantity is not None


def find_causes(faults: Sequence[Fault], estimation: Estimation, wide: Again, on_cpu: Again | None) -> list[Fault]:
    """The faults, each disagreement with its cause.

    `wide` is the same implementation in float64 on CPU; `on_cpu` the same in its own precision there, None where that
    is where it ran in the first place.
    """
    return [
        _explain(fault, estimation.quantities[str(fault.quantity)], wide, on_cpu) if needs_cause(fault) else fault
        for fault in faults
    ]


def _explain(fault: Fault, estimate: Estimate, wide: Again, on_cpu: Again | None) -> Fault:
    quantity = str(fault.quantity)
    detail = dict(fault.detail)
    cause: Cause | None = None
    got = _find(wide, quantity, estimate)
    if got is None:
        detail["undecided"] = wide.failure or f"in float64 nothing comparable came back for {quantity}"
    else:
        z = standardise(got, estimate).largest
        detail["float64_z"] = z
        narrow: Sequence[str] = wide.evaluation.narrow if wide.evaluation is not None else ()
        if z <= FLOAT64_LIMIT:
            cause = Cause.ARITHMETIC
        elif narrow:
            detail["undecided"] = f"a shorter format than float64 remains inside ({', '.join(narrow)})"
        else:
            cause = Cause.FORMULA
    if on_cpu is not None:
        there = _find(on_cpu, quantity, estimate)
        if there is not None:
            agrees = standardise(there, estimate).largest <= LIMIT
            detail["on_cpu"] = "agrees, so the device differs" if agrees else "disagrees too, so it is not the device"
        else:
            detail["on_cpu"] = on_cpu.failure or "nothing comparable came back"
    return replace(fault, cause=cause, detail=detail)


def _find(again: Again, quantity: str, estimate: Estimate) -> NDArray[Any] | None:
    if again.evaluation is None:
        return None
    returned: Mapping[str, Any] = dict(leaves(again.evaluation.outputs))
    leaf = returned.get(quantity)
    if not isinstance(leaf, Returned) or leaf.array is None or leaf.array.shape != np.shape(estimate.value):
        return None
    return leaf.array
