"""``conformance bless``: expected values from the oracle, and never over somebody else's without being told to."""

from __future__ import annotations

import json
from pathlib import Path

from command_line import Command

CASE = {"params": {"w": [0.5], "b": 0.0}, "x": [[1.0]], "y": [1.0], "l2": 0.0}


def write(root: Path, name: str, kind: str, inputs: object = CASE, **more: object) -> Path:
    file = root / "cases" / "logistic_regression" / f"{name}.json"
    origin = {"kind": kind, **({"source": "somewhere"} if kind in ("documented", "reported") else {})}
    case = {"name": "one", "inputs": inputs, **({"expected": more.pop("expected")} if "expected" in more else {})}
    node = {"version": 1, "problem": "logistic_regression", "origin": origin, **more, "cases": [case]}
    file.write_text(json.dumps(node))
    return file


def test_a_case_is_filled_in_shown_checked_and_then_left_alone(conformance: Command, root: Path):
    file = write(root, "own", "written")
    first = conformance("bless", file, cwd=root)
    assert 0 == first.returncode, first.stdout + first.stderr
    assert "cases/logistic_regression/own.json: 1 filled in, 0 replaced, 0 unchanged" in first.stdout
    assert '"expected": {"loss": 0.474077, "grads": {"w": [-0.377541], "b": -0.377541}}' in first.stdout
    text = file.read_bytes()
    again = conformance("bless", file, cwd=root)
    assert (0, text) == (again.returncode, file.read_bytes())
    assert "0 filled in, 0 replaced, 1 unchanged" in again.stdout
    done = conformance("run", file, "--root", root)
    assert 0 == done.returncode, done.stdout + done.stderr


def test_a_stale_value_of_ones_own_is_replaced_and_a_documented_one_only_by_force(conformance: Command, root: Path):
    stale = {"loss": 0.474078, "grads": {"w": [-0.377541], "b": -0.377541}}
    rounding = {"rounding": {"decimals": 6}, "expected": stale}
    own, stated = write(root, "own", "written", **rounding), write(root, "stated", "documented", **rounding)
    before = stated.read_bytes()
    done = conformance("bless", own, stated, cwd=root)
    assert 1 == done.returncode, done.stdout + done.stderr
    assert "own.json: 0 filled in, 1 replaced, 0 unchanged" in done.stdout
    assert (
        "logistic_regression/stated/one: loss differ from what the oracle gives; a documented case is changed with "
        "--force alone" in done.stdout
    )
    assert before == stated.read_bytes()
    forced = conformance("bless", "--force", stated, cwd=root)
    assert 0 == forced.returncode, forced.stdout + forced.stderr
    assert b"0.474077" in stated.read_bytes()


def test_a_rounding_finer_than_float32_is_told(conformance: Command, root: Path):
    done = conformance("bless", write(root, "fine", "written", rounding={"significant": 12}), cwd=root)
    assert 0 == done.returncode, done.stdout + done.stderr
    assert "warning: 12 significant of loss (0.474) are finer than float32 can resolve" in done.stdout


def test_outputs_beyond_float32_are_refused(conformance: Command, root: Path):
    inputs = {**CASE, "params": {"w": [1e30], "b": 0.0}, "x": [[1e20]], "y": [0.0]}
    file = write(root, "beyond", "written", inputs)
    before = file.read_bytes()
    done = conformance("bless", file, cwd=root)
    assert done.returncode in (2, 3), done.stdout + done.stderr
    assert before == file.read_bytes()
    assert "Traceback" not in done.stdout + done.stderr


def test_a_wrong_file_is_told_and_not_written(conformance: Command, root: Path):
    file = write(root, "wrong", "written", {**CASE, "y": [2.0]})
    before = file.read_bytes()
    done = conformance("bless", file, cwd=root)
    assert (2, before) == (done.returncode, file.read_bytes())
    assert "$.cases[0].inputs.y[0]" in done.stderr
