"""The schemas that editors use: up to date, and closed."""

from __future__ import annotations

import copy
import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from jsonschema_rs import Draft202012Validator, Registry, meta

from conformance.commands.cli import cli
from conformance.files.discovery import find_case_files
from conformance.files.problem_file import ProblemFolder
from conformance.files.schema_files import create_schema_files

ROOT = Path(__file__).resolve().parents[2]
SCHEMAS = ROOT / "cases" / "schema"
GOOD: dict[str, Any] = {
    "version": 1,
    "problem": "logistic_regression",
    "origin": {"kind": "written"},
    "cases": [{"name": "a", "inputs": {"params": {"w": [1.0], "b": 0}, "x": [[1]], "y": [1], "l2": 0.5}}],
}
EXPECTED: dict[str, Any] = {
    **GOOD,
    "rounding": {"decimals": 1},
    "cases": [{**GOOD["cases"][0], "expected": {"loss": 1, "grads": {"w": [1], "b": 1}}}],
}
RECIPE = {"strategy": "scales", "seed": 1, "scales": [{"x": 2}], "dims": [{"N": 1, "D": 1}]}
GENERATED = {**{name: GOOD[name] for name in ("version", "problem")}, "origin": {"kind": "generated", "recipe": RECIPE}}


def validator(folder: Path = SCHEMAS) -> Draft202012Validator:
    """What an editor does with ``case.schema.json``: it follows the references to the files beside it."""
    base = "json-schema:///cases/"
    registry = Registry([(base + file.name, json.loads(file.read_text("utf-8"))) for file in folder.glob("*.json")])
    return Draft202012Validator({"$ref": base + "case.schema.json"}, registry=registry, base_uri=base)


def test_the_shipped_schemas_are_what_the_problems_give():
    wanted = create_schema_files(ProblemFolder(ROOT))
    assert wanted == {file.name: file.read_text("utf-8") for file in SCHEMAS.iterdir()}
    for text in wanted.values():
        meta.validate(json.loads(text))


def test_every_shipped_file_names_the_schema_and_meets_it():
    checked = validator()
    for file in find_case_files(ROOT):
        node = json.loads(file.read_text("utf-8"))
        assert "../schema/case.schema.json" == node["$schema"]
        checked.validate(node)
    for file in (ROOT / "cases").glob("*/problem.json"):
        node = json.loads(file.read_text("utf-8"))
        assert "../schema/problem.schema.json" == node["$schema"]
        Draft202012Validator(json.loads((SCHEMAS / "problem.schema.json").read_text("utf-8"))).validate(node)


def changed(node: dict[str, Any], change: Callable[[dict[str, Any]], Any]) -> dict[str, Any]:
    copied = copy.deepcopy(node)
    change(copied)
    return copied


def inputs(node: dict[str, Any]) -> dict[str, Any]:
    return node["cases"][0]["inputs"]


def wrong_documents() -> Iterator[dict[str, Any]]:
    yield changed(GOOD, lambda node: node.update(problem="unknown"))
    yield changed(GOOD, lambda node: node.update(more=1))
    yield changed(GOOD, lambda node: node["cases"][0].update(more=1))
    yield changed(GOOD, lambda node: inputs(node).update(more=1))
    yield changed(GOOD, lambda node: inputs(node)["params"].update(more=1))
    yield changed(GOOD, lambda node: inputs(node)["params"].pop("w"))
    yield changed(GOOD, lambda node: inputs(node).update(y=[2]))
    yield changed(GOOD, lambda node: inputs(node).update(x=[1]))
    yield changed(GOOD, lambda node: inputs(node).update(x=[[1, 2, 3, 4, 5]]))
    yield changed(GOOD, lambda node: inputs(node).update(x=[]))
    yield changed(GOOD, lambda node: inputs(node).update(l2=-1))
    yield changed(GOOD, lambda node: node["cases"][0].update(expected={"loss": 1}))
    yield changed(GOOD, lambda node: node["cases"][0].update(uninformative=["grads.c"]))
    yield changed(GOOD, lambda node: inputs(node).update(x=[[1e39]]))
    yield changed(GOOD, lambda node: node["cases"][0].update(expected={"loss": 1, "grads": {"w": [1], "b": 1}}))
    yield changed(GENERATED, lambda node: node.update(rounding={"decimals": 1}, cases=EXPECTED["cases"]))
    yield changed(GENERATED, lambda node: node["origin"]["recipe"].update(strategy="none"))
    yield changed(GENERATED, lambda node: node["origin"]["recipe"]["dims"][0].update(N=9))
    yield changed(GENERATED, lambda node: node["origin"]["recipe"].update(more=1))
    yield changed(GENERATED, lambda node: node["origin"]["recipe"]["scales"][0].update(z=1))
    yield changed(GENERATED, lambda node: node["origin"]["recipe"]["dims"][0].pop("N"))


def test_right_documents_are_accepted():
    checked = validator()
    assert checked.is_valid(GOOD)
    assert checked.is_valid(GENERATED)
    assert checked.is_valid(EXPECTED)
    assert checked.is_valid({**GENERATED, "cases": GOOD["cases"]})


@pytest.mark.parametrize("document", list(wrong_documents()), ids=lambda node: json.dumps(node)[40:])
def test_wrong_documents_are_refused(document: dict[str, Any]):
    assert not validator().is_valid(document)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A root with one problem of its own, and no schemas."""
    folder = tmp_path / "cases" / "logistic_regression"
    folder.mkdir(parents=True)
    shutil.copy(ROOT / "cases" / "logistic_regression" / "problem.json", folder)
    return tmp_path


def test_schemas_are_written_for_a_root_of_ones_own_and_told_when_they_are_stale(root: Path):
    done = CliRunner().invoke(cli, ["schema", "--root", str(root)])
    assert (0, 4) == (done.exit_code, len(done.output.splitlines())), done.output
    assert validator(root / "cases" / "schema").is_valid(GOOD)
    assert 1 == len(CliRunner().invoke(cli, ["schema", "--root", str(root)]).output.splitlines())
    file = root / "cases" / "logistic_regression" / "problem.json"
    file.write_text(file.read_text("utf-8").replace('"maximum": 4', '"maximum": 5'), "utf-8")
    done = CliRunner().invoke(cli, ["new", "logistic_regression", "one", "--root", str(root)])
    assert 0 == done.exit_code, done.output
    assert CliRunner().invoke(cli, ["validate", "--root", str(root)]).exit_code == 0
    file.write_text(file.read_text("utf-8").replace('"maximum": 5', '"maximum": 6'), "utf-8")
    done = CliRunner().invoke(cli, ["validate", "--root", str(root)])
    assert 2 == done.exit_code
    assert (
        "logistic_regression.schema.json:1:1: $: found a schema that the problems do not give, wanted it written "
        "again: conformance schema" in done.output
    )


def test_a_case_is_begun_even_where_another_problem_has_a_fault(root: Path):
    other = root / "cases" / "other"
    other.mkdir()
    (other / "problem.json").write_text("{")
    done = CliRunner().invoke(cli, ["new", "logistic_regression", "one", "--root", str(root)])
    assert 0 == done.exit_code, done.output
    assert "cases/schema was not written, since another problem has a fault" in done.stderr
    assert (root / "cases" / "logistic_regression" / "one.json").is_file()


def test_the_editor_setting_names_the_schemas():
    settings = json.loads((ROOT / ".vscode" / "settings.json").read_text("utf-8"))
    for entry in settings["json.schemas"]:
        assert (ROOT / entry["url"]).is_file()
