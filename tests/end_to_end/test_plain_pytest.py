"""Case files beside other tests in one pytest session, with the miniature sides."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from command_line import ROOT, Command, load_nodes
from miniatures import write_root

WORKERS = pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["one process", "two workers"])


def run_pytest(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pytest", "-p", "miniatures", *arguments]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "tests" / "engine")}
    return subprocess.run(
        command, cwd=folder, capture_output=True, text=True, timeout=120, env=environment, check=False
    )


@WORKERS
def test_a_session_with_other_tests_too_counts_its_cases_alone(
    conformance: Command, tmp_path: Path, workers: tuple[str, ...]
):
    write_root(tmp_path, {"a": "", "b": ""})
    (tmp_path / "test_other.py").write_text("def test_other(): ...\n")
    done = run_pytest(tmp_path, *workers, "--conformance-results=out.jsonl")
    assert 0 == done.returncode, done.stdout
    assert "3 passed" in done.stdout
    (footer,) = load_nodes(tmp_path / "out.jsonl", "footer")
    assert (2, 2) == (footer["collected"], footer["reported"])
    shown = conformance("compare", tmp_path / "out.jsonl")
    assert 0 == shown.returncode, shown.stdout


def test_a_session_that_ends_early_is_shown_as_incomplete(conformance: Command, tmp_path: Path):
    write_root(tmp_path, {"a": "", "b": "wrong", "c": ""})
    assert 1 == run_pytest(tmp_path, "-x", "--conformance-results=out.jsonl").returncode
    (footer,) = load_nodes(tmp_path / "out.jsonl", "footer")
    assert (3, 2) == (footer["collected"], footer["reported"])
    assert "is incomplete: 2 of 3 cases were reported" in conformance("compare", tmp_path / "out.jsonl").stdout


@WORKERS
def test_a_failing_case_prints_its_diagnosis_and_no_traceback(tmp_path: Path, workers: tuple[str, ...]):
    write_root(tmp_path, {"a": "", "b": "wrong"})
    done = run_pytest(tmp_path, *workers)
    assert 1 == done.returncode
    diagnosis = (
        done.stdout.partition("disagree (arithmetic): double/group/b [cpu-jit]\n")[2]
        .partition("  again: ")[0]
        .splitlines()
    )
    labels = [line.split()[0] for line in diagnosis]
    assert ["y[1]:", "got", "oracle", "sigma", "z", "limit"] == labels[:6]
    assert "Traceback" not in done.stdout


def test_a_case_whose_worker_aborts_is_named_and_the_others_have_their_verdicts(tmp_path: Path):
    write_root(tmp_path, {"a": "", "b": "aborts", "c": "", "d": ""})
    done = run_pytest(tmp_path, "-n", "2", "--conformance-results=out.jsonl")
    assert 1 == done.returncode
    assert "cases/double/group.json::b[cpu-jit]" in done.stdout
    records = {node["case"][-1]: node for node in load_nodes(tmp_path / "out.jsonl", "record")}
    assert {"a": "agree", "b": "error", "c": "agree", "d": "agree"} == {n: r["verdict"] for n, r in records.items()}
    assert "the worker process died while it ran this case" == records["b"]["faults"][0]["message"]


def test_only_case_files_are_collected(tmp_path: Path):
    write_root(tmp_path, {"a": ""})
    (tmp_path / "package.json").write_text("{}")
    (tmp_path / "cases" / "notes.json").write_text("{}")
    for folder in ("schema", "no_problem"):
        (tmp_path / "cases" / folder).mkdir()
        (tmp_path / "cases" / folder / "some.schema.json").write_text("{}")
    (tmp_path / "data" / "deep").mkdir(parents=True)
    (tmp_path / "data" / "deep" / "group.json").write_text(json.dumps({"version": 1}))
    done = run_pytest(tmp_path, "--collect-only", "-q")
    assert 0 == done.returncode, done.stdout
    assert ["cases/double/group.json::a[cpu-jit]"] == [line for line in done.stdout.splitlines() if "json" in line]


def test_a_rootdir_elsewhere_still_gives_lines_that_run_a_case_again(tmp_path: Path):
    root = write_root(tmp_path / "root", {"a": "wrong"})
    (tmp_path / "settings").mkdir()
    (tmp_path / "settings" / "pytest.ini").write_text("[pytest]\n")
    done = run_pytest(tmp_path, "-c", "settings/pytest.ini", "root/cases")
    assert 1 == done.returncode
    line = next(line for line in done.stdout.splitlines() if "again: " in line)
    assert f"again: conformance run {root}/cases/double/group.json::a --mode jit" in line
