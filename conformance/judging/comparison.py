"""Compares what an implementation returned with the oracle's estimate and with the documented values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from conformance.judging.documented import differs, unit_of
from conformance.judging.standardised import LIMIT, Standardised, standardise
from conformance.values.case import Case
from conformance.values.estimate import Estimate, Estimation
from conformance.values.evaluation import Returned
from conformance.values.verdict import Cause, Fault, Verdict


@dataclass(frozen=True, slots=True)
class Compared:
    """One quantity, side by side; `got` and `standardised` are None where nothing comparable came back."""

    estimate: Estimate
    got: NDArray[Any] | None = None
    standardised: Standardised | None = None


def compare(
    case: Case, leaves: Mapping[str, Returned], estimation: Estimation
) -> tuple[dict[str, Compared], list[Fault]]:
    """Every quantity of the estimate beside the leaf that was returned for it, and all disagreements."""
    compared: dict[str, Compared] = {}
    faults: list[Fault] = []
    for quantity, estimate in estimation.quantities.items():
        leaf = leaves.get(quantity)
        got = None if leaf is None else leaf.array
        standardised = None if got is None else standardise(got, estimate)
        compared[quantity] = Compared(estimate, got, standardised)
        documented = None if case.expected is None else case.expected.get(quantity)
        if got is not None and standardised is not None and not standardised.agrees:
            faults.append(_disagreement(case, quantity, got, estimate, standardised, documented))
        elif documented is not None:
            faults.extend(_stale(case, quantity, estimate, documented))
    return compared, faults


def _disagreement(
    case: Case,
    quantity: str,
    got: NDArray[Any],
    estimate: Estimate,
    standardised: Standardised,
    documented: NDArray[Any] | None,
) -> Fault:
    where = standardised.where
    value = estimate.value[where]
    sigma = None if estimate.sigma is None else float(estimate.sigma[where])
    wrong = int(np.sum(~(standardised.z <= LIMIT)))
    detail = {
        "index": list(where),
        "got": got[where].item(),
        "value": value.item(),
        "sigma": sigma,
        "z": standardised.largest,
        "limit": LIMIT,
        "elements_wrong": wrong,
        "elements": int(got.size),
    }
    if documented is not None:
        detail["documented"] = documented[where].item()
    finite = np.isfinite(got[where]) or not np.isfinite(value)
    kind = (
        f"z {standardised.largest:.3g} is above the limit {LIMIT:g}" if finite else f"{got[where].item()} is not finite"
    )
    if sigma is None:
        kind = "differs from the exact value"
    cause = _cause(case, got, estimate, documented)
    return Fault(Verdict.DISAGREE, f"{kind}; {wrong} of {got.size} elements wrong", quantity, cause, detail=detail)


def _cause(case: Case, got: NDArray[Any], estimate: Estimate, documented: NDArray[Any] | None) -> Cause | None:
    """`oracle` where the implementation meets the documented value and the oracle does not."""
    if documented is None or case.rounding is None or not np.any(differs(estimate.value, documented, case.rounding)):
        return None
    sigma = 0.0 if estimate.sigma is None else estimate.sigma
    reach = 0.5 * unit_of(documented, case.rounding) + LIMIT * sigma
    return Cause.ORACLE if np.all(np.abs(got.astype(np.float64) - documented) <= reach) else None


def _stale(case: Case, quantity: str, estimate: Estimate, documented: NDArray[Any]) -> list[Fault]:
    if case.rounding is None:
        return []
    wrong = differs(estimate.value, documented, case.rounding)
    if not np.any(wrong):
        return []
    where = tuple(int(i) for i in np.argwhere(wrong)[0])
    detail = {
        "index": list(where),
        "value": estimate.value[where].item(),
        "documented": documented[where].item(),
        "elements_wrong": int(np.sum(wrong)),
        "elements": int(wrong.size),
    }
    message = (
        f"the documented value does not equal the oracle's to {case.rounding.count} {case.rounding.kind}"
        f"; {np.sum(wrong)} of {wrong.size} elements stale"
    )
    return [Fault(Verdict.DISAGREE, message, quantity, Cause.DOCUMENTED, detail=detail)]
