"""Good files, their hashes, and a fuzzer: nothing is half read."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from conformance.files.case_file import load_cases
from conformance.files.discovery import find_case_files
from conformance.files.problem_file import ProblemFolder
from conformance.running.neighbours import neighbours
from conformance.values.case import Case
from conformance.values.tree import leaves

Load = Callable[[str | bytes], list[Case]]


def test_the_values_are_read_as_written(load: Load, good: str):
    (case,) = load(good)
    assert ("one", {"D": 2, "N": 2}, 0.1) == (case.name, case.dims, case.inputs["l2"])
    assert np.float32([0.5, -1.0]).tobytes() == case.inputs["params"]["w"].tobytes()
    assert case.expected is not None
    assert 3.0 == case.expected["grads.b"]
    assert 7 == case.line


@pytest.mark.parametrize(
    "change",
    [
        lambda text: "\ufeff" + text,
        lambda text: text.replace("\n", "\r\n"),
        lambda text: json.dumps(json.loads(text)),
        lambda text: json.dumps(json.loads(text), sort_keys=True, indent=7),
        lambda text: text.replace("0.25", "0.250000000001"),
        lambda text: text.replace('"one"', '"another"'),
    ],
    ids=["byte order mark", "CRLF", "one line", "sorted keys", "below float32's resolution", "name"],
)
def test_the_content_hash_does_not_depend_on_how_it_is_written(load: Load, good: str, change: Callable[[str], str]):
    assert load(good)[0].content_hash == load(change(good))[0].content_hash


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("0.25", "0.26"),
        ("0.1}", "0.1000000001}"),
        ('"loss": 1.0', '"loss": 1.1'),
        ("decimals", "significant"),
        ("-1.0", "1.0"),
        ("[0.0, 1.0]", "[-0.0, 1.0]"),
        ('"expected"', '"uninformative": ["loss"], "expected"'),
        ('"expected"', '"ties": "allowed", "expected"'),
        (',\n      "expected": {"loss": 1.0, "grads": {"w": [1.0, 2.0], "b": 3.0}}', ""),
    ],
)
def test_the_content_hash_depends_on_all_that_decides_the_verdict(load: Load, good: str, old: str, new: str):
    assert load(good)[0].content_hash != load(good.replace(old, new))[0].content_hash


def test_the_shipped_files_hold_six_documented_cases(root: Path):
    files = find_case_files(root)
    cases = [case for file in files for case in load_cases(file, ProblemFolder(root))]
    assert 6 == len([case for case in cases if case.origin["kind"] == "documented"])
    assert len(cases) == len({case.id for case in cases}) == len({case.content_hash for case in cases})
    declared = [case.id for case in cases if case.uninformative and case.group == "documented"]
    assert ["logistic_regression/documented/saturated-wrong-labels"] == declared


def test_neighbours_have_the_shapes_and_the_domain_and_differ(root: Path):
    for file in find_case_files(root):
        for case in load_cases(file, ProblemFolder(root)):
            rows = [dict(leaves(dict(inputs))) for inputs in (case.inputs, *neighbours(case))]
            for name, own in rows[0].items():
                others = [row[name] for row in rows[1:]]
                if not isinstance(own, np.ndarray):
                    assert [own, own] == others
                    continue
                assert {(own.dtype, own.shape)} == {(other.dtype, other.shape) for other in others}
                if name == "y" and case.problem.name == "logistic_regression":
                    assert all(set(other.tolist()) <= {0.0, 1.0} for other in others)
                    assert np.all(own != others[0])
                else:
                    assert np.all(own != others[0])
                    assert np.all(own != others[1])
                    assert np.all(others[0] != others[1])
            assert repr(neighbours(case)) == repr(neighbours(case))
