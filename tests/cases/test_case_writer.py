"""Case files that are written read back as the same case, and look as people write them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from conformance.files.case_file import load_cases
from conformance.files.case_writer import render_case_file
from conformance.files.problem_file import ProblemFolder
from conformance.values.case import Case
from conformance.values.tree import leaves

ROOT = Path(__file__).resolve().parents[2]
FILES = sorted((ROOT / "cases").glob("*/documented.json"))


def read_back(case: Case, folder: Path) -> Case:
    file = folder / "written.json"
    file.write_text(render_case_file(case, case.why), encoding="utf-8")
    (found,) = load_cases(file, ProblemFolder(ROOT))
    return found


def bits(case: Case) -> dict[str, Any]:
    return {path: np.asarray(leaf).tobytes() for path, leaf in leaves(dict(case.inputs))}


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.parent.name)
def test_shipped_cases_survive(file: Path, tmp_path: Path):
    for case in load_cases(file, ProblemFolder(ROOT)):
        found = read_back(case, tmp_path)
        assert (case.name, case.why, case.uninformative) == (found.name, found.why, found.uninformative)
        assert bits(case) == bits(found)


@settings(deadline=None, max_examples=200, derandomize=True)
@given(
    values=arrays.arrays(np.float32, (2, 3), elements=st.floats(width=32, allow_nan=False, allow_infinity=False)),
    l2=st.floats(0, 1e30),
)
def test_every_float32_and_every_float_survives(values: Any, l2: float, tmp_path_factory: Any):
    (case, *_) = load_cases(FILES[0], ProblemFolder(ROOT))
    inputs = {**case.inputs, "x": values, "y": np.float32([0, 1]), "l2": l2}
    inputs["params"] = {"w": values[0], "b": np.float32(values[0, 0])}
    changed = replace(case, inputs=inputs)
    assert bits(changed) == bits(read_back(changed, tmp_path_factory.mktemp("written")))


def test_arrays_stand_on_one_line_and_names_on_their_own(tmp_path: Path):
    (case, *_) = load_cases(FILES[0], ProblemFolder(ROOT))
    lines = render_case_file(case, "Why.").splitlines()
    assert '        "params": {"w": [0.5, -1.0], "b": 0.25},' in lines
    assert '        "x": [[1.0, 2.0], [-1.0, 0.5], [0.0, -1.0], [2.0, 1.0]],' in lines
    assert "{" == lines[0]
    assert "}" == lines[-1]
