"""The ways of people who add a case, a recipe or a problem, step by step as CONTRIBUTING writes them."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from command_line import ROOT
from contributing import Step, carry_out, load_steps


def commands(steps: list[Step]) -> list[str]:
    return [step.text.split()[1] for step in steps if step.path is None]


def test_a_case_is_added_new_edited_checked_blessed_and_run(root: Path):
    steps = load_steps("Add a case")
    assert ["new", "validate", "bless", "validate", "run"] == commands(steps)
    printed = carry_out(steps, root)
    for step in steps[2:4]:
        assert f"\n  {step.text}\n" in printed  # what `new` says to do next
    assert '"expected": {"loss": 0.693147, "grads": {"w": [0.5], "b": 0.5}}' in printed
    assert "1 case with expected values checked, 0 faults" in printed
    assert "1 agree · 1 case of 1 problem" in printed


def test_cases_are_generated(root: Path):
    steps = load_steps("Generate cases")
    assert ["generate", "run"] == commands(steps)
    assert "6 agree · 6 cases of 1 problem" in carry_out(steps, root)


def test_a_problem_is_added_by_three_paths(root: Path):
    steps = load_steps("Add a problem")
    assert ["new", "validate", "run"] == commands(steps)
    assert ["cases/quadratic/problem.json", "jax_impl/quadratic.py", "torch_oracle/quadratic.py"] == [
        step.path for step in steps if step.path
    ]
    printed = carry_out(steps, root)
    assert "quadratic/two-rows/two-rows" in printed
    assert "1 agree · 1 case of 1 problem" in printed


@pytest.mark.skipif(shutil.which("ruff", path=Path(sys.executable).parent) is None, reason="needs ruff")
def test_the_problem_that_contributing_adds_passes_its_own_lint(tmp_path: Path):
    carry_out([step for step in load_steps("Add a problem") if step.path], tmp_path)
    command = [Path(sys.executable).with_name("ruff"), "check", "--config", ROOT / "pyproject.toml", "."]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert 0 == done.returncode, done.stdout + done.stderr
