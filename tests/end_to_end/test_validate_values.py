"""``conformance validate --values``: what can be computed again is, and what differs is named."""

from __future__ import annotations

import re
from pathlib import Path

from command_line import Command

CASES = "cases/logistic_regression"


def edit(file: Path, old: str, new: str) -> None:
    text = file.read_text("utf-8")
    assert old in text
    file.write_text(text.replace(old, new, 1), "utf-8")


def test_the_shipped_files_hold_what_recipes_and_oracles_give(conformance: Command):
    done = conformance("validate", "cases", "--values")
    assert 0 == done.returncode, done.stdout + done.stderr
    (counts,) = done.stdout.splitlines()
    assert "cases generated again" in counts
    assert "cases with expected values checked, 0 faults" in counts


def test_a_changed_digit_is_named_wherever_it_is(conformance: Command, root: Path):
    edit(root / CASES / "documented.json", "0.556558", "0.556559")
    edit(root / CASES / "reported.json", "13.2509115", "13.2509116")
    sizes = root / CASES / "sizes.json"
    sizes.write_text(re.sub(r'"b": [-0-9.]+', '"b": 0.25', sizes.read_text("utf-8"), count=1), "utf-8")
    edit(root / "cases/residual_mlp_block/saturation.json", "-9.02", "-9.03")
    assert 0 == conformance("validate", cwd=root).returncode
    done = conformance("validate", "--values", cwd=root)
    assert 2 == done.returncode, done.stdout + done.stderr
    *faults, counts = done.stdout.splitlines()
    assert f"{len(faults)} faults" in counts
    for start, message in (
        (
            f"{CASES}/documented.json:17:54: $.cases[0].expected.grads.w[0]: found 0.556559, wanted 0.556558, which",
            "rounds",
        ),
        (
            f"{CASES}/reported.json:69:28: $.cases[9].expected.loss: found 13.2509116, wanted 13.2509115, which the",
            "rounds",
        ),
        (f"{CASES}/sizes.json:20:54: $.cases[0].inputs.params.b: found ", ", which the recipe gives"),
        ("cases/residual_mlp_block/saturation.json:", ", which the recipe gives"),
    ):
        assert any(line.startswith(start) and message in line for line in faults), (start, done.stdout)


def test_annotations_name_what_differs_too(conformance: Command, root: Path):
    edit(root / CASES / "documented.json", "0.556558", "0.556559")
    done = conformance("validate", f"{CASES}/documented.json", "--values", "--format", "github", cwd=root)
    assert 2 == done.returncode, done.stdout + done.stderr
    assert done.stdout.startswith(f"::error file={CASES}/documented.json,line=17,col=54,title=conformance::$.cases[0]")


BEYOND = """{
  "version": 1,
  "problem": "logistic_regression",
  "origin": {"kind": "written"},
  "cases": [
    {
      "name": "beyond",
      "inputs": {"params": {"w": [1e25], "b": 0.0}, "x": [[1e20]], "y": [0.0], "l2": 0.0}
    },
    {"name": "inside", "inputs": {"params": {"w": [1.0], "b": 0.0}, "x": [[1.0]], "y": [0.0], "l2": 0.0}}
  ]
}
"""


def test_a_case_whose_true_outputs_leave_float32_is_rejected(conformance: Command, root: Path):
    file = root / CASES / "beyond.json"
    file.write_text(BEYOND)
    said = "the true loss has an element of magnitude 1e+45, beyond float32's range of 3.40282347e+38, so no"
    results = root / "results.jsonl"
    for arguments, where in (
        (("bless", file), f"logistic_regression/beyond/beyond: has no expected values: {said}"),
        (("run", file, "-n", "2", "--results", results), f"the case is rejected: {said}"),
        (("compare", results), f"the case is rejected: {said}"),
        (("explain", "logistic_regression/beyond/beyond"), f"the case is rejected: {said}"),
    ):
        done = conformance(*arguments, cwd=root)
        assert 2 == done.returncode, done.stdout + done.stderr
        assert where in done.stdout
        assert "Traceback" not in done.stdout + done.stderr


def test_an_expected_value_of_a_case_beyond_float32_is_a_fault(conformance: Command, root: Path):
    expected = '"expected": {"loss": 1e38, "grads": {"w": [1e20], "b": 1.0}}, "name": "beyond"'
    file = root / CASES / "beyond.json"
    file.write_text(
        BEYOND.replace('"name": "beyond"', expected).replace('"cases"', '"rounding": {"significant": 3}, "cases"')
    )
    assert 0 == conformance("validate", file, cwd=root).returncode
    done = conformance("validate", file, "--values", cwd=root)
    assert 2 == done.returncode, done.stdout + done.stderr
    assert f"{CASES}/beyond.json:6:5: $.cases[0]: the true loss has an element" in done.stdout
