"""``conformance run``: no case is lost, whatever becomes of the processes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from miniatures import write_root

from conformance.running import supervisor

Run = Callable[..., "subprocess.CompletedProcess[str]"]
WORKERS = pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["one process", "two workers"])


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """A function that runs ``conformance run`` in a root of its own, with the miniature sides."""

    def run(*arguments: str, root: Path = tmp_path) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "conformance", "run", "-p", "miniatures", "--root", str(root), *arguments]
        environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parent)}
        return subprocess.run(command, capture_output=True, text=True, timeout=120, env=environment, check=False)

    return run


def six(fault: str) -> dict[str, str]:
    """Six cases of which the third has the fault."""
    return {f"case-{number}": fault if number == 3 else "" for number in range(1, 7)}


def records_of(path: Path) -> dict[str, str]:
    nodes = [json.loads(line) for line in path.read_text().splitlines()]
    return {node["case"]: node["verdict"] for node in nodes if node["kind"] == "record"}


@WORKERS
def test_a_clean_run_is_green_and_accounted_for(run: Run, tmp_path: Path, workers: tuple[str, ...]):
    write_root(tmp_path, six(""))
    done = run(*workers, "--results", str(tmp_path / "out.jsonl"))
    assert 0 == done.returncode, done.stdout + done.stderr
    assert "6 agree · 6 cases of 1 problem" in done.stdout
    nodes = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert "header" == nodes[0]["kind"]
    assert {"kind": "footer", "collected": 6, "reported": 6, "stopped": False, "interrupted": False} == nodes[-1]


@WORKERS
@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ("aborts", "the process died while it ran this case"),
        ("kills itself", "the process died while it ran this case"),
        ("exits", "the process died while it ran this case"),
        ("hangs", "took longer than 3 s and was ended"),
    ],
)
def test_the_end_of_a_process_costs_one_case(
    run: Run, tmp_path: Path, workers: tuple[str, ...], fault: str, message: str
):
    write_root(tmp_path, six(fault))
    done = run(*workers, "--timeout", "3", "--results", str(tmp_path / "out.jsonl"))
    assert 1 == done.returncode, done.stdout + done.stderr
    verdicts = records_of(tmp_path / "out.jsonl")
    assert {f"double/group/case-{n}": "error" if n == 3 else "agree" for n in range(1, 7)} == verdicts
    assert "error: double/group/case-3 [cpu-jit]" in done.stdout
    assert message in done.stdout


def test_an_oracle_that_hangs_is_never_the_implementations_fault(run: Run, tmp_path: Path):
    write_root(tmp_path, six("oracle hangs"))
    done = run("--timeout", "3")
    assert 3 == done.returncode, done.stdout + done.stderr
    assert "not-proven: double/group/case-3 [cpu-jit]" in done.stdout
    assert "the implementation answered, but the oracle took longer than 3 s and was ended" in done.stdout
    assert "5 agree, 1 not-proven" in done.stdout


def test_an_abort_tells_its_signal_and_its_place(run: Run, tmp_path: Path):
    write_root(tmp_path, six("aborts"))
    done = run()
    assert "ended by SIGABRT; Aborted at File " in done.stdout
    assert "miniatures.py" in done.stdout


@WORKERS
def test_several_deaths_cost_only_their_own_cases(run: Run, tmp_path: Path, workers: tuple[str, ...]):
    faults = {"a": "aborts", "b": "", "c": "exits", "d": "", "e": "kills itself", "f": "wrong"}
    write_root(tmp_path, faults)
    done = run(*workers, "--results", str(tmp_path / "out.jsonl"))
    assert 1 == done.returncode
    expected = {"a": "error", "b": "agree", "c": "error", "d": "agree", "e": "error", "f": "disagree"}
    assert {f"double/group/{name}": verdict for name, verdict in expected.items()} == records_of(tmp_path / "out.jsonl")


@WORKERS
def test_a_run_that_is_asked_to_stop_stops_and_says_so(run: Run, tmp_path: Path, workers: tuple[str, ...]):
    write_root(tmp_path, {"a": "wrong", **{f"b{n}": "" for n in range(30)}})
    done = run(*workers, "-x")
    assert 1 == done.returncode
    assert "were not run (stopped as asked)" in done.stdout


def test_a_run_whose_first_case_aborts_stops_when_asked(run: Run, tmp_path: Path):
    write_root(tmp_path, {"a": "aborts", "b": ""})
    done = run("-x")
    assert 1 == done.returncode
    assert "1 of 2 were not run (stopped as asked)" in done.stdout


def test_a_fault_of_the_suite_itself_is_not_proven(run: Run, tmp_path: Path):
    write_root(tmp_path, {"a": "breaks the suite", "b": ""})
    done = run()
    assert 3 == done.returncode, done.stdout + done.stderr
    assert "RuntimeError: a fault of the side itself" in done.stdout
    assert "1 agree, 1 not-proven" in done.stdout


def test_a_selection_that_matches_nothing_is_not_proven(run: Run, tmp_path: Path):
    write_root(tmp_path, six(""))
    done = run("-k", "absent")
    assert 3 == done.returncode
    assert "leave none of 6 cases; nothing was verified" in done.stderr


def test_a_missing_device_is_not_proven(run: Run, tmp_path: Path):
    write_root(tmp_path, six(""))
    done = run("--platform", "gpu")
    assert 3 == done.returncode
    assert "not been established" in done.stderr


def test_a_quantity_that_no_case_resolves_is_not_proven(run: Run, tmp_path: Path):
    write_root(tmp_path, {"a": "unresolved"})
    done = run()
    assert 3 == done.returncode
    assert "no case that was run resolves double: y" in done.stdout


def test_a_quantity_that_some_case_resolves_is_proven(run: Run, tmp_path: Path):
    write_root(tmp_path, {"a": "unresolved", "b": ""})
    assert 0 == run().returncode


def test_a_quantity_that_its_cases_declare_uninformative_needs_no_resolving(run: Run, tmp_path: Path):
    write_root(tmp_path, {"a": "unresolved"}, uninformative=["y", "total"])
    assert 0 == run().returncode


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("absent.json",), "absent.json"),
        (("--impl", "absent.py"), "--impl absent.py: absent.py does not exist; wanted a Python file"),
        (("--impl", "cases"), "--impl cases: cases is a folder; wanted a Python file"),
        (("--modes", "jit"), "found --modes; did you mean --mode?"),
        (("-k", "and"), "Wrong expression passed to '-k'"),
        (("--returns", "a"), "--returns goes with --impl"),
        (("--rootdir", "x"), "--rootdir is set by conformance run itself"),
        (("--no-such-option",), "--no-such-option"),
        (("--results", "/no/such/folder/out.jsonl"), "writing results to /no/such/folder/out.jsonl"),
        (("--mode", "sharded"), "sharded"),
        (("--timeout", "0"), "timeout"),
    ],
)
def test_bad_usage_is_told_and_exits_with_2(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], message: str
):
    write_root(tmp_path, six(""))
    monkeypatch.chdir(tmp_path)
    done = run(*arguments)
    assert 2 == done.returncode, done.stdout + done.stderr
    assert message in done.stderr
    assert "Traceback" not in done.stdout + done.stderr


def test_bad_input_is_told_and_exits_with_2(run: Run, tmp_path: Path):
    write_root(tmp_path, six(""))
    (tmp_path / "cases" / "double" / "bad.json").write_text('{"version": 1, "version": 1}')
    done = run()
    assert 2 == done.returncode
    assert "bad.json:1:" in done.stderr
    assert "Traceback" not in done.stdout + done.stderr


def test_settings_of_another_project_do_not_matter(run: Run, tmp_path: Path):
    write_root(tmp_path, six(""))
    (tmp_path / "pytest.ini").write_text("[pytest]\naddopts = --no-such-option\n")
    (tmp_path / "conftest.py").write_text("raise RuntimeError('never loaded')\n")
    assert 0 == run().returncode


def test_a_case_is_run_by_its_name_alone(run: Run, tmp_path: Path):
    write_root(tmp_path, six("wrong"))
    done = run("double/group/case-2")
    assert 0 == done.returncode, done.stdout + done.stderr
    assert "1 agree · 1 case of 1 problem" in done.stdout


def test_a_file_outside_the_root_is_run(run: Run, tmp_path: Path):
    root = write_root(tmp_path / "root", six(""))
    outside = tmp_path / "mine.json"
    (root / "cases" / "double" / "group.json").rename(outside)
    done = run(str(outside), root=root)
    assert 0 == done.returncode, done.stdout + done.stderr
    assert "double/mine/case-1" in done.stdout


def test_an_interrupted_results_file_is_readable_and_called_incomplete(run: Run, tmp_path: Path):
    write_root(tmp_path, six(""))
    results = tmp_path / "out.jsonl"
    run("--results", str(results))
    lines = results.read_text().splitlines(keepends=True)
    results.write_text("".join(lines[:4]) + lines[4][:50])
    command = [sys.executable, "-m", "conformance", "compare", str(results)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert 3 == done.returncode
    assert "is incomplete: 3 cases were reported before the run ended" in done.stdout


def test_a_run_is_shown_again_from_its_results(run: Run, tmp_path: Path):
    write_root(tmp_path, six("wrong"))
    first = run("--results", str(tmp_path / "out.jsonl"))
    command = [sys.executable, "-m", "conformance", "compare", str(tmp_path / "out.jsonl")]
    again = subprocess.run(command, capture_output=True, text=True, check=False)
    assert first.returncode == again.returncode == 1
    table = [line for line in first.stdout.splitlines() if line.startswith("double/")]
    assert 6 == len(table)
    assert all(line in again.stdout for line in table)
    lines = [[line for line in text.splitlines() if "again: " in line] for text in (first.stdout, again.stdout)]
    assert lines[0] == lines[1]
    assert f"--root {tmp_path}" in lines[1][0]


def test_cases_that_would_hide_each_other_are_not_proven(tmp_path: Path):
    item = {"node": "::one[cpu-jit]", "case": "double/a/one"}
    event = {"event": "collected", "pid": 1, "most_failures": 0, "items": [item, {**item, "case": "double/b/one"}]}
    outcome = supervisor.Outcome()
    child = supervisor._Child(subprocess.Popen(["true"]), tmp_path / "output")
    child.process.wait()
    supervisor._hear(event, child, outcome, lambda _header: None, lambda _record: None)
    assert outcome.fatal is not None
    assert 3 == outcome.fatal.exit_code
    assert "several are called ::one[cpu-jit]; nothing was verified" in outcome.fatal.text
    assert {} == outcome.planned


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_tells_what_was_done_and_is_not_green(tmp_path: Path, number: int):
    write_root(tmp_path, {"a": "", "b": "hangs", "c": ""})
    command = [sys.executable, "-m", "conformance", "run", "-p", "miniatures", "--root", str(tmp_path)]
    results = tmp_path / "out.jsonl"
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parent)}
    process = subprocess.Popen(
        [*command, "--results", str(results)], stdout=subprocess.PIPE, text=True, env=environment
    )
    deadline = time.monotonic() + 60
    while not (results.exists() and records_of(results)) and time.monotonic() < deadline:
        time.sleep(0.1)
    time.sleep(0.5)
    process.send_signal(number)
    said, _ = process.communicate(timeout=60)
    assert 3 == process.returncode, said
    assert "not proven: 2 of 3 were not run (interrupted)" in said
    assert {"double/group/a": "agree"} == records_of(results)


def test_results_that_cannot_be_written_are_told(run: Run, tmp_path: Path):
    if not Path("/dev/full").exists():
        pytest.skip("this system has no /dev/full")
    write_root(tmp_path, six(""))
    done = run("--results", "/dev/full")
    assert 3 == done.returncode
    assert "writing results to /dev/full: No space left on device" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_junit_report_is_written(run: Run, tmp_path: Path):
    write_root(tmp_path, six("wrong"))
    done = run(f"--junitxml={tmp_path / 'junit.xml'}")
    assert 1 == done.returncode
    assert 'tests="6"' in (tmp_path / "junit.xml").read_text()


def test_a_killed_run_leaves_a_readable_file_and_no_process(tmp_path: Path):
    write_root(tmp_path, {"a": "", "b": "hangs", "c": ""})
    results = tmp_path / "out.jsonl"
    command = [sys.executable, "-m", "conformance", "run", "-p", "miniatures", "--root", str(tmp_path)]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parent), "TMPDIR": str(tmp_path)}
    process = subprocess.Popen([*command, "--results", str(results)], stdout=subprocess.DEVNULL, env=environment)
    deadline = time.monotonic() + 60
    while not (results.exists() and records_of(results)) and time.monotonic() < deadline:
        time.sleep(0.1)
    process.kill()
    process.wait()
    assert {"double/group/a": "agree"} == records_of(results)
    (journal,) = tmp_path.glob("conformance-*/journal-0")
    pids = {json.loads(line)["pid"] for line in journal.read_text().splitlines()}
    assert pids
    while any(is_alive(pid) for pid in pids) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not [pid for pid in pids if is_alive(pid)]


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return "Z" not in Path(f"/proc/{pid}/stat").read_text().split(")")[1] if Path("/proc").exists() else True
