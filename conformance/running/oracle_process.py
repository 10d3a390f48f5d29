"""The oracle in a process of its own: its framework shares neither lock, threads nor libraries with the other.

The two frameworks then start side by side, whichever of them is imported first, and an oracle that dies takes no
implementation with it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from multiprocessing import get_context
from typing import Any, TypeVar

from conformance.errors import OracleFault
from conformance.running.collector import nothing_to_collect
from conformance.running.orphan import end_with_parent
from conformance.sides import Oracle, OracleSide, load_oracle_side
from conformance.values.arithmetic import Arithmetic
from conformance.values.differences import Differences
from conformance.values.estimate import Estimation
from conformance.values.problem import Problem
from conformance.values.script import ScriptPart

_T = TypeVar("_T")


class OracleProcess:
    """The installed oracle side, in a process that starts with the first call and ends with this one."""

    def __init__(self) -> None:
        """A side whose process has not started yet."""
        # Spawned, never forked: the other framework has threads by then.
        self._pool = ProcessPoolExecutor(1, get_context("spawn"), initializer=end_with_parent)

    def start(self, threads: int) -> Mapping[str, Any]:
        """Versions and settings of the framework, once it has started in its process.

        Raises:
            SideUnavailable: the framework is missing.
        """
        return self.call(_start, threads)

    def load(self, problem: Problem) -> Oracle:
        """The root's oracle of `problem`.

        Raises:
            LoadError: there is no such file, or it has no `evaluate`.
            OracleFault: its module raised while it was loaded.
        """
        self.call(_load, problem)
        return _RemoteOracle(self, problem)

    def call(self, function: Callable[..., _T], *arguments: Any) -> _T:
        """What `function` returns in the oracle's process.

        Raises:
            OracleFault: the process died.
        """
        try:
            return self._pool.submit(function, *arguments).result()
        except BrokenProcessPool:
            self._pool = ProcessPoolExecutor(1, get_context("spawn"), initializer=end_with_parent)
            raise OracleFault("estimating: the oracle's process died; look for an abort or a lack of memory") from None


@dataclass(frozen=True, slots=True)
class _RemoteOracle:
    process: OracleProcess
    problem: Problem

    def estimate(
        self,
        cases: Sequence[Mapping[str, Any]],
        arithmetic: Arithmetic,
        *,
        runs: int,
        seeds: Sequence[int],
        allow_ties: bool = False,
    ) -> list[Estimation]:
        return self.process.call(_estimate, self.problem, list(cases), arithmetic, runs, list(seeds), allow_ties)

    def differentiate(self, case: Mapping[str, Any], *, seed: int) -> Mapping[str, Differences]:
        return self.process.call(_differentiate, self.problem, case, seed)

    def write_script(self) -> ScriptPart:
        return self.process.call(_write_script, self.problem)


_sides: list[OracleSide] = []
_oracles: dict[str, Oracle] = {}


def _side() -> OracleSide:
    if not _sides:
        _sides.append(load_oracle_side())
    return _sides[0]


def _start(threads: int) -> dict[str, Any]:
    with nothing_to_collect():
        return dict(_side().start(threads))


def _load(problem: Problem) -> None:
    _oracles[problem.name] = _side().load(problem)


def _find(problem: Problem) -> Oracle:
    if problem.name not in _oracles:
        _load(problem)
    return _oracles[problem.name]


def _estimate(
    problem: Problem,
    cases: Sequence[Mapping[str, Any]],
    arithmetic: Arithmetic,
    runs: int,
    seeds: Sequence[int],
    allow_ties: bool,
) -> list[Estimation]:
    return _find(problem).estimate(cases, arithmetic, runs=runs, seeds=seeds, allow_ties=allow_ties)


def _differentiate(problem: Problem, case: Mapping[str, Any], seed: int) -> dict[str, Differences]:
    return dict(_find(problem).differentiate(case, seed=seed))


def _write_script(problem: Problem) -> ScriptPart:
    return _find(problem).write_script()
