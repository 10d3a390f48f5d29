"""A case file as a pytest test file: one item per case and mode."""

from __future__ import annotations

import json
import traceback
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, cast

import pytest

from conformance.errors import ConformanceError, InputFault
from conformance.files.case_file import load_cases
from conformance.files.problem_file import ProblemFolder
from conformance.plugin.work import find_work
from conformance.results.jsonl import to_strict
from conformance.results.record import Record
from conformance.running.losses import describe_item, record_loss
from conformance.values.case import Case
from conformance.values.placement import MODES, Placement
from conformance.values.verdict import Verdict


class CaseFailed(Exception):
    """A case whose verdict is not `agree`; carries its record."""

    def __init__(self, record: Record) -> None:
        """The failure that `record` tells of."""
        super().__init__(record.verdict.value)
        self.record = record


def _create(kind: Any, parent: pytest.Collector, **arguments: Any) -> Any:
    """A node; pytest's own constructor of nodes is untyped."""
    return kind.from_parent(parent, **arguments)


class CaseFile(pytest.File):
    """One JSON case file."""

    root: Path

    @classmethod
    def of(cls, parent: pytest.Collector, path: Path, root: Path) -> CaseFile:
        """The collector of the case file at `path`, whose problem is that of `root`."""
        # pytest names a file outside its own root by nothing at all, and two such files alike.
        named = {} if path.is_relative_to(parent.config.rootpath) else {"nodeid": str(path)}
        found = cast("CaseFile", _create(cls, parent, path=path, **named))
        found.root = root
        return found

    def collect(self) -> Iterable[pytest.Item]:
        """One item per case and mode: documented cases in all modes, others in jit, unless modes were asked for."""
        work = find_work(self.config)
        try:
            cases = load_cases(self.path, ProblemFolder(self.root))
        except InputFault as error:
            raise self.CollectError(f"checking case files:\n{error}") from None
        for case in cases:
            for mode in work.modes or modes_of(case):
                placement = Placement(work.settings.platform, mode, work.settings.precision)
                name = f"{case.name}[{placement}]"
                yield cast("CaseItem", _create(CaseItem, self, name=name, case=case, placement=placement))


class CaseItem(pytest.Item):
    """One case at one placement."""

    def __init__(self, *, name: str, parent: pytest.Collector, case: Case, placement: Placement) -> None:
        """The item of `case` at `placement`."""
        super().__init__(name, parent)  # pyright: ignore[reportUnknownMemberType] - pytest leaves some arguments untyped
        self.case = case
        self.placement = placement
        self.record: Record | None = None
        self.extra_keyword_matches.update((case.problem.name, case.id, placement.mode, placement.platform))

    def runtest(self) -> None:
        """Nothing; raises `CaseFailed` unless the verdict is `agree`."""
        work = find_work(self.config)
        runner = work.start()
        work.journal.begin(self.nodeid)
        try:
            if work.wanted is None:
                self.record = runner.run(self.case, self.placement, self.nodeid, work.worker)
            else:
                from conformance.running.explaining import explain

                self.record = explain(runner, self.case, self.placement, self.nodeid, work.worker, work.wanted)
        except ConformanceError as error:
            work.journal.fatal(error)
            raise
        except Exception:  # whatever it is, it is ours: the case is not proven, and the others go on
            said = f"a fault of the suite itself, please report it:\n{traceback.format_exc()}"
            item = describe_item(self.nodeid, self.case, self.placement)
            self.record = record_loss(item, said, Verdict.NOT_PROVEN)
        work.journal.record(self.record)
        if self.record.verdict is not Verdict.AGREE:
            raise CaseFailed(self.record)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """The diagnosis as text; a traceback only for a fault of the suite itself."""
        if isinstance(excinfo.value, CaseFailed):
            # Imported here: most cases agree, and tables and colours take their time to load.
            from conformance.rendering.failure import render_failure

            return render_failure(excinfo.value.record, find_work(self.config).again)
        if isinstance(excinfo.value, ConformanceError):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int, str]:
        """The case's place in its file."""
        return self.path, self.case.line - 1, f"{self.case.id}[{self.placement}]"


def modes_of(case: Case) -> Sequence[str]:
    """The modes that a case runs in when none is asked for."""
    return MODES if case.origin.get("kind") == "documented" else ("jit",)


def tell_collected(session: pytest.Session) -> None:
    """Nothing; the journal knows which items this process will run."""
    found = [item for item in session.items if isinstance(item, CaseItem)]
    most_failures = int(session.config.getoption("maxfail", 0) or 0)
    journal = find_work(session.config).journal
    journal.collected([describe_item(item.nodeid, item.case, item.placement) for item in found], most_failures)


def carry(item: pytest.Item) -> dict[str, Any] | None:
    """What a report carries from a worker to the session's own process; None where no record was made."""
    if not isinstance(item, CaseItem) or item.record is None:
        return None
    # Through JSON, as a worker's channel takes no subclass of a plain type.
    work = find_work(item.config)
    carried = to_strict({"record": item.record.to_json(), "header": {**work.header, "again": work.again}})
    return json.loads(json.dumps(carried))
