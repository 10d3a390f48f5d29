"""Expected values are written where they belong, and nothing else of a file changes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from conformance.files.blessing import round_value, write_expected
from conformance.files.case_file import load_cases
from conformance.files.document import load_document
from conformance.files.problem_file import ProblemFolder
from conformance.values.case import Rounding

ROOT = Path(__file__).resolve().parents[2]
OUTPUTS = ProblemFolder(ROOT)("logistic_regression").outputs
VALUES = {"loss": np.asarray(0.123456789), "grads.w": np.asarray([1.0, -2.0000001]), "grads.b": np.asarray(-1e-9)}
HEAD = '{"version": 1, "problem": "logistic_regression", "origin": {"kind": "written"},'
INPUTS = '"inputs": {"params": {"w": [0.5, 1], "b": 0}, "x": [[1, 2]], "y": [1], "l2": 0}'
EXPECTED = '"expected": {"loss": 0.1235, "grads": {"w": [1.0, -2.0], "b": 0.0}}'
FILES = {
    "on one line": (
        HEAD + '"rounding":{"decimals":4},"cases": [{"name": "ä", ' + INPUTS + "}]}",
        HEAD + '"rounding":{"decimals":4},"cases": [{"name": "ä", ' + INPUTS + ", " + EXPECTED + "}]}",
    ),
    "a line per key, without a rounding": (
        HEAD + '\n\t"cases": [\n\t  {\n\t    ' + INPUTS + ',\n\t    "name": "é"\n\t  }\n\t]\n}\n',
        HEAD
        + '\n\t"rounding": {"decimals": 4},\n\t"cases": [\n\t  {\n\t    '
        + f'{INPUTS},\n\t    {EXPECTED},\n\t    "name": "é"\n\t  }}\n\t]\n}}\n',
    ),
    "with Windows line ends": (
        HEAD + '\r\n"cases": [\r\n  {"name": "a",\r\n   ' + INPUTS + "}]}\r\n",
        HEAD
        + '\r\n"rounding": {"decimals": 4},\r\n"cases": [\r\n  {"name": "a",\r\n   '
        + f"{INPUTS},\r\n   {EXPECTED}}}]}}\r\n",
    ),
    "in place of what was expected": (
        HEAD + '"rounding":{"decimals":4},"cases":[{"expected": {"loss": 7, "grads": {"w": [1,2], "b": 3}} ,'
        '"name":"a",' + INPUTS + "}]}",
        HEAD + '"rounding":{"decimals":4},"cases":[{' + EXPECTED + ' ,"name":"a",' + INPUTS + "}]}",
    ),
}


@pytest.mark.parametrize("name", FILES)
def test_only_the_expected_values_are_new(tmp_path: Path, name: str):
    before, after = FILES[name]
    file = tmp_path / "file.json"
    file.write_bytes(before.encode())
    written = write_expected(load_document(file), OUTPUTS, {0: VALUES}, Rounding("decimals", 4))
    assert after == written.decode()
    json.loads(written)


def test_several_cases_are_written_at_once_and_read_back(tmp_path: Path):
    shipped = ROOT / "cases" / "logistic_regression" / "documented.json"
    node = json.loads(shipped.read_text())
    values: dict[int, Any] = {}
    for number, case in enumerate(node["cases"]):
        expected = case.pop("expected")
        values[number] = {
            "loss": np.asarray(expected["loss"]),
            "grads.w": np.asarray(expected["grads"]["w"]),
            "grads.b": np.asarray(expected["grads"]["b"]),
        }
    file = tmp_path / "all.json"
    file.write_text(json.dumps(node, indent=2))
    file.write_bytes(write_expected(load_document(file), OUTPUTS, values, Rounding("decimals", 6)))
    found, wanted = (load_cases(path, ProblemFolder(ROOT)) for path in (file, shipped))
    assert [case.content_hash for case in wanted] == [case.content_hash for case in found]


@pytest.mark.parametrize(
    ("value", "rounding", "rounded"),
    [
        (0.6791671, Rounding("decimals", 6), 0.679167),
        (-1e-9, Rounding("decimals", 6), 0.0),
        (123456.789, Rounding("significant", 3), 123000.0),
        (1.5e-40, Rounding("significant", 1), 2e-40),
        (0.0, Rounding("significant", 6), 0.0),
    ],
)
def test_a_value_is_rounded_as_the_file_says(value: float, rounding: Rounding, rounded: float):
    found = round_value(value, rounding)
    assert (rounded, 1.0) == (found, np.copysign(1.0, found) if found == 0.0 else 1.0)
