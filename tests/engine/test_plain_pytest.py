"""Plain pytest: case files are test files, with and without workers."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from miniatures import write_root

Pytest = Callable[..., "subprocess.CompletedProcess[str]"]
WORKERS = pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["one process", "two workers"])


@pytest.fixture
def plain_pytest(tmp_path: Path) -> Pytest:
    """A function that runs pytest in a root of its own, with the miniature sides."""

    def plain_pytest(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "pytest", "-p", "miniatures", *arguments]
        environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parent)}
        return subprocess.run(
            command, cwd=tmp_path, capture_output=True, text=True, timeout=120, env=environment, check=False
        )

    return plain_pytest


def test_items_are_named_by_file_case_and_placement(plain_pytest: Pytest, tmp_path: Path):
    write_root(tmp_path, {"case-1": "", "case-2": ""})
    (tmp_path / "package.json").write_text("{}")
    (tmp_path / "cases" / "schema").mkdir()
    (tmp_path / "cases" / "schema" / "case.schema.json").write_text("{}")
    done = plain_pytest("--collect-only", "-q", "--conformance-mode", "jit", "--conformance-mode", "vmap")
    wanted = [f"cases/double/group.json::case-{n}[cpu-{mode}]" for n in (1, 2) for mode in ("jit", "vmap")]
    assert wanted == [line for line in done.stdout.splitlines() if "::" in line]


@WORKERS
def test_verdicts_are_told_and_written(plain_pytest: Pytest, tmp_path: Path, workers: tuple[str, ...]):
    write_root(tmp_path, {"a": "", "b": "wrong", "c": "missing", "d": "elsewhere"})
    done = plain_pytest(*workers, "--conformance-results=out.jsonl")
    assert 1 == done.returncode, done.stdout + done.stderr
    assert "disagree (arithmetic): double/group/b [cpu-jit]" in done.stdout
    assert "again: conformance run double/group/b --mode jit" in done.stdout
    nodes = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert ["header", *["record"] * 4, "footer"] == [node["kind"] for node in nodes]
    verdicts = {node["case"][-1]: node["verdict"] for node in nodes[1:-1]}
    assert {"a": "agree", "b": "disagree", "c": "contract-broken", "d": "not-proven"} == verdicts
    assert {"collected": 4, "reported": 4} == {name: nodes[-1][name] for name in ("collected", "reported")}


def test_a_worker_that_aborts_is_named_in_the_results(plain_pytest: Pytest, tmp_path: Path):
    write_root(tmp_path, {"a": "", "b": "aborts", "c": "", "d": ""})
    done = plain_pytest("-n", "2", "--conformance-results=out.jsonl")
    assert 1 == done.returncode
    nodes = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    verdicts = {node["case"]: node["verdict"] for node in nodes if node["kind"] == "record"}
    assert "error" == verdicts["double/group/b"]
    assert 4 == len(verdicts)


@WORKERS
def test_a_session_that_resolves_a_quantity_by_no_case_is_red(
    plain_pytest: Pytest, tmp_path: Path, workers: tuple[str, ...]
):
    write_root(tmp_path, {"a": "unresolved"})
    done = plain_pytest(*workers)
    assert 1 == done.returncode
    assert "not proven: no case that was run resolves double: y" in done.stdout


def test_a_bad_case_file_is_a_collection_error_with_its_place(plain_pytest: Pytest, tmp_path: Path):
    write_root(tmp_path, {"a": ""})
    (tmp_path / "cases" / "double" / "bad.json").write_text("[]")
    done = plain_pytest()
    assert 2 == done.returncode
    assert "cases/double/bad.json:1:1: $: found an array of 0, wanted an object" in done.stdout
    assert "Traceback" not in done.stdout


def test_an_unknown_value_of_an_option_is_bad_usage(plain_pytest: Pytest, tmp_path: Path):
    write_root(tmp_path, {"a": ""})
    done = plain_pytest("--conformance-mode=fast")
    assert 4 == done.returncode
    assert "--conformance-mode: found 'fast'; wanted one of eager, jit, vmap" in done.stderr


def test_a_session_without_case_files_is_left_alone(plain_pytest: Pytest, tmp_path: Path):
    (tmp_path / "test_other.py").write_text(
        "import sys\n\ndef test_other():\n    assert 'conformance.plugin.items' not in sys.modules\n"
    )
    (tmp_path / "cases").mkdir()
    (tmp_path / "cases" / "data.json").write_text("[]")
    done = plain_pytest()
    assert 0 == done.returncode, done.stdout
    assert "conformance" not in done.stdout.split("test session starts")[1].split("plugins:")[-1].split("\n", 1)[1]
