"""The README's two commands are what is tested."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from command_line import ROOT

README = (ROOT / "README.md").read_text("utf-8")
STUB = """#!/usr/bin/env bash
echo "$(basename "$0") $*" >> "$LOG"
if [ "$(basename "$0")" = python3 ]; then
  mkdir -p .venv/bin
  for name in pip tox; do cp "$0" ".venv/bin/$name"; done
fi
if [ "$*" = "$FAILS" ]; then exit 7; fi
"""


def first_blocks() -> list[list[str]]:
    return [block.split("```")[0].strip().splitlines() for block in README.split("```sh\n")[1:3]]


def run_ci(folder: Path, readme: str = README, fails: str = "nothing") -> tuple[int, list[str]]:
    """The exit status of a copy of .ci/run, and the commands that it called, all of them stubs."""
    (folder / ".ci").mkdir()
    (folder / "bin").mkdir()
    shutil.copy(ROOT / ".ci" / "run", folder / ".ci" / "run")
    (folder / "README.md").write_text(readme, "utf-8")
    stub = folder / "bin" / "python3"
    stub.write_text(STUB)
    stub.chmod(0o755)
    log = folder / "log"
    log.touch()
    path = os.pathsep.join([str(stub.parent), os.environ["PATH"]])
    environment = {**os.environ, "PATH": path, "LOG": str(log), "FAILS": fails}
    done = subprocess.run([folder / ".ci" / "run"], env=environment, capture_output=True, timeout=30, check=False)
    return done.returncode, log.read_text().splitlines()


def test_the_first_two_shell_blocks_hold_one_command_each():
    commands = first_blocks()
    assert [1, 1] == [len(lines) for lines in commands]
    assert commands[0][0].endswith("tox run -e cpu")
    assert commands[1][0].endswith("tox run -e lint,type,tests")


CALLS = ["python3 -m venv .venv", "pip install tox", "tox run -e cpu", "tox run -e lint,type,tests"]


def test_ci_runs_the_two_commands(tmp_path: Path):
    assert (0, CALLS) == run_ci(tmp_path)


@pytest.mark.parametrize("number", [3, 4])
def test_ci_fails_with_either_command(tmp_path: Path, number: int):
    failing = CALLS[number - 1].removeprefix("tox ")
    assert (7, CALLS[:number]) == run_ci(tmp_path, fails=failing)


def test_ci_fails_without_a_second_command(tmp_path: Path):
    code, calls = run_ci(tmp_path, "# x\n\n```sh\n" + first_blocks()[0][0] + "\n```\n")
    assert (1, CALLS[:3]) == (code, calls)
