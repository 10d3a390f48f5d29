"""Many cases of one shape: read together, they are what each is when it is read alone, fault for fault."""

from __future__ import annotations

import contextlib
import json
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from conformance.errors import InputFault
from conformance.files import case_file
from conformance.files.case_file import load_cases
from conformance.files.case_reader import CaseReader
from conformance.files.problem_file import ProblemFolder
from conformance.values.case import Case
from conformance.values.tree import leaves

COUNT = 12
"""More than are read one by one."""
EVERY_LEAF = {
    "version": 1,
    "problem": "every_leaf",
    "title": "One leaf of each kind",
    "statement": "Nothing is computed.",
    "inputs": {
        "f": "float32[N]",
        "i": "int32[N]",
        "b": "bool[N]",
        "pair": {"tuple": ["float32[N,M]", ["float32[]"]]},
        "nothing": {},
        "factor": "float",
        "whole": "static int",
        "real": "static float",
        "text": "static str",
        "flag": "static bool",
        "seed": "key",
    },
    "outputs": {"tuple": ["float32[N]", {"count": "int32[]", "flags": "bool[N]"}]},
    "domain": {"text": {"enum": ["a", "b"]}, "whole": {"maximum": 5}, "i": {"minimum": -3}, "f": {"minimum": -100}},
}
CASE: dict[str, Any] = {
    "inputs": {
        "f": [0.5, -0.0],
        "i": [1, -2],
        "b": [True, False],
        "pair": [[[0.1, 0.2, 3], [1e-3, 5.0, 6.0]], [0.25]],
        "nothing": {},
        "factor": 0.1,
        "whole": 3,
        "real": 1,
        "text": "a",
        "flag": True,
        "seed": 7,
    },
    "expected": [[1.5, 2], {"count": 4, "flags": [False, True]}],
}


@pytest.fixture
def problems(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ProblemFolder:
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "cases" / "every_leaf"
    folder.mkdir(parents=True)
    (folder / "problem.json").write_text(json.dumps(EVERY_LEAF))
    return ProblemFolder(tmp_path)


Read = Callable[..., list[Case]]


@pytest.fixture
def read(problems: ProblemFolder) -> Read:
    def read(cases: list[Any], *, alone: bool = False) -> list[Case]:
        file = Path("some.json")
        head = {"version": 1, "problem": "every_leaf", "origin": {"kind": "written"}, "rounding": {"decimals": 6}}
        named = [{"name": f"c{number}", **case} for number, case in enumerate(cases)]
        file.write_text(json.dumps({**head, "cases": named}))
        with pytest.MonkeyPatch.context() as patch:
            if alone:
                patch.setattr(case_file, "read_contents", one_by_one)
            return load_cases(file, problems)

    return read


def one_by_one(reader: CaseReader, _problem: object, cases: list[Any]) -> list[Any]:
    return [reader.read(index, case) for index, case in enumerate(cases)]


def change(path: list[Any], value: Any) -> Any:
    """The case with another value at a path."""
    changed = json.loads(json.dumps(CASE))
    node = changed
    for step in path[:-1]:
        node = node[step]
    node[path[-1]] = value
    return changed


def tell(read: Read, cases: list[Any], *, alone: bool) -> list[Any]:
    """All that is read, or the faults."""
    try:
        return [describe(case) for case in read(cases, alone=alone)]
    except InputFault as error:
        return str(error).splitlines()


def describe(case: Case) -> tuple[Any, ...]:
    values = [*leaves(dict(case.inputs)), *(case.expected or {}).items()]
    told = [
        (name, type(value), value.dtype, value.shape, value.tobytes())
        if isinstance(value, np.ndarray)
        else (name, type(value), value)
        for name, value in values
    ]
    kinds = [type(case.inputs["pair"]), type(case.inputs["pair"][1]), case.inputs["nothing"]]
    return case.name, told, kinds, case.dims, case.content_hash, case.line


def count_read_alone(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The numbers of the cases that the exact reader reads, from now on."""
    seen: list[int] = []
    original = CaseReader.read

    def read(self: CaseReader, index: int, case: Any) -> Any:
        seen.append(index)
        return original(self, index, case)

    monkeypatch.setattr(CaseReader, "read", read)
    return seen


def test_cases_of_one_shape_are_read_together_just_as_alone(read: Read, monkeypatch: pytest.MonkeyPatch):
    cases = [change(["inputs", "factor"], number / 7) for number in range(COUNT)]
    wanted = tell(read, cases, alone=True)
    seen = count_read_alone(monkeypatch)
    assert wanted == tell(read, cases, alone=False)
    assert [0] == seen


def test_cases_of_several_shapes_keep_their_order(read: Read):
    bare = {"inputs": CASE["inputs"]}
    longer = change(["inputs", "pair", 0], [[1.0] * 4] * 2)
    cases = [CASE, longer, bare] * COUNT
    assert tell(read, cases, alone=True) == tell(read, cases, alone=False)


def test_values_read_together_cannot_be_changed_and_can_be_sent(read: Read):
    case = read([CASE] * COUNT)[-1]
    for value in (case.inputs["f"], case.inputs["pair"][1][0], (case.expected or {})["0"]):
        assert not value.flags.writeable
        with pytest.raises(ValueError, match="WRITEABLE"):
            value.setflags(write=True)
    assert describe(case) == describe(pickle.loads(pickle.dumps(case)))
    assert len(pickle.dumps(case)) < 1.2 * len(pickle.dumps(read([CASE])[0]))


ODD: list[tuple[list[Any], Any]] = [
    (["inputs", "f", 1], True),
    (["inputs", "f", 1], "1"),
    (["inputs", "f", 1], None),
    (["inputs", "f", 1], 2**24 + 1),
    (["inputs", "f", 1], 2**24 + 2),
    (["inputs", "f", 1], 2**70),
    (["inputs", "f", 1], 10**307),
    (["inputs", "f", 1], 1e39),
    (["inputs", "f", 1], 1e-60),
    (["inputs", "f", 1], -101),
    (["inputs", "f", 1], float("nan")),
    (["inputs", "f"], [1.0, 2.0, 3.0]),
    (["inputs", "f"], []),
    (["inputs", "f"], 1.0),
    (["inputs", "f", 1], [1.0]),
    (["inputs", "i", 1], 1.0),
    (["inputs", "i", 1], True),
    (["inputs", "i", 1], 2**31),
    (["inputs", "i", 1], 2**64),
    (["inputs", "i", 1], -4),
    (["inputs", "b", 1], 0),
    (["inputs", "b", 1], "true"),
    (["inputs", "pair", 0], [[1.0, 2.0, 3.0], [1.0, 2.0]]),
    (["inputs", "pair", 0], [[1.0, 2.0, 3.0], [1.0, 2.0, 3.0, 4.0]]),
    (["inputs", "pair", 0], [[1.0, 2.0, 3.0], True]),
    (["inputs", "pair", 0], []),
    (["inputs", "pair", 0], [[], []]),
    (["inputs", "pair", 1], []),
    (["inputs", "pair", 1, 0], False),
    (["inputs", "nothing"], {"a": 1}),
    (["inputs", "factor"], True),
    (["inputs", "factor"], 2**53 + 1),
    (["inputs", "factor"], 2**53 + 2),
    (["inputs", "whole"], 6),
    (["inputs", "whole"], 3.0),
    (["inputs", "whole"], -(2**63) - 1),
    (["inputs", "whole"], -(2**62) - 1),
    (["inputs", "real"], 0.1),
    (["inputs", "text"], "c"),
    (["inputs", "text"], "b"),
    (["inputs", "flag"], 1),
    (["inputs", "seed"], 2**31),
    (["inputs", "seed"], 1.0),
    (["expected", 0, 1], True),
    (["expected", 0, 1], 1e39),
    (["expected", 0], [1.0]),
    (["expected", 0], [1.0, 2.0, 3.0]),
    (["expected", 1, "count"], 4.0),
    (["expected", 1, "flags", 0], 1),
]


@pytest.mark.parametrize(("path", "value"), ODD, ids=[f"{'.'.join(map(str, p))}={v!r:.20}" for p, v in ODD])
@pytest.mark.parametrize("place", [0, COUNT - 1], ids=["first", "last"])
def test_what_is_out_of_the_ordinary_is_read_or_refused_as_alone(read: Read, path: list[Any], value: Any, place: int):
    cases = [CASE] * COUNT
    cases[place] = change(path, value)
    assert tell(read, cases, alone=True) == tell(read, cases, alone=False)


WRONG_TYPES: list[tuple[list[Any], Any]] = [
    (["inputs", "f", 1], True),
    (["inputs", "f", 1], "1"),
    (["inputs", "f", 1], None),
    (["inputs", "i", 1], 1.0),
    (["inputs", "i", 1], True),
    (["inputs", "b", 1], 0),
    (["inputs", "pair", 1, 0], False),
    (["inputs", "factor"], True),
    (["inputs", "whole"], 3.0),
    (["inputs", "whole"], True),
    (["inputs", "text"], 1),
    (["inputs", "flag"], 1),
    (["inputs", "seed"], 1.0),
    (["expected", 0, 1], True),
    (["expected", 1, "count"], True),
]


@pytest.mark.parametrize(("path", "value"), WRONG_TYPES, ids=[f"{'.'.join(map(str, p))}={v!r}" for p, v in WRONG_TYPES])
def test_a_wrong_type_is_left_to_the_exact_reader_even_without_a_schema(
    read: Read, monkeypatch: pytest.MonkeyPatch, path: list[Any], value: Any
):
    """NumPy alone would take true for 1.0."""
    monkeypatch.setattr("conformance.files.schemas.Schema.check", lambda *_: [])
    seen = count_read_alone(monkeypatch)
    with contextlib.suppress(InputFault, TypeError):
        read([CASE] * (COUNT - 1) + [change(path, value)])
    assert 1 in seen
