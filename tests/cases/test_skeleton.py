"""A new case file is valid as it stands, whatever the problem's signature and domain."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from conformance.errors import UsageError
from conformance.files.case_file import load_cases
from conformance.files.problem_file import ProblemFolder
from conformance.files.skeleton import parse_dims, write_skeleton

INPUTS = {
    "params": [{"w": "float32[D,H]"}, {"tuple": ["float32[H]", "bool[D]"]}],
    "labels": "int32[N]",
    "rate": "float",
    "count": "static int",
    "name": "static str",
    "flag": "static bool",
    "level": "static float",
    "key": "key",
    "pair": "float32[2]",
}
DOMAINS: list[dict[str, Any]] = [
    {},
    {"N": {"minimum": 3}, "D": {"minimum": 1, "maximum": 1}},
    {"labels": {"enum": [0, 5]}, "rate": {"minimum": 1, "maximum": 2}, "name": {"enum": ["a", "b"]}},
    {"pair": {"exclusiveMinimum": 0}, "params.0.w": {"minimum": -0.1, "maximum": 0.1}, "count": {"minimum": 7}},
    {"pair": {"exclusiveMinimum": 1, "maximum": 1.5}, "level": {"minimum": 3}, "labels": {"maximum": -4}},
]


def make_problems(folder: Path, domain: Any) -> ProblemFolder:
    place = folder / "cases" / "own"
    place.mkdir(parents=True)
    node = {"version": 1, "problem": "own", "title": "t", "statement": "s", "inputs": INPUTS, "outputs": "float32[]"}
    (place / "problem.json").write_text(json.dumps({**node, "domain": domain}))
    return ProblemFolder(folder)


@pytest.mark.parametrize("domain", DOMAINS, ids=str)
def test_a_new_case_is_in_its_domain(tmp_path: Path, domain: Any):
    problems = make_problems(tmp_path, domain)
    path = write_skeleton(problems, problems("own"), "new-one", {})
    (case,) = load_cases(path, problems)
    assert ("new-one", "own/new-one/new-one") == (case.name, case.id)
    assert tmp_path / "cases" / "own" / "new-one.json" == path


def test_sizes_are_2_or_those_asked_for(tmp_path: Path):
    problems = make_problems(tmp_path, {"N": {"minimum": 1}})
    (case,) = load_cases(write_skeleton(problems, problems("own"), "a", {"N": 5}), problems)
    assert {"D": 2, "H": 2, "N": 5} == dict(case.dims)


@pytest.mark.parametrize(
    ("name", "dims", "message"),
    [
        ("Upper", {}, "found the name 'Upper'; wanted one of a-z, 0-9, '.', '_' and '-'"),
        ("a", {"Q": 1}, "found the dimension 'Q'; wanted one of D, H, N"),
        ("a", {"N": 9}, "found N=9; wanted at least 1 and at most 8"),
        ("a", {"N": 0}, "found N=0; wanted at least 1 and at most 8"),
        ("problem", {}, "exists; choose another name, or edit it"),
    ],
)
def test_what_does_not_fit_is_told_and_nothing_is_written(tmp_path: Path, name: str, dims: Any, message: str):
    problems = make_problems(tmp_path, {"N": {"minimum": 1, "maximum": 8}})
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(UsageError) as caught:
        write_skeleton(problems, problems("own"), name, dims)
    assert message in str(caught.value)
    assert before == sorted(tmp_path.rglob("*"))


@pytest.mark.parametrize("text", ["N", "N=", "N=x", "N=-1", "N=1,N=2", "=3"])
def test_sizes_that_cannot_be_read_are_told(text: str):
    with pytest.raises(UsageError, match="wanted sizes such as N=4,D=2"):
        parse_dims(text)


def test_sizes_are_read():
    assert {"N": 4, "D": 2} == parse_dims("N=4, D=2")
    assert {} == parse_dims("")
