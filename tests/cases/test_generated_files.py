"""Generated files: filled in byte for byte alike, expanded where they keep the recipe alone, and compared with it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from conformance.commands.cli import cli
from conformance.errors import InputFault
from conformance.files.case_file import load_cases
from conformance.files.discovery import find_case_files
from conformance.files.document import load_document
from conformance.files.generated import MOST_BYTES, check_regenerated, is_generated
from conformance.files.problem_file import ProblemFolder
from conformance.files.regeneration import regenerate
from conformance.values.case import Case

ROOT = Path(__file__).resolve().parents[2]
GENERATED = [file for file in find_case_files(ROOT) if is_generated(load_document(file))]
HEAD = """{
  "version": 1,   "problem": "logistic_regression",
  "origin": {"kind": "generated", "recipe": %s}
}
"""
MODERATE = '{"strategy": "moderate", "seed": 1, "count": 2, "dims": [{"N": 2, "D": 1}]}'
ZEROS = '{"strategy": "zeros", "seed": 1, "leaves": [["x"]], "dims": [{"N": 1, "D": 1}]}'


@pytest.fixture
def problems() -> ProblemFolder:
    return ProblemFolder(ROOT)


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Path]:
    monkeypatch.chdir(tmp_path)

    def write(recipe: str, head: str = HEAD) -> Path:
        file = tmp_path / "made.json"
        file.write_bytes((head % recipe).encode())
        return file

    return write


def fill(file: Path, problems: ProblemFolder) -> bytes:
    made = regenerate(file, problems)
    assert made is not None
    file.write_bytes(made.after)
    return made.after


def test_there_are_as_many_generated_cases_as_promised(problems: ProblemFolder):
    counts = dict.fromkeys(problems.names, 0)
    for file in GENERATED:
        counts[file.parent.name] += len(load_cases(file, problems))
    assert counts["logistic_regression"] >= 60
    assert counts["residual_mlp_block"] >= 40


@pytest.mark.parametrize("file", GENERATED, ids=lambda file: f"{file.parent.name}/{file.stem}")
def test_the_shipped_files_are_what_their_recipes_give_byte_for_byte(file: Path, problems: ProblemFolder):
    made = regenerate(file, problems)
    assert made is not None
    assert file.read_bytes() == made.after
    assert len(made.after) <= MOST_BYTES


def test_a_file_is_filled_in_and_all_else_stays_as_it_was_written(write: Callable[..., Path], problems: ProblemFolder):
    file = write(MODERATE)
    before = file.read_text()
    first = fill(file, problems)
    assert first.decode().startswith(before.rstrip("\n}"))
    assert first.decode().endswith("  ]\n}\n")
    assert first == fill(file, problems)
    assert ["n2-d1-1", "n2-d1-2"] == [case.name for case in load_cases(file, problems)]


def test_cases_that_the_recipe_does_not_give_are_replaced_even_where_they_are_wrong(
    write: Callable[..., Path], problems: ProblemFolder
):
    file = write(MODERATE)
    wanted = fill(file, problems)
    text = wanted.decode()
    for old, new in (('"name": "n2-d1-1"', '"name": 5'), ('"params"', '"parms"'), ('"why"', '"expected": 1, "why"')):
        assert old in text
        file.write_text(text.replace(old, new))
        assert wanted == fill(file, problems)


@pytest.mark.parametrize("mark", ["", "\ufeff"], ids=["plain", "byte order mark"])
def test_line_ends_and_the_place_of_the_cases_are_kept(write: Callable[..., Path], problems: ProblemFolder, mark: str):
    head = mark + '{\r\n  "version": 1,\r\n  "cases": [],\r\n  "problem": "logistic_regression",\r\n'
    file = write(MODERATE, head + '  "origin": {"kind": "generated", "recipe": %s}\r\n}\r\n')
    done = CliRunner().invoke(cli, ["generate", str(file), "--root", str(ROOT)])
    assert 0 == done.exit_code, done.output
    text = file.read_bytes().decode()
    assert text.startswith(mark + '{\r\n  "version": 1,\r\n  "cases": [\r\n    {\r\n      "name": "n2-d1-1",')
    assert "\n" not in text.replace("\r\n", "")
    assert 2 == len(load_cases(file, problems))


def test_a_recipe_alone_is_expanded_when_it_is_read_and_stands_where_the_recipe_does(
    write: Callable[..., Path], problems: ProblemFolder
):
    file = write(MODERATE)
    alone = load_cases(file, problems)
    fill(file, problems)
    filled = load_cases(file, problems)
    assert [case.content_hash for case in filled] == [case.content_hash for case in alone]
    assert [(3, "made"), (3, "made")] == [(case.line, case.group) for case in alone]
    assert [5, 15] == [case.line for case in filled]


LARGE = MODERATE.replace('"count": 2', '"count": 2000')


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('{"version": 1, "problem": "logistic_regression", "origin": %s}', None),
        ('{"version": 1, "problem": "logistic_regression", "origin": %s,\n"cases": [1]}', "%s}"),
        ('{"version": 1, "cases": [{}], "problem": "logistic_regression", "origin": %s}', None),
        ('{"cases": [],\n  "version": 1, "problem": "logistic_regression", "origin": %s}', None),
    ],
    ids=["none", "last", "between", "first"],
)
def test_a_file_that_would_be_too_large_keeps_the_recipe_alone(
    write: Callable[..., Path], problems: ProblemFolder, before: str, after: str | None
):
    origin = f'{{"kind": "generated", "recipe": {LARGE}}}'
    file = write(origin, before)
    made = regenerate(file, problems)
    assert made is not None
    assert (True, 2000) == (made.alone, made.cases)
    node = json.loads(made.after)
    assert {"version", "problem", "origin"} == set(node)
    assert after is None or made.after.decode().endswith(after % origin)
    file.write_bytes(made.after)
    assert 2000 == len(load_cases(file, problems))


def test_generate_tells_what_it_did_and_leaves_other_files_alone(write: Callable[..., Path]):
    file = write(MODERATE)
    for said in ("2 cases, written", "2 cases, unchanged"):
        done = CliRunner().invoke(cli, ["generate", str(file), "--root", str(ROOT)])
        assert (0, f"made.json: {said}\n") == (done.exit_code, done.output)
    file.write_text(HEAD % LARGE)
    done = CliRunner().invoke(cli, ["generate", str(file), "--root", str(ROOT)])
    assert "2000 cases, more than 256 KB, so it keeps the recipe alone" in done.output
    documented = ROOT / "cases" / "logistic_regression" / "documented.json"
    done = CliRunner().invoke(cli, ["generate", str(documented), "--root", str(ROOT)])
    assert done.exception is not None
    assert 'found no file whose origin.kind is "generated"' in str(done.exception)


def test_nothing_is_written_where_any_file_is_wrong(write: Callable[..., Path], tmp_path: Path):
    good = write(MODERATE).rename(tmp_path / "good.json")
    bad = write(MODERATE.replace('"N": 2', '"N": 9'))
    before = good.read_bytes()
    done = CliRunner().invoke(cli, ["generate", str(good), str(bad), "--root", str(ROOT)])
    assert isinstance(done.exception, InputFault)
    assert before == good.read_bytes()


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        (
            '"b": -0.',
            '"b": 0.',
            "$.cases[0].inputs.params.b: found 0.7116809, wanted -0.7116809, which the recipe gives",
        ),
        ('"n2-d1-2"', '"another"', '$.cases[1].name: found "another" (a string), wanted "n2-d1-2" (a string), which '),
        (
            '"why": "Random',
            '"ties": "allowed", "why": "Random',
            "$.cases[0]: found an object with the keys name, ties,",
        ),
    ],
)
def test_a_case_that_differs_from_the_recipe_is_named(
    write: Callable[..., Path], problems: ProblemFolder, old: str, new: str, fault: str
):
    file = write(MODERATE)
    text = fill(file, problems).decode()
    assert [] == list(check_regenerated(load_document(file), problems("logistic_regression")))
    assert old in text
    file.write_text(text.replace(old, new, 1))
    (found, *more) = check_regenerated(load_document(file), problems("logistic_regression"))
    assert not more
    assert fault in str(found)


def test_a_signed_zero_is_a_difference_and_another_way_to_write_a_number_is_none(
    write: Callable[..., Path], problems: ProblemFolder
):
    file = write(ZEROS)
    text = fill(file, problems).decode()
    for old, new, count in (("-0.0", "0.0", 1), ("[[0.0]]", "[[0]]", 0), ("[[0.0]]", "[[0e5]]", 0)):
        assert old in text
        file.write_text(text.replace(old, new, 1))
        assert count == len(list(check_regenerated(load_document(file), problems("logistic_regression"))))


def test_generated_cases_hold_no_expected_values(write: Callable[..., Path], problems: ProblemFolder):
    file = write(ZEROS)
    text = fill(file, problems).decode()
    value = '"expected": {"loss": 1.0, "grads": {"w": [1.0], "b": 1.0}}, "name"'
    file.write_text(text.replace('"name"', value, 1).replace('"origin"', '"rounding": {"decimals": 6}, "origin"'))
    with pytest.raises(InputFault) as caught:
        load_cases(file, problems)
    assert (
        "made.json:6:7: $.cases[0].expected: found expected values in a generated file, wanted none: the recipe gives "
        "inputs alone" == str(caught.value)
    )


def test_the_recipe_alone_of_the_large_blocks_is_shipped(problems: ProblemFolder):
    file = ROOT / "cases" / "residual_mlp_block" / "many-rows.json"
    assert file.stat().st_size < 1000
    cases: list[Case] = load_cases(file, problems)
    assert {"B": 64, "D": 64, "H": 256} == cases[0].dims
    assert (256, 64) == np.shape(cases[0].inputs["params"]["w2"])
