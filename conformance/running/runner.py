"""Runs one case at one placement through both sides, and says what came of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from conformance.errors import CaseRejected, ImplementationFault, NotProven, OracleFault
from conformance.judging.causes import Again, find_causes, needs_cause
from conformance.judging.comparison import Compared, compare
from conformance.judging.contract import judge_contract, leave_unproven, mirror_checkpoint
from conformance.judging.structure import check_structure
from conformance.results.record import Quantity, Record
from conformance.running.neighbours import neighbours
from conformance.sides import Implementation, ImplementationSide, Oracle, OracleSide
from conformance.values.arithmetic import Arithmetic, find_arithmetic
from conformance.values.case import Case
from conformance.values.contract import CHECKPOINT, RETURNS, Finding, Status
from conformance.values.estimate import Estimation
from conformance.values.evaluation import Evaluation
from conformance.values.placement import Placement
from conformance.values.problem import Problem
from conformance.values.verdict import Fault, Verdict

RUNS = 32
RUNS_LARGE = 64
LARGE = 100_000
"""Above so many elements of inputs the largest of all z needs a better sigma, hence `RUNS_LARGE` runs."""
_KEPT = 64
"""Estimates that are kept at most: the modes of a case follow each other."""


@dataclass(frozen=True, slots=True)
class Settings:
    """What a run was asked to do; `implementation` and `returns` are those of the command line."""

    platform: str = "cpu"
    precision: str = "highest"
    implementation: str | None = None
    returns: tuple[str, ...] | None = None
    threads: int = 1


@dataclass(slots=True)
class Runner:
    """Both sides, started, with what they have loaded so far.

    `on_waiting` hears of each item whose implementation has answered: from there on the time is the oracle's.
    """

    settings: Settings
    implementation_side: ImplementationSide
    oracle_side: OracleSide
    on_waiting: Callable[[str], None] = lambda _node: None
    # The oracle is asked in a thread of its own, while the implementation's programs are compiled.
    _oracle_thread: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(1, "oracle"))
    _implementations: dict[str, Implementation] = field(default_factory=dict[str, Implementation])
    _oracles: dict[str, Oracle] = field(default_factory=dict[str, Oracle])
    _estimations: dict[tuple[str, str], Estimation | NotProven] = field(
        default_factory=dict[tuple[str, str], Estimation | NotProven]
    )

    @property
    def arithmetic(self) -> Arithmetic:
        """The arithmetic of the placements of this run.

        Raises:
            NotProven: none has been established for them.
        """
        found = find_arithmetic(self.settings.platform, self.settings.precision)
        if found is None:
            raise NotProven(
                f"running on {self.settings.platform} at precision {self.settings.precision}: its arithmetic has not "
                "been established, so no tolerance can be derived; use --platform cpu"
            )
        return found

    def start(self) -> dict[str, Any]:
        """The header of the results: versions, platform, devices, arithmetic and settings, with both sides started.

        Raises:
            NotProven: a framework or device is missing.
        """
        arithmetic = self.arithmetic
        oracle_start = self._oracle_thread.submit(self.oracle_side.start, self.settings.threads)
        implementation = dict(self.implementation_side.start(self.settings.platform))
        oracle = dict(oracle_start.result())
        return {
            "platform": self.settings.platform,
            "precision": self.settings.precision,
            "implementation": implementation,
            "oracle": oracle,
            "arithmetic": {
                "name": arithmetic.name,
                "unit_roundoff": arithmetic.unit_roundoff,
                "operand_roundoff": arithmetic.operand_roundoff,
                "underflow": arithmetic.underflow,
                "accuracy": dict(arithmetic.accuracy),
            },
            "runs": {"up to": LARGE, "runs": RUNS, "above": RUNS_LARGE},
            "seed": "the case's content hash",
            "threads": self.settings.threads,
        }

    def run(self, case: Case, placement: Placement, node: str, worker: str) -> Record:
        """The record of `case` at `placement`; `node` is its test id, `worker` the process that runs it.

        Raises:
            LoadError: the implementation or the oracle is not where it should be.
        """
        started = datetime.now(UTC)
        faults: list[Fault] = []
        estimating = self._oracle_thread.submit(self._estimate, case)
        # Before the evaluation: what JAX has traced once it does not call again.
        contract = self._check_contract(case, placement)
        evaluation = self._evaluate(case, placement, faults)
        self.on_waiting(node)
        estimation = self._judgeable(estimating.result(), faults)
        compared: dict[str, Compared] = {}
        leaves: Mapping[str, Any] = {}
        evidence: dict[str, Any] = {"worker": worker, "start": started.isoformat()}
        if evaluation is not None:
            kind = self.implementation_side.array_kind
            structure = check_structure(evaluation.outputs, case.problem.outputs, case.dims, kind)
            leaves = structure.leaves
            faults += structure.faults
            contract[RETURNS] = Finding(
                Status.BROKEN if structure.faults else Status.KEPT,
                [f"{fault.quantity}: {fault.message}" for fault in structure.faults],
                {"leaves": len(leaves)},
            )
            faults += _misplaced(leaves, placement)
            evidence["devices"] = {name: list(leaf.devices) for name, leaf in leaves.items()}
            evidence["executable"] = dict(evaluation.executable)
            evidence["arguments"] = dict(evaluation.arguments)
        else:
            contract = leave_unproven(contract)
        if estimation is not None:
            compared, found = compare(case, leaves, estimation)
            faults += self._diagnose(case, placement, found, estimation)
            evidence["oracle"] = {
                "runs": estimation.runs,
                "coins": list(estimation.coins),
                "saved": dict(estimation.saved),
                "recomputed": dict(estimation.recomputed),
            }
            if CHECKPOINT in contract:
                contract[CHECKPOINT] = mirror_checkpoint(case.problem.contract, contract[CHECKPOINT], estimation)
        faults += judge_contract(contract)
        evidence["end"] = datetime.now(UTC).isoformat()
        return Record(
            node,
            case.id,
            case.content_hash,
            placement,
            self.settings.implementation or f"jax_impl/{case.problem.name}.py:evaluate",
            faults,
            {name: Quantity.of(quantity) for name, quantity in compared.items()},
            case.uninformative,
            contract,
            evidence,
        )

    def estimation(self, case: Case) -> Estimation | NotProven:
        """What the oracle says of a case, or why it says nothing; the last ones are kept."""
        return self._oracle_thread.submit(self._estimate, case).result()

    def _check_contract(self, case: Case, placement: Placement) -> dict[str, Finding]:
        """What was found of each clause, `returns` first, which is not checked yet."""
        unknown = {clause: Finding(Status.NOT_CHECKED) for clause in (RETURNS, *_asked(case.problem))}
        try:
            return {**unknown, **self.implementation(case.problem).check_contract(case.inputs, placement)}
        except (ImplementationFault, NotProven):
            return unknown  # the evaluation meets the same, and tells of it

    def _estimate(self, case: Case) -> Estimation | NotProven:
        key = (case.problem.name, case.content_hash)
        if key not in self._estimations:
            if len(self._estimations) >= _KEPT:
                del self._estimations[next(iter(self._estimations))]
            try:
                oracle = self.oracle(case.problem)
                runs = RUNS if _elements(case.inputs) <= LARGE else RUNS_LARGE
                self._estimations[key] = oracle.estimate(
                    [case.inputs], self.arithmetic, runs=runs, seeds=[case.seed], allow_ties=case.allow_ties
                )[0]
            except NotProven as error:
                self._estimations[key] = error
        return self._estimations[key]

    def _judgeable(self, found: Estimation | NotProven, faults: list[Fault]) -> Estimation | None:
        if isinstance(found, CaseRejected):
            faults.append(Fault(Verdict.NOT_PROVEN, f"the case is rejected: {found}", detail={"rejected": True}))
            return None
        if isinstance(found, NotProven):
            who = "the oracle is at fault" if isinstance(found, OracleFault) else "the oracle cannot judge this case"
            faults.append(Fault(Verdict.NOT_PROVEN, f"{who}: {found}"))
            return None
        return found

    def _evaluate(self, case: Case, placement: Placement, faults: list[Fault]) -> Evaluation | None:
        try:
            implementation = self.implementation(case.problem)
            beside = neighbours(case) if placement.mode == "vmap" else ()
            return implementation.evaluate(case.inputs, placement, beside)
        except ImplementationFault as error:
            faults.append(Fault(Verdict.ERROR, str(error)))
        except NotProven as error:
            faults.append(Fault(Verdict.NOT_PROVEN, str(error)))
        return None

    def _diagnose(
        self, case: Case, placement: Placement, faults: list[Fault], estimation: Estimation
    ) -> Sequence[Fault]:
        """The faults with their causes, for which the implementation runs again."""
        if not any(map(needs_cause, faults)):
            return faults
        implementation = self.implementation(case.problem)
        beside = neighbours(case) if placement.mode == "vmap" else ()
        wide = _again(lambda: implementation.evaluate_in_float64(case.inputs, placement, beside))
        on_cpu = None
        if placement.platform != "cpu":
            there = replace(placement, platform="cpu")
            on_cpu = _again(lambda: implementation.evaluate(case.inputs, there, beside))
        return find_causes(faults, estimation, wide, on_cpu)

    def implementation(self, problem: Problem) -> Implementation:
        """The implementation of `problem`, loaded once.

        Raises:
            LoadError: it is not where it should be.
        """
        if problem.name not in self._implementations:
            self._implementations[problem.name] = self.implementation_side.load(
                problem, self.settings.implementation, self.settings.returns
            )
        return self._implementations[problem.name]

    def oracle(self, problem: Problem) -> Oracle:
        """The oracle of `problem`, loaded once.

        Raises:
            LoadError: it is not where it should be.
        """
        if problem.name not in self._oracles:
            self._oracles[problem.name] = self.oracle_side.load(problem)
        return self._oracles[problem.name]


def _again(evaluate: Callable[[], Evaluation]) -> Again:
    try:
        return Again(evaluate())
    except (ImplementationFault, NotProven) as error:
        return Again(None, str(error).partition("\n")[0])


def _asked(problem: Problem) -> list[str]:
    """The clauses that a problem asks for, beside `returns`."""
    return [clause for clause, wanted in problem.contract.items() if wanted]


def _elements(node: Any) -> int:
    if isinstance(node, Mapping):
        return sum(_elements(child) for child in node.values())
    if isinstance(node, Sequence) and not isinstance(node, str):
        return sum(_elements(child) for child in node)
    return int(getattr(node, "size", 1))


def _misplaced(leaves: Mapping[str, Any], placement: Placement) -> list[Fault]:
    faults: list[Fault] = []
    for name, leaf in leaves.items():
        found = sorted({str(device["platform"]) for device in leaf.devices})
        if found != [placement.platform]:
            where = ", ".join(found) or "no device at all"
            message = f"computed on {where}; wanted {placement.platform}"
            faults.append(Fault(Verdict.NOT_PROVEN, message, name))
    return faults
