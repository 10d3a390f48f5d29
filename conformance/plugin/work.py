"""What one process of a session holds: its settings, its journal, and its runner once that is needed."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from conformance.errors import ConformanceError
from conformance.running.collector import nothing_to_collect
from conformance.running.journal import Journal
from conformance.running.runner import Runner, Settings
from conformance.sides import ImplementationSide, OracleSide

if TYPE_CHECKING:
    from conformance.running.explaining import Wanted

_WORK: pytest.StashKey[Work] = pytest.StashKey()


@dataclass(slots=True)
class Work:
    """One process's share of a session.

    `sides` loads both sides; `again` are the options that a command needs to run a case of this session again.
    `wanted` is what the explanation of a case is to have, where each case is to be explained.
    """

    settings: Settings
    modes: Sequence[str]
    journal: Journal
    worker: str
    sides: Callable[[], tuple[ImplementationSide, OracleSide]]
    again: Sequence[str] = ()
    wanted: Wanted | None = None
    header: Mapping[str, Any] = field(default_factory=dict[str, Any])
    _runner: Runner | None = None

    def start(self) -> Runner:
        """The runner, with both sides started; they start once a process.

        Raises:
            NotProven: a framework or a device is missing.
        """
        if self._runner is None:
            self.journal.starting()
            try:
                runner = Runner(self.settings, *self.sides(), self.journal.waiting)
                with nothing_to_collect():
                    self.header = runner.start()
            except ConformanceError as error:
                self.journal.fatal(error)
                raise
            self.journal.started(self.header)
            self._runner = runner
        return self._runner


def find_work(config: pytest.Config) -> Work:
    """The work of the process whose session has `config`; made when it is first asked for."""
    if _WORK not in config.stash:
        option = config.option
        returns = option.conformance_returns
        workers = int(getattr(config, "workerinput", {}).get("workercount", 1))
        root, implementation = option.conformance_root, option.conformance_impl
        config.stash[_WORK] = Work(
            Settings(
                platform=option.conformance_platform,
                precision=option.conformance_precision,
                implementation=implementation,
                returns=tuple(returns.split(",")) if returns else None,
                threads=max(1, _cores() // workers),
            ),
            option.conformance_mode,
            Journal(Path(option.conformance_journal) if option.conformance_journal else None),
            os.environ.get("PYTEST_XDIST_WORKER", "main"),
            lambda: config.hook.pytest_conformance_sides(config=config),
            [
                *(("--root", root) if root else ()),
                *(("--impl", implementation) if implementation else ()),
                *(("--returns", returns) if returns else ()),
            ],
            _find_wanted(option.conformance_explain),
        )
    return config.stash[_WORK]


def _find_wanted(parts: str | None) -> Wanted | None:
    if parts is None:
        return None
    from conformance.running.explaining import Wanted

    return Wanted(**{part: True for part in parts.split(",") if part})


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
