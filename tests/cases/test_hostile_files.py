"""Files that somebody made to break things: each is told with its place, quickly, and nothing is half read."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from conformance.commands.cli import cli
from conformance.errors import InputFault
from conformance.files.document import printable, show
from conformance.files.problem_file import ProblemFolder, load_problem
from conformance.files.regeneration import regenerate

FaultsOf = Callable[[str | bytes], list[str]]
ROOT = Path(__file__).resolve().parents[2]
DEEP = "[" * 600


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        (
            '"b": 0.25',
            '"b": 1e+5, "c": 1',
            '9:58: $.cases[0].inputs.params.c: found the unknown key "c", wanted w or b',
        ),
        ("[0.5, -1.0]", "[1e+5, 2E+0, NaN]", "9:47: $.cases[0].inputs.params.w[2]: found NaN, wanted a finite number"),
        (
            '"l2": 0.1',
            '"l2": -1e+5',
            "9:113: $.cases[0].inputs.l2: found -100000.0, wanted at least 0, the domain of l2",
        ),
        (
            "[0.5, -1.0]",
            "[0.5, 1e-400]",
            "9:40: $.cases[0].inputs.params.w[1]: found 1e-400, wanted 0 or a number that float64 holds",
        ),
        ('"name": "one"', '"name": "e+5", "n\\u0000": 1', "8:22: "),
        (
            "[[1.0, 2.0], [3.0, 4.0]]",
            '{"a\\n::error::b": 1}',
            "9:64: $.cases[0].inputs.x: found an object with the keys a\\x0a::error::b, wanted an array of arrays of "
            "numbers (x is float32[N,D])",
        ),
        (
            "[0.5, -1.0]",
            DEEP + "NaN" + "]" * 600,
            "1:1: $: found arrays and objects nested too deep, wanted at most 100 levels",
        ),
        (
            "[0.5, -1.0]",
            DEEP + '{"a": 1, "a": 2}' + "]" * 600,
            "1:1: $: found arrays and objects nested too deep, wanted at most 100 levels",
        ),
        (
            "[0.5, -1.0]",
            DEEP + "1" + "]" * 600,
            "1:1: $: found arrays and objects nested too deep, wanted at most 100 levels",
        ),
        ("{", "\ufeff\ufeff{", "1:1: $: found a second byte order mark, wanted a JSON object"),
    ],
    ids=range(10),
)
def test_what_hides_its_place_is_told_with_it(faults_of: FaultsOf, good: str, old: str, new: str, fault: str):
    assert any(found.startswith(fault) for found in faults_of(good.replace(old, new, 1)))


def test_a_zero_keeps_its_sign_however_it_is_written(load: Callable[[str], list[Any]], good: str):
    for written, sign in (("-0", True), ("-0.0", True), ("0", False), ("-0e5", True)):
        (case,) = load(good.replace('"b": 0.25', f'"b": {written}'))
        assert sign == bool(str(case.inputs["params"]["b"]).startswith("-"))


@pytest.mark.parametrize("kind", ["pipe", "device", "folder"])
def test_what_is_no_regular_file_is_refused_and_not_read(tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "x.json"
    match kind:
        case "pipe":
            os.mkfifo(file)
        case "device":
            file.symlink_to("/dev/zero")
        case _:
            file.mkdir()
            (file / "y.json").symlink_to(file)
    done = CliRunner().invoke(cli, ["validate", str(tmp_path), "--root", str(ROOT)])
    if kind == "folder":
        assert "found none, wanted *.json" in str(done.exception)
        return
    assert 2 == done.exit_code
    assert "1:1: $: found a pipe, device or folder, wanted a regular file" in done.output


@pytest.mark.parametrize("place", ["keys", "cases", "one line"])
def test_thousands_of_faults_are_all_told(faults_of: FaultsOf, good: str, place: str):
    # tests/benchmarks/reading.py measures that their time grows in proportion.
    count = 3000
    if place == "keys":
        text = good.replace('"one",', '"one",' + "".join(f'"k{n}": 1,' for n in range(count)) + '"k0": 1,')
    else:
        start, end = good.index("    {\n"), good.rindex("    }\n") + 5
        case = good[start:end].replace('"name"', '"more": 1, "name"')
        text = good[:start] + ",\n".join(case.replace("one", f"c{n}") for n in range(count)) + good[end:]
        text = text.replace("\n", " ") if place == "one line" else text
    found = faults_of(text)
    assert count + (place == "keys") == len(found) == len(set(found))


def test_names_of_files_cannot_break_a_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, good: str):
    monkeypatch.chdir(tmp_path)
    names = ["a\n::error::b.json", "\udcff.json", "a::b.json", "a[1].json"]
    for name in names:
        Path(name).write_text(good if "b" in name or "[" in name else "{")
    done = CliRunner().invoke(cli, ["validate", ".", "--root", str(ROOT)])
    assert 2 == done.exit_code
    lines = done.output.splitlines()
    assert all(re.match(r"[^:].*\.json:\d+:\d+: \$|\d+ case files", line) for line in lines), lines
    assert any(
        "found the file name a[1].json, wanted one without '::', '[' and ']': test ids have them" in line
        for line in lines
    )
    assert "a\\x0a::error::b.json" == show(Path(names[0]))
    assert "\\udcff\\x1b" == printable("\udcff\x1b")


def problem(inputs: Any, domain: Any, outputs: Any = "float32[]") -> dict[str, Any]:
    head = {"version": 1, "problem": "p", "title": "t", "statement": "s"}
    return {**head, "inputs": inputs, "outputs": outputs, "domain": domain}


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[dict[str, Any]], Path]:
    monkeypatch.chdir(tmp_path)

    def write(node: dict[str, Any]) -> Path:
        folder = tmp_path / "cases" / "p"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "problem.json").write_text(json.dumps(node, indent=1))
        return folder

    return write


@pytest.mark.parametrize(
    ("inputs", "domain", "fault"),
    [
        ({"a": [], "x": "float32[]"}, {}, "$.inputs.a: found an array of 0, wanted at least 1"),
        ({"a": {"tuple": []}, "x": "float32[]"}, {}, "$.inputs.a.tuple: found an array of 0, wanted at least 1"),
        ({"x": f"float32[{','.join(['1'] * 70)}]"}, {}, "$.inputs.x: found 70 dimensions, wanted at most 32"),
        ({"i": "int32[]"}, {"i": {"minimum": 2**40}}, "wanted an integer that int32[] can be for i"),
        ({"x": "float32[N]"}, {"N": {"minimum": 2**70}}, "wanted an integer of at least 0 that a size can be for N"),
        ({"x": "float32[]"}, {"x": {"minimum": 1e39}}, "wanted a number that float32[] can be for x"),
        ({"k": "key"}, {"k": {"maximum": -1}}, "found -1, wanted an integer that key can be for k"),
        ({"x": "float"}, {"x": {"minimum": 1, "enum": [0]}}, "$.domain.x: found limits that no value of x meets"),
        (
            {"x": "float"},
            {"x": {"exclusiveMinimum": 1, "maximum": 1}},
            "$.domain.x: found limits that no value of x meets",
        ),
    ],
)
def test_a_problem_that_nothing_could_meet_is_refused(
    write: Callable[[dict[str, Any]], Path], inputs: Any, domain: Any, fault: str
):
    with pytest.raises(InputFault) as caught:
        load_problem(write(problem(inputs, domain)))
    assert fault in str(caught.value)


RECIPE = {"strategy": "moderate", "seed": 1, "count": 1}
AFFINE = {"strategy": "affine-targets", "seed": 1, "targets": [1], "affine": {"inputs": "x", "weights": "w"}}


@pytest.mark.parametrize(
    ("inputs", "domain", "recipe", "fault"),
    [
        (
            {"x": "float32[N]"},
            {},
            {**RECIPE, "count": 10_000, "dims": [{"N": 100_000}]},
            "found a recipe of 1000000000 numbers",
        ),
        (
            {"x": "float32[N,D]"},
            {},
            {**RECIPE, "count": 10_000, "dims": [{"N": 100_000, "D": 0}]},
            "found a recipe of 1000000000 numbers, wanted at most 5000000",
        ),
        (
            {"x": "float32[N,D]", "w": "float32[D]"},
            {},
            {**AFFINE, "dims": [{"N": 0, "D": 1}]},
            "$.origin.recipe: found a recipe that makes no case at these sizes, wanted one case at least",
        ),
        ({"f": "static float"}, {"f": {"minimum": 1e300}}, RECIPE, "found numbers of f that are too large"),
        (
            {"x": "float32[]"},
            {"x": {"minimum": 3.4e38}},
            {**RECIPE, "spread": {"x": 1e38}},
            "numbers of x that are too large",
        ),
        (
            {"k": "key"},
            {},
            {**RECIPE, "choices": {"k": [-1]}},
            "$.origin.recipe.choices.k[0]: found -1, wanted at least 0",
        ),
        (
            {"i": "int32[2]"},
            {},
            {**RECIPE, "choices": {"i": [4294967301]}},
            "found 4294967301, wanted at most 2147483647",
        ),
        (
            {"x": "float32[]"},
            {},
            {**RECIPE, "choices": {"x": [1e-60]}},
            "choices.x[0]: found 1e-60, wanted a number that float32",
        ),
        (
            {"x": "float32[]"},
            {},
            {**RECIPE, "choices": {"x": [0.1, 16777217]}},
            "choices.x[1]: found 16777217, wanted a number",
        ),
        (
            {"x": "float32[]"},
            {},
            {**RECIPE, "choices": {"x": [1e39]}},
            "choices.x[0]: found 1e+39, wanted a number that float32",
        ),
    ],
    ids=range(10),
)
def test_a_recipe_that_cannot_be_carried_out_is_refused(
    write: Callable[[dict[str, Any]], Path], inputs: Any, domain: Any, recipe: Any, fault: str
):
    file = write(problem(inputs, domain)) / "made.json"
    file.write_text(json.dumps({"version": 1, "problem": "p", "origin": {"kind": "generated", "recipe": recipe}}))
    with pytest.raises(InputFault) as caught:
        regenerate(file, ProblemFolder(Path.cwd()))
    assert fault in str(caught.value)


@pytest.mark.parametrize(
    ("inputs", "domain", "recipe"),
    [
        ({"_x": "float32[N]"}, {}, {"strategy": "zeros", "seed": 1, "leaves": [["_x"]], "dims": [{"N": 2}]}),
        ({"x": "float32[n,N]"}, {}, {**RECIPE, "dims": [{"n": 1, "N": 2}, {"n": 2, "N": 1}]}),
        ({"i": "int32[2]", "j": "static int"}, {"i": {"maximum": -5}, "j": {"minimum": 2**62}}, RECIPE),
        ({"j": "static int", "i": "int32[]"}, {"j": {"minimum": -(2**62)}, "i": {"exclusiveMinimum": 3}}, RECIPE),
        ({"x": "float32[2]"}, {"x": {"minimum": -1000, "maximum": 1000}}, {**RECIPE, "spread": {"x": 1e-6}}),
        ({"x": "float32[N]"}, {}, {**RECIPE, "seed": 1.0, "count": 2.0, "dims": [{"N": 3.0}]}),
        ({"a": {"tuple": ["float32[]", "bool[2]"]}, "s": "static str", "k": "key"}, {}, RECIPE),
    ],
    ids=range(7),
)
def test_what_a_recipe_makes_is_read_again_as_it_was_made(
    write: Callable[[dict[str, Any]], Path], inputs: Any, domain: Any, recipe: Any
):
    file = write(problem(inputs, domain)) / "made.json"
    file.write_text(json.dumps({"version": 1, "problem": "p", "origin": {"kind": "generated", "recipe": recipe}}))
    problems = ProblemFolder(Path.cwd())
    made = regenerate(file, problems)
    assert made is not None
    file.write_bytes(made.after)
    again = regenerate(file, problems)
    assert again is not None
    assert made.after == again.after
    names = [case["name"] for case in json.loads(made.after)["cases"]]
    assert len(set(names)) == len(names) == made.cases
    if "spread" in recipe:
        assert all(abs(x) <= 1e-6 for x in json.loads(made.after)["cases"][0]["inputs"]["x"])


def test_new_leaves_no_file_behind_that_is_wrong(write: Callable[[dict[str, Any]], Path]):
    for inputs, domain, said in (
        ({"x": "float32[N]"}, {"N": {"enum": [5, 7]}}, "a valid case to begin with"),
        ({"x": "float32[N]"}, {"N": {"exclusiveMinimum": 3}}, "a valid case to begin with"),
        ({"x": "float32[]"}, {"x": {"enum": [0.123456789012]}}, "no case could be guessed"),
    ):
        folder = write(problem(inputs, domain))
        done = CliRunner().invoke(cli, ["new", "p", "one"])
        assert said in done.output + str(done.exception)
        assert ("valid" in said) == (folder / "one.json").exists()
        (folder / "one.json").unlink(missing_ok=True)
    write(problem({"x": "float32[N]"}, {}))
    done = CliRunner().invoke(cli, ["new", "p", "one", "--dims", "N=1000000000"])
    assert "found sizes that make 1000000000 numbers; wanted at most 100000" in str(done.exception)
