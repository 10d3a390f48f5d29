"""A failing case is made small while it fails alike, and never leaves its domain."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from miniatures import write_root

from conformance.files.case_file import load_cases
from conformance.files.problem_file import ProblemFolder
from conformance.results.record import Record
from conformance.running.shrinking import shrink
from conformance.values.case import Case
from conformance.values.placement import Placement
from conformance.values.verdict import Cause, Fault, Verdict


@pytest.fixture
def case(tmp_path: Path) -> Case:
    """A case of 8 numbers."""
    write_root(tmp_path, {"large": ""})
    file = tmp_path / "cases" / "double" / "group.json"
    node = json.loads(file.read_text())
    node["cases"][0]["inputs"]["x"] = [0.25, 7.123456, -3.5, 1e-3, 123.456, -0.75, 2.0, 9.0]
    file.write_text(json.dumps(node))
    (found,) = load_cases(file, ProblemFolder(tmp_path))
    return found


def judge(fails: Callable[[Case], bool], cause: Cause = Cause.FORMULA) -> Callable[[Case], Record]:
    """A run in which those cases disagree for that cause."""

    def run(case: Case) -> Record:
        faults = [Fault(Verdict.DISAGREE, "wrong", "y", cause)] if fails(case) else []
        return Record("node", case.id, case.content_hash, Placement("cpu", "jit"), "/some/where/my.py:f", faults)

    return run


def test_only_what_makes_it_fail_is_left(case: Case):
    run = judge(lambda found: bool(np.any(found.inputs["x"] > 100)))
    shrunk = shrink(case, run(case), run)
    assert [120.0] == [*shrunk.case.inputs["x"]]
    assert "Shrunk from double/group/large: disagree (formula) for my.py:f." in shrunk.text


def test_elements_that_fail_together_stay_together(case: Case):
    run = judge(lambda found: bool(np.any(found.inputs["x"] > 8) and np.any(found.inputs["x"] < -3)))
    shrunk = shrink(case, run(case), run)
    assert (2,) == shrunk.case.inputs["x"].shape
    assert [-4.0, 100.0] == sorted(float(value) for value in shrunk.case.inputs["x"])


def test_a_failure_of_another_kind_is_not_taken_for_the_same(case: Case):
    small = judge(lambda _: True, Cause.ARITHMETIC)
    large = judge(lambda _: True)
    run = lambda found: (large if found.inputs["x"].size >= 4 else small)(found)  # noqa: E731
    assert 4 == shrink(case, run(case), run).case.inputs["x"].size


def test_the_domain_is_kept(case: Case, tmp_path: Path):
    file = tmp_path / "cases" / "double" / "problem.json"
    node = json.loads(file.read_text())
    node["domain"] = {"N": {"minimum": 3}, "x": {"minimum": -10}}
    file.write_text(json.dumps(node))
    run = judge(lambda _: True)
    shrunk = shrink(case, run(case), run)
    assert [0.0] * 3 == [*shrunk.case.inputs["x"]]


def test_the_text_holds_the_case_that_was_found(case: Case, tmp_path: Path):
    run = judge(lambda found: bool(np.any(found.inputs["x"] > 100)))
    shrunk = shrink(case, run(case), run)
    (tmp_path / "again.json").write_text(shrunk.text)
    (found,) = load_cases(tmp_path / "again.json", ProblemFolder(tmp_path))
    assert shrunk.case.inputs["x"].tobytes() == found.inputs["x"].tobytes()
    assert Verdict.DISAGREE == run(found).verdict


def test_the_search_ends(case: Case):
    tried: list[Case] = []
    run = judge(lambda found: tried.append(found) is None)
    assert 5 == shrink(case, run(case), run, most=5).tried
    assert 6 == len(tried)
