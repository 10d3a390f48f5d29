"""Problem files, discovery of case files, and ``conformance validate``."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from conformance.errors import InputFault, NotProven, UsageError
from conformance.files.discovery import find_case_files, find_root, find_selection
from conformance.files.problem_file import load_problem
from conformance.files.validation import validate

PROBLEM: dict[str, Any] = {
    "version": 1,
    "problem": "double",
    "title": "Twice the input",
    "statement": "y = 2 x",
    "inputs": {"x": "float32[N]"},
    "outputs": {"y": "float32[N]"},
    "domain": {"N": {"minimum": 1}},
    "contract": {},
}
CASES = {
    "version": 1,
    "problem": "double",
    "origin": {"kind": "written"},
    "cases": [{"name": "a", "inputs": {"x": [1]}}],
}
CHECKPOINT = {"policy": "dots_saveable", "saves": {"dot_general": 2}, "recomputes": ["tanh"]}


def write_root(folder: Path, problem: dict[str, Any] = PROBLEM) -> Path:
    (folder / "cases" / "double").mkdir(parents=True)
    (folder / "cases" / "double" / "problem.json").write_text(json.dumps(problem))
    (folder / "cases" / "double" / "group.json").write_text(json.dumps(CASES))
    return folder


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("version", 2, "$.version: found 2, wanted 1"),
        ("problem", "other", "$.problem: found 'other', wanted 'double', the name of its folder"),
        ("inputs", {"x": "float64[N]"}, "float64[N]"),
        ("inputs", {"x": "bfloat16[N]"}, "this version cannot judge bfloat16"),
        ("outputs", {"y": "float32[M]"}, "$.outputs.y: found the dimension M, wanted one that an input binds"),
        ("outputs", {"y": "float"}, "wanted an array such as 'float32[]': outputs are arrays"),
        ("outputs", {}, "$.outputs: found no leaf, wanted at least one quantity"),
        ("domain", {"M": {"minimum": 1}}, "$.domain.M: found 'M', wanted a dimension or an input's leaf: N or x"),
        ("domain", {"x": {"minimum": 2, "maximum": 1}}, "found a minimum of 2 above the maximum of 1"),
        ("domain", {"x": {"minimun": 2}}, "did you mean minimum?"),
        ("contract", {"differentiate_with": "x"}, "did you mean differentiated_with?"),
        ("contract", {"checkpoint": {**CHECKPOINT, "policy": "dots_savable"}}, "did you mean dots_saveable?"),
        ("contract", {"checkpoint": {**CHECKPOINT, "policy": None}}, "$.contract.checkpoint.policy: found null"),
        ("extra", 1, '$.extra: found the unknown key "extra"'),
    ],
)
def test_a_bad_problem_is_told(tmp_path: Path, key: str, value: Any, message: str):
    root = write_root(tmp_path, {**PROBLEM, key: value})
    with pytest.raises(InputFault) as caught:
        load_problem(root / "cases" / "double")
    assert message in str(caught.value)


@pytest.mark.parametrize(
    "leaf", ["int32[N]", "bool[N]", "float", "static int", "static float", "static str", "static bool", "key"]
)
def test_every_leaf_of_the_grammar_is_an_input(tmp_path: Path, leaf: str):
    root = write_root(tmp_path, {**PROBLEM, "inputs": {"x": "float32[N]", "more": [{"tuple": [leaf]}]}})
    assert leaf == str(load_problem(root / "cases" / "double").inputs["more"][0][0])


def test_case_files_are_found_sorted_without_problems_and_schemas(tmp_path: Path):
    root = write_root(tmp_path)
    folder = root / "cases" / "double"
    for name in ("b.json", "a.json", "notes.txt"):
        (folder / name).write_text(json.dumps(CASES))
    (root / "cases" / "schema").mkdir()
    (root / "cases" / "schema" / "case.schema.json").write_text("{}")
    (root / "package.json").write_text("{}")
    assert ["a.json", "b.json", "group.json"] == [file.name for file in find_case_files(root)]


def test_an_absent_path_is_bad_usage(tmp_path: Path):
    with pytest.raises(UsageError, match=r"absent\.json does not exist; wanted a file, a folder or a case id"):
        find_case_files(write_root(tmp_path), ["absent.json"])


def test_an_empty_folder_is_not_proven_and_named(tmp_path: Path):
    (tmp_path / "empty").mkdir()
    with pytest.raises(NotProven, match=r"empty: found none, wanted \*\.json; nothing was verified"):
        find_case_files(write_root(tmp_path), [tmp_path / "empty"])


@pytest.mark.parametrize(
    "argument", ["double/group/a", "cases/double/group.json::a", "cases/double/group.json::a[cpu-jit]"]
)
def test_a_case_is_found_by_each_of_its_names(tmp_path: Path, argument: str):
    selection = find_selection(write_root(tmp_path), [argument])
    assert ["double/group/a"] == [case.id for case in selection.cases]


def test_an_unknown_case_is_told_with_the_known_ones(tmp_path: Path):
    with pytest.raises(UsageError, match=r"looking for the case 'b' .*; wanted one of a"):
        find_selection(write_root(tmp_path), ["double/group/b"])


def test_the_root_is_the_nearest_one_upward(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    root = write_root(tmp_path)
    monkeypatch.chdir(root / "cases" / "double")
    assert root.resolve() == find_root()


def test_no_root_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match="name it with --root DIR"):
        find_root()


def test_a_file_in_another_problems_folder_is_told(tmp_path: Path):
    root = write_root(tmp_path)
    other = root / "cases" / "other"
    other.mkdir()
    (other / "problem.json").write_text(json.dumps({**PROBLEM, "problem": "other"}))
    (other / "group.json").write_text(json.dumps(CASES))
    faults = [str(fault) for fault in validate(root).faults]
    assert any("$.problem: found 'double' in a file in " in fault for fault in faults)


def test_two_files_with_the_same_case_ids_are_told(tmp_path: Path):
    root = write_root(tmp_path)
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "group.json").write_text(json.dumps(CASES))
    faults = validate(root, [root / "cases", tmp_path / "outside"]).faults
    assert ["found the case double/group/a, which "] == [str(fault).split("$.cases: ")[1][:37] for fault in faults]


def test_validate_tells_faults_and_counts_and_exits_with_2(tmp_path: Path):
    root = write_root(tmp_path)
    (root / "cases" / "double" / "bad.json").write_text('{"version": 1,}')
    command = [sys.executable, "-m", "conformance", "validate"]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, timeout=60, check=False)
    assert 2 == done.returncode
    assert "cases/double/bad.json:1:14: $.version: found ',', wanted no comma before a closing bracket" in done.stdout
    assert "1 problem file, 2 case files, 1 case, 1 fault" in done.stdout
    (root / "cases" / "double" / "bad.json").unlink()
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, timeout=60, check=False)
    assert (0, "1 problem file, 1 case file, 1 case, 0 faults\n") == (done.returncode, done.stdout)
