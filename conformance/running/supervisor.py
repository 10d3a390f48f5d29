"""The light parent of a run: starts pytest in a child, and sees to it that no case is lost.

The child's processes journal each case before they start it. An abort or a hang therefore costs that case alone:
it gets a record of its own, and what was not started is run by another child.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import dropwhile
from pathlib import Path
from typing import Any

from conformance.results.jsonl import Follower
from conformance.results.record import Record
from conformance.running.losses import record_loss
from conformance.values.verdict import Verdict

STARTUP_LIMIT = 600.0
"""Seconds that a process may take to start the frameworks."""
_POLL = 0.02
_PARALLEL = ("-n", "--numprocesses", "--maxprocesses", "--dist", "--tx")
_TAIL = 4_000
_INTERNAL_ERROR, _BAD_USAGE, _NO_TESTS = 3, 4, 5
_VERDICTS = (0, 1)
"""pytest's exit statuses of a session that ran to its end."""
_FATAL = "Fatal Python error"


@dataclass(frozen=True, slots=True)
class Plan:
    """What a child is started with: pytest's arguments, its folder, and the seconds that one case may take."""

    arguments: Sequence[str]
    root: Path
    timeout: float | None
    show_output: bool


@dataclass(frozen=True, slots=True)
class Fatal:
    """A fault that ended the whole run, told in words, with the exit code that it deserves."""

    text: str
    exit_code: int


@dataclass(slots=True)
class Outcome:
    """What came of a run: `planned` are the journal's items by test id, in order.

    `incidents` tell of faults of pytest itself that cost no case, as another child took over.
    """

    planned: dict[str, dict[str, Any]] = field(default_factory=dict[str, dict[str, Any]])
    records: dict[str, Record] = field(default_factory=dict[str, Record])
    header: dict[str, Any] = field(default_factory=dict[str, Any])
    fatal: Fatal | None = None
    stopped: bool = False
    interrupted: bool = False
    most_failures: int = 0
    incidents: list[str] = field(default_factory=list[str])

    @property
    def enough(self) -> bool:
        """Whether the run stops here as asked, by ``-x``, ``--maxfail`` or ``--stepwise``."""
        failures = sum(record.verdict is not Verdict.AGREE for record in self.records.values())
        return self.stopped or 0 < self.most_failures <= failures

    @property
    def missing(self) -> list[str]:
        """The test ids that were collected and not reported."""
        return [node for node in self.planned if node not in self.records]


@dataclass(slots=True)
class _Begun:
    node: str
    pid: int
    since: float
    waiting: bool = False


@dataclass(slots=True)
class _Child:
    """One child and what its journal has told so far."""

    process: subprocess.Popen[bytes]
    output: Path
    begun: dict[int, _Begun] = field(default_factory=dict[int, _Begun])
    starting: dict[int, float] = field(default_factory=dict[int, float])
    pids: set[int] = field(default_factory=set)
    hung: dict[str, str] = field(default_factory=dict[str, str])
    finished: int | None = None


def supervise(plan: Plan, on_header: Callable[[dict[str, Any]], None], on_record: Callable[[Record], None]) -> Outcome:
    """The outcome of the run that `plan` describes; `on_header` and `on_record` hear of each as it comes.

    A case whose process died or took too long gets the verdict `error`. One that could not be run at all gets
    `not-proven`.
    """
    outcome = Outcome()
    # A machine that ends the run asks with SIGTERM; a person with Ctrl-C. Both get the summary.
    signal.signal(signal.SIGTERM, signal.default_int_handler)

    def add(record: Record) -> None:
        if record.node not in outcome.records:
            outcome.records[record.node] = record
            on_record(record)

    with tempfile.TemporaryDirectory(prefix="conformance-") as name:
        folder = Path(name)
        for attempt in range(sys.maxsize):
            before = len(outcome.records)
            child = _launch(plan, folder, attempt, sorted(outcome.records))
            try:
                _watch(child, Follower(folder / f"journal-{attempt}"), plan, outcome, on_header, add)
            except KeyboardInterrupt:
                outcome.interrupted = True
                return outcome
            finally:
                _end(child)
            if outcome.fatal is not None:
                return outcome
            _add_losses(child, outcome, add)
            nothing = not outcome.planned and child.finished != _NO_TESTS
            if nothing or child.process.returncode == _BAD_USAGE:
                outcome.fatal = _explain(child)
                return outcome
            if child.finished == _INTERNAL_ERROR:
                outcome.incidents.append(_explain(child).text)
            if outcome.enough or not outcome.missing:
                return outcome
            if len(outcome.records) == before:
                ended = _explain(child).text
                for node in outcome.missing:
                    add(record_loss(outcome.planned[node], f"was not run: {ended}", Verdict.NOT_PROVEN))
                return outcome
    raise AssertionError("unreachable: every attempt makes progress or returns")


def _launch(plan: Plan, folder: Path, attempt: int, done: Sequence[str]) -> _Child:
    settings, journal, skip = folder / "pytest.ini", folder / f"journal-{attempt}", folder / f"done-{attempt}"
    output = folder / f"output-{attempt}"
    # An empty settings file and no plugins but our own: a run is the same whatever project and environment it is in.
    settings.write_text("[pytest]\n")
    skip.write_text(json.dumps(list(done)))
    command = [
        *(sys.executable, "-m", "pytest", "-p", "conformance.plugin.hooks", "-c", str(settings)),
        *(("-p", "xdist.plugin") if any(argument.startswith(_PARALLEL) for argument in plan.arguments) else ()),
        *("--assert=plain", "--noconftest", f"--rootdir={plan.root}"),
        *(f"--conformance-journal={journal}", f"--conformance-done={skip}", *plan.arguments),
    ]
    environment = {**os.environ, "PYTHONFAULTHANDLER": "1", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    environment.pop("PYTEST_ADDOPTS", None)
    if plan.show_output:
        return _Child(subprocess.Popen(command, env=environment), output)
    with output.open("wb") as file:
        process = subprocess.Popen(
            command, env=environment, stdin=subprocess.DEVNULL, stdout=file, stderr=subprocess.STDOUT
        )
    return _Child(process, output)


def _watch(
    child: _Child,
    journal: Follower,
    plan: Plan,
    outcome: Outcome,
    on_header: Callable[[dict[str, Any]], None],
    add: Callable[[Record], None],
) -> None:
    while True:
        ended = child.process.poll() is not None
        for event in journal.read():
            _hear(event, child, outcome, on_header, add)
        # What a quiet process does after its last word, taking two frameworks down, is of no use to anybody.
        if ended or outcome.fatal is not None or (child.finished in _VERDICTS and not plan.show_output):
            return
        _end_hung(child, plan.timeout)
        time.sleep(_POLL)


def _hear(
    event: dict[str, Any],
    child: _Child,
    outcome: Outcome,
    on_header: Callable[[dict[str, Any]], None],
    add: Callable[[Record], None],
) -> None:
    pid = event["pid"]
    child.pids.add(pid)
    match event["event"]:
        case "collected":
            outcome.most_failures = event["most_failures"]
            twice = [node for node, count in Counter(item["node"] for item in event["items"]).items() if count > 1]
            if twice:
                # One record would stand for several cases, and hide what became of the others.
                outcome.fatal = Fatal(
                    f"collecting cases: several are called {', '.join(twice)}; nothing was verified", 3
                )
                return
            for item in event["items"]:
                outcome.planned.setdefault(item["node"], item)
        case "starting":
            child.starting[pid] = time.monotonic()
        case "started":
            child.starting.pop(pid, None)
            if not outcome.header:
                outcome.header = event["header"]
                on_header(outcome.header)
        case "begin":
            child.begun[pid] = _Begun(event["node"], pid, time.monotonic())
        case "waiting":
            child.begun[pid].waiting = True
        case "record":
            child.begun.pop(pid, None)
            add(Record.from_json(event["record"]))
        case "lost":
            lost = [begun for begun in child.begun.values() if begun.node == event["node"]]
            for begun in lost:
                del child.begun[begun.pid]
                add(_loss_of(begun, child, outcome))
        case "fatal":
            outcome.fatal = Fatal(event["text"], event["exit_code"])
        case "finish":
            child.finished = event["status"]
            outcome.stopped = outcome.stopped or event["stopped"]
        case _:
            raise AssertionError(f"unknown event {event['event']!r}")


def _end_hung(child: _Child, timeout: float | None) -> None:
    if timeout is None:
        return
    now = time.monotonic()
    for pid, begun in child.begun.items():
        if now - begun.since > timeout and begun.node not in child.hung:
            child.hung[begun.node] = f"took longer than {timeout:g} s and was ended; --timeout SECONDS allows more"
            _kill(pid)
    for pid, since in list(child.starting.items()):
        if now - since > max(timeout, STARTUP_LIMIT):
            child.starting.pop(pid)
            _kill(pid)


def _add_losses(child: _Child, outcome: Outcome, add: Callable[[Record], None]) -> None:
    for begun in child.begun.values():
        add(_loss_of(begun, child, outcome))


def _loss_of(begun: _Begun, child: _Child, outcome: Outcome) -> Record:
    item, hung = outcome.planned[begun.node], child.hung.get(begun.node)
    if hung is None:
        return record_loss(item, f"the process died while it ran this case: {_death(child)}")
    if begun.waiting:
        return record_loss(item, f"the implementation answered, but the oracle {hung}", Verdict.NOT_PROVEN)
    return record_loss(item, hung)


def _death(child: _Child) -> str:
    """How the child ended, with what a fatal signal's handler wrote of it."""
    code = child.process.returncode
    said = "its worker was lost"
    if child.pids <= {child.process.pid} and code is not None:
        said = _signal(-code) if code < 0 else f"it ended with exit status {code}"
    lines = child.output.read_text(errors="replace").splitlines() if child.output.exists() else []
    # A progress dot may stand before the first line; other threads may come before the one that died.
    fatal = next((number for number, line in enumerate(lines) if _FATAL in line), None)
    if fatal is None:
        return said
    rest = iter(lines[fatal:])
    error = next(rest).partition(_FATAL)[2].strip(": ")
    frames = [line.strip() for line in dropwhile(lambda line: not line.startswith("Current thread"), rest)]
    return f"{said}; {error}" + (f" at {frames[1]}" if len(frames) > 1 else "")


def _signal(number: int) -> str:
    try:
        return f"ended by {signal.Signals(number).name}" + (" (out of memory?)" if number == signal.SIGKILL else "")
    except ValueError:
        return f"ended by signal {number}"


def _explain(child: _Child) -> Fatal:
    """Why a child ended without having collected anything, in pytest's own words."""
    text = child.output.read_text(errors="replace").strip()[-_TAIL:] if child.output.exists() else ""
    code = child.process.returncode
    if code == _BAD_USAGE:
        lines = [line for line in text.splitlines() if line.startswith(("ERROR:", "error:")) or "error:" in line]
        return Fatal("pytest does not take these options:\n" + ("\n".join(lines) or text), 2)
    if code == 2:
        return Fatal("the cases could not be collected:\n" + text, 2)
    what = f"pytest ended with exit status {code}" if code is None or code >= 0 else f"pytest was {_signal(-code)}"
    return Fatal(f"{what} in the middle of a run:\n{text}", 3)


def _kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return


def _end(child: _Child) -> None:
    """Ends the child, and its workers where it could not end them itself."""
    if child.process.poll() is None:
        child.process.terminate()
        try:
            child.process.wait(5)
        except subprocess.TimeoutExpired:
            child.process.kill()
            child.process.wait()
    if child.finished is None:
        for pid in child.pids - {child.process.pid}:
            _kill(pid)
