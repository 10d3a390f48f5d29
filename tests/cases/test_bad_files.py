"""Bad case files: each fault with its place, what was found and what was wanted."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from conformance.commands.cli import cli

ROOT = Path(__file__).resolve().parents[2]
FaultsOf = Callable[[str | bytes], list[str]]
W = "9:40: $.cases[0].inputs.params.w[1]: found "
NUMBER = ", wanted a number (params.w is float32[D])"
KIND = "documented, generated, reported or written"
NAME = "a name of a-z, 0-9, '.', '_' and '-', beginning with a letter or digit, since it becomes part of a test id"


BAD: list[tuple[str, str, list[str]]] = [
    ('"version": 1,', '"version": 2,', ["2:14: $.version: found 2, wanted 1"]),
    (
        '"version": 1,',
        '"version": 1, "version": 1,',
        ["2:17: $.version: found this key again, wanted it once (see line 2)"],
    ),
    (
        '{"decimals": 6}',
        '{"decimal": 6}',
        [
            '5:16: $.rounding.decimal: found the unknown key "decimal", wanted decimals or significant; '
            "did you mean decimals?"
        ],
    ),
    (
        '  "rounding": {"decimals": 6},\n',
        "",
        [
            '9:19: $.cases[0].expected: found expected values, wanted "rounding" in the file to say '
            "how they were rounded"
        ],
    ),
    ('"written"', '"found"', [f'4:22: $.origin.kind: found "found" (a string), wanted {KIND}']),
    ('"written"', '"documented"', ['4:13: $.origin: found no key "source", wanted it beside kind']),
    ('"one"', '"One two"', [f'8:15: $.cases[0].name: found "One two" (a string), wanted {NAME}']),
    ("[0.5, -1.0]", "[0.5, NaN]", [f"{W}NaN, wanted a finite number"]),
    ("[0.5, -1.0]", "[0.5, -Infinity]", [f"{W}-Infinity, wanted a finite number"]),
    ("[0.5, -1.0]", "[0.5, 1e400]", [f"{W}1e400, wanted a finite number"]),
    ("[0.5, -1.0]", "[0.5, -1e400]", [f"{W}-1e400, wanted a finite number"]),
    (
        "[0.5, -1.0]",
        "[0.5, 1e39]",
        [f"{W}1e+39, wanted a number within float32's range, at most 3.40282347e+38"],
    ),
    (
        "[0.5, -1.0]",
        "[0.5, 16777217]",
        [f"{W}16777217, which float32 does not hold; wanted 16777216, the nearest that it does"],
    ),
    (
        "[0.5, -1.0]",
        f"[0.5, {'9' * 5000}]",
        [f"{W}{'9' * 20}... (5000 characters), wanted a finite number"],
    ),
    ("[0.5, -1.0]", '[0.5, "1"]', [f'{W}"1" (a string){NUMBER}']),
    ("[0.5, -1.0]", "[0.5, true]", [f"{W}true (a boolean){NUMBER}"]),
    ("[0.5, -1.0]", "[0.5, null]", [f"{W}null{NUMBER}"]),
    (
        "[0.5, -1.0]",
        "0.5",
        ["9:34: $.cases[0].inputs.params.w: found 0.5, wanted an array of numbers (params.w is float32[D])"],
    ),
    ("[0.5, -1.0]", "[[0.5, 1.0]]", [f"9:35: $.cases[0].inputs.params.w[0]: found an array of 2{NUMBER}"]),
    (
        "[0.5, -1.0]",
        "[0.5]",
        [
            "9:58: $.cases[0].inputs.x: found D = 2, wanted D = 1 as in params.w (x is float32[N,D])",
            "10:48: $.cases[0].expected.grads.w: found shape [2], wanted [1] for float32[D]",
        ],
    ),
    ("[3.0, 4.0]", "[3.0]", ["9:77: $.cases[0].inputs.x[1]: found 1 values, wanted 2 as in [0]"]),
    (
        "[3.0, 4.0]]",
        "[3.0, 4.0], [5.0, 6.0]]",
        ["9:107: $.cases[0].inputs.y: found N = 2, wanted N = 3 as in x (y is float32[N])"],
    ),
    ("[0.0, 1.0]", "[0.0, 0.5]", ["9:101: $.cases[0].inputs.y[1]: found 0.5, wanted 0 or 1, the domain of y"]),
    ('"l2": 0.1', '"l2": -0.1', ["9:113: $.cases[0].inputs.l2: found -0.1, wanted at least 0, the domain of l2"]),
    (
        '"l2": 0.1',
        '"l3": 0.1',
        [
            '9:17: $.cases[0].inputs: found no key "l2", wanted it beside params, x, y or l3',
            '9:107: $.cases[0].inputs.l3: found the unknown key "l3", wanted params, x, y or l2',
        ],
    ),
    (
        '"w": [1.0, 2.0]',
        '"w": [1.0, 2.0, 3.0]',
        ["10:48: $.cases[0].expected.grads.w: found shape [3], wanted [2] for float32[D]"],
    ),
    (
        '"name": "one",',
        '"name": "one", "nmae": 1,',
        [
            '8:22: $.cases[0].nmae: found the unknown key "nmae", wanted name, why, inputs, expected, '
            "uninformative or ties; did you mean name?"
        ],
    ),
    (
        '"expected"',
        '"uninformative": ["grads.c"], "expected"',
        [
            '10:25: $.cases[0].uninformative[0]: found "grads.c" (a string), wanted loss, grads.w or grads.b; '
            "did you mean grads.w?"
        ],
    ),
    (
        '"expected"',
        '"ties": "maybe", "expected"',
        ['10:15: $.cases[0].ties: found "maybe" (a string), wanted "allowed"'],
    ),
    ("    }\n  ]", "    },\n  ]", ["11:6: $.cases[0]: found ',', wanted no comma before a closing bracket"]),
    ("  ]\n}\n", "  ]\n} x", ["13:3: $: found 'x', wanted the end of the file"]),
    ('"origin"', "origin", ["4:3: $: found 'o', wanted a key in double quotes"]),
    (
        "[[1.0, 2.0], [3.0, 4.0]]",
        "[" * 100_000 + "]" * 100_000,
        ["1:1: $: found arrays and objects nested too deep, wanted at most 100 levels"],
    ),
    (
        "[[1.0, 2.0], [3.0, 4.0]]",
        "[1.0, 2.0]",
        [
            f"9:{column}: $.cases[0].inputs.x[{index}]: found {value}, wanted an array of numbers (x is float32[N,D])"
            for index, column, value in ((0, 65, "1.0"), (1, 70, "2.0"))
        ],
    ),
    (
        "[[1.0, 2.0], [3.0, 4.0]]",
        "[]",
        [
            "9:64: $.cases[0].inputs.x: found N = 0, wanted at least 1, the domain of N",
            "9:73: $.cases[0].inputs.y: found N = 2, wanted N = 0 as in x (y is float32[N])",
        ],
    ),
    (
        "[0.0, 1.0]",
        "[[0.0, 1.0]]",
        ["9:96: $.cases[0].inputs.y[0]: found an array of 2, wanted a number (y is float32[N])"],
    ),
    (
        "[0.0, 1.0]",
        "[false, 1.0]",
        ["9:96: $.cases[0].inputs.y[0]: found false (a boolean), wanted a number (y is float32[N])"],
    ),
    (
        '"l2": 0.1',
        '"l2": "0.1"',
        ['9:113: $.cases[0].inputs.l2: found "0.1" (a string), wanted a number (l2 is float)'],
    ),
    ('"l2": 0.1', '"l2": null', ["9:113: $.cases[0].inputs.l2: found null, wanted a number (l2 is float)"]),
    (
        '"l2": 0.1',
        '"l2": 9007199254740993',
        [
            "9:113: $.cases[0].inputs.l2: found 9007199254740993, which float64 does not hold; "
            "wanted 9007199254740992.0, the nearest that it does"
        ],
    ),
    (
        '"w": [1.0, 2.0], "b": 3.0',
        '"w": [1.0, 2.0]',
        ['10:42: $.cases[0].expected.grads: found no key "b", wanted it beside w'],
    ),
    (
        '"loss": 1.0',
        '"loss": 1.0, "accuracy": 1.0',
        ['10:33: $.cases[0].expected.accuracy: found the unknown key "accuracy", wanted loss or grads'],
    ),
    (
        '"loss": 1.0',
        '"loss": [1.0]',
        ["10:28: $.cases[0].expected.loss: found an array of 1, wanted a number (loss is float32[])"],
    ),
    (
        '"loss": 1.0',
        '"loss": 1e39',
        [
            "10:28: $.cases[0].expected.loss: found 1e+39, wanted a number within float32's range, "
            "at most 3.40282347e+38"
        ],
    ),
    ('"one"', '""', [f'8:15: $.cases[0].name: found "" (a string), wanted {NAME}']),
    ('"one"', '"a::b"', [f'8:15: $.cases[0].name: found "a::b" (a string), wanted {NAME}']),
    ('"one"', '"a[b]"', [f'8:15: $.cases[0].name: found "a[b]" (a string), wanted {NAME}']),
    ('"one"', '"a/b"', [f'8:15: $.cases[0].name: found "a/b" (a string), wanted {NAME}']),
    ('"one"', "1", ["8:15: $.cases[0].name: found 1, wanted a string"]),
    (
        '{"decimals": 6}',
        '{"decimals": 6, "significant": 6}',
        ["5:15: $.rounding: found an object with the keys decimals, significant, wanted at most 1 key"],
    ),
    ('{"decimals": 6}', '{"decimals": 99}', ["5:28: $.rounding.decimals: found 99, wanted at most 15"]),
]


@pytest.mark.parametrize(("old", "new", "faults"), BAD)
def test_a_fault_is_told_with_its_place(faults_of: FaultsOf, good: str, old: str, new: str, faults: list[str]):
    assert good.count(old) >= 1
    assert faults == faults_of(good.replace(old, new, 1))


UNREADABLE = [
    (b"", "1:1: $: found an empty file, wanted a JSON object"),
    (b" \n\t", "1:1: $: found an empty file, wanted a JSON object"),
    ("{}".encode("utf-16"), "1:1: $: found UTF-16 or UTF-32, wanted UTF-8"),
    ("{}".encode("utf-32"), "1:1: $: found UTF-16 or UTF-32, wanted UTF-8"),
    (b"\xff{}", "1:1: $: found the byte 0xff, which is no UTF-8; wanted a file in UTF-8"),
    (b"[]", "1:1: $: found an array of 0, wanted an object"),
    (b"3", "1:1: $: found 3, wanted an object"),
    (b'{"a": 1', "1:8: $.a: found the end of the file, wanted ',' or the end of the array or object"),
    (b"[" * 200_000, "1:1: $: found arrays and objects nested too deep, wanted at most 100 levels"),
]


@pytest.mark.parametrize(("content", "fault"), UNREADABLE)
def test_what_is_no_json_object_in_utf8_is_told_once(faults_of: FaultsOf, content: bytes, fault: str):
    assert [fault] == faults_of(content)


def test_an_unknown_problem_is_told_with_the_known_ones(faults_of: FaultsOf, good: str):
    (fault,) = faults_of(good.replace("logistic_regression", "logistic_regresion"))
    assert fault.startswith("3:14: $.problem: found the problem 'logistic_regresion', wanted logistic_regression or ")
    assert fault.endswith("did you mean logistic_regression?")


def test_half_of_a_surrogate_pair_is_told(faults_of: FaultsOf, good: str):
    (fault,) = faults_of(good.replace("one", "\\ud800"))
    assert "8:15: $: found half of a surrogate pair" in fault


def test_all_faults_of_a_file_are_told(faults_of: FaultsOf, good: str):
    text = good.replace('"version": 1', '"version": 3').replace("-1.0", "NaN").replace("0.25", '"b"')
    assert 3 == len(faults_of(text))


def test_columns_count_characters_not_bytes(faults_of: FaultsOf, good: str):
    text = good.replace('"name": "one",', '"why": "déjà vu", "name": 1,')
    assert [column for fault in faults_of(text) for column in [fault.split(": ")[0]]] == ["8:33"]


def test_two_cases_of_one_name_are_told(faults_of: FaultsOf, good: str):
    case = good[good.index("    {\n") : good.index("    }\n") + 5]
    (fault,) = faults_of(good.replace(case, f"{case},\n{case}"))
    assert "$.cases[1].name: found 'one' again, wanted a name of its own ($.cases[0] has it)" in fault


def test_a_file_without_cases_is_told(faults_of: FaultsOf, good: str):
    start, end = good.index("[\n    {"), good.rindex("]")
    assert ["6:12: $.cases: found an array of 0, wanted at least 1"] == faults_of(good[:start] + "[" + good[end:])
    (fault,) = faults_of(good[: good.index(',\n  "cases"')] + "\n}\n")
    assert '1:1: $: found no key "cases", wanted it beside version, problem, origin or rounding' == fault


def run(*arguments: str | Path) -> Result:
    """What came of ``conformance validate``, of the root of this repository."""
    return CliRunner().invoke(cli, ["validate", *map(str, arguments), "--root", str(ROOT)])


def test_every_bad_file_is_told_by_the_command_without_a_traceback(
    good: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    wanted: list[str] = []
    for number, (old, new, faults) in enumerate(BAD):
        (tmp_path / f"bad{number}.json").write_text(good.replace(old, new, 1))
        wanted += [f"bad{number}.json:{fault}" for fault in faults]
    for number, (content, fault) in enumerate(UNREADABLE):
        (tmp_path / f"no{number}.json").write_bytes(content)
        wanted.append(f"no{number}.json:{fault}")
    (tmp_path / "good.json").write_text("\ufeff" + good)
    (tmp_path / "folder.json").mkdir()
    done = run(tmp_path)
    *faults, counts = done.output.splitlines()
    assert sorted(wanted) == sorted(faults)
    files = len(BAD) + len(UNREADABLE) + 1
    assert f"{files} case files, 1 case, {len(wanted)} faults" == counts
    assert 2 == done.exit_code


def test_names_and_places_across_files_are_told(good: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    shutil.copytree(ROOT / "cases", "cases", ignore=shutil.ignore_patterns("[!p]*.json", "schema"))
    for place in ("cases/residual_mlp_block/a.json", "one/a.json", "two/a.json"):
        Path(place).parent.mkdir(exist_ok=True)
        Path(place).write_text(good)
    done = CliRunner().invoke(cli, ["validate", "cases", "one", "two", "--root", "."])
    *faults, counts = done.output.splitlines()
    assert [
        "cases/residual_mlp_block/a.json:3:14: $.problem: found 'logistic_regression' in a file in "
        "cases/residual_mlp_block, wanted it in cases/logistic_regression",
        "two/a.json:7:1: $.cases: found the case logistic_regression/a/one, which one/a.json:7 has too; wanted another "
        "file name",
    ] == faults
    assert "2 problem files, 3 case files, 2 cases, 2 faults" == counts


def test_faults_are_annotations_where_a_workflow_wants_them(good: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    Path("a,b.json").write_text(good.replace('"l2": 0.1', '"l2": "100%"'))
    done = run("a,b.json", "--format", "github")
    assert [
        '::error file=a%2Cb.json,line=9,col=113,title=conformance::$.cases[0].inputs.l2: found "100%25" (a string), '
        "wanted a number (l2 is float)",
        "1 case file, 1 fault",
    ] == done.output.splitlines()
    assert 2 == done.exit_code


def test_a_file_that_cannot_be_read_does_not_hide_the_faults_of_others(
    good: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    Path("loop.json").symlink_to("loop.json")
    Path("nowhere.json").symlink_to("missing")
    Path("bad.json").write_text(good.replace('"version": 1', '"version": 3'))
    done = run(".")
    assert "bad.json:2:14: $.version: found 3, wanted 1" == done.output.splitlines()[0]
    assert [
        "loop.json:1:1: $: found a file that cannot be read (Too many levels of symbolic links), wanted a JSON file",
        "nowhere.json:1:1: $: found a file that cannot be read (No such file or directory), wanted a JSON file",
    ] == done.output.splitlines()[1:-1]
