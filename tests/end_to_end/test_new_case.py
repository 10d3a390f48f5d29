"""The way of somebody who adds a case: new, edit, validate, run."""

from __future__ import annotations

import shutil
from pathlib import Path

from command_line import ROOT, Command


def test_a_new_case_is_written_edited_checked_and_verified(conformance: Command, tmp_path: Path):
    for name in ("cases", "jax_impl", "torch_oracle"):
        shutil.copytree(ROOT / name, tmp_path / name)
    made = conformance("new", "logistic_regression", "steep", "--dims", "N=3,D=1", cwd=tmp_path)
    assert 0 == made.returncode, made.stdout + made.stderr
    commands = [line.split() for line in made.stdout.splitlines() if line.startswith("  conformance ")]
    assert ["validate", "run"] == [command[1] for command in commands]
    file = tmp_path / "cases" / "logistic_regression" / "steep.json"
    text = file.read_text()
    assert text.count('"b": 0.5') == 1
    file.write_text(text.replace('"b": 0.5', '"b": 60.0').replace("Say here what this case is for.", "Steep."))
    for _, *arguments in commands:
        done = conformance(*arguments, cwd=tmp_path)
        assert 0 == done.returncode, done.stdout + done.stderr
    assert "1 agree · 1 case of 1 problem" in done.stdout


def test_an_existing_case_file_and_an_unknown_problem_are_refused(conformance: Command):
    for arguments, message in (
        (("logistic_regression", "documented"), "documented.json exists; choose another name, or edit it"),
        (("logistic", "new"), "found the problem 'logistic', wanted logistic_regression or residual_mlp_block"),
        (("logistic_regression", "new", "--dims", "N"), "wanted sizes such as N=4,D=2"),
    ):
        done = conformance("new", *arguments)
        assert 2 == done.returncode, done.stdout + done.stderr
        assert message in done.stderr
