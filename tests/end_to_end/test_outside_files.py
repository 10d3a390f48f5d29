"""Case files outside the root: none hides another, and each failure can be run again."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from command_line import ROOT, Command, load_nodes

HERE = Path(__file__).parent


def write_case(file: Path, l2: float) -> Path:
    inputs = {"params": {"w": [0.5], "b": 0.25}, "x": [[1.0]], "y": [1.0], "l2": l2}
    head = {"version": 1, "problem": "logistic_regression", "origin": {"kind": "written"}}
    file.write_text(json.dumps({**head, "cases": [{"name": "one", "inputs": inputs}]}))
    return file


def test_cases_of_one_name_in_two_files_outside_the_root_are_both_verified(conformance: Command, tmp_path: Path):
    # The implementation is wrong where there is a penalty: in the second file alone.
    files = write_case(tmp_path / "first.json", 0.0), write_case(tmp_path / "second.json", 0.5)
    wrong = HERE / "implementations" / "logistic_wrong_full_l2.py"
    (tmp_path / "my impl.py").write_text(wrong.read_text())
    options = ("--root", ROOT, "--impl", "my impl.py", "--results", "out.jsonl")
    done = conformance("run", *(file.name for file in files), *options, cwd=tmp_path)
    assert 1 == done.returncode, done.stdout + done.stderr
    records = load_nodes(tmp_path / "out.jsonl", "record")
    wanted = {"logistic_regression/first/one": "agree", "logistic_regression/second/one": "disagree"}
    assert wanted == {record["case"]: record["verdict"] for record in records}
    assert {f"{file}::one[cpu-jit]" for file in files} == {record["node"] for record in records}

    (line,) = (line for line in done.stdout.splitlines() if "again: " in line)
    environment = {**os.environ, "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])}
    again = subprocess.run(
        ["bash", "-c", line.partition("again: ")[2]],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
        env=environment,
        check=False,
    )
    assert 1 == again.returncode, again.stdout + again.stderr
    assert "1 disagree · 1 case of 1 problem" in again.stdout
    assert done.stdout.split("\n\n")[1] in again.stdout
