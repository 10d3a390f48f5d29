"""A hundred thousand mutated documents: each is read exactly as it is written, or refused with a place."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from conformance.errors import InputFault
from conformance.files.case_file import load_cases
from conformance.files.problem_file import ProblemFolder
from conformance.values.case import Case
from conformance.values.tree import leaves

ROOT = Path(__file__).resolve().parents[2]
PARTS = 20
BLOCKS = 50
DOCUMENTS = 100
"""In each block, which hypothesis draws the seed of: a draw for each document would take longer than reading it."""
PLACE = re.compile(r"fuzzed\.json:(\d+):(\d+): (\$.*)", re.DOTALL)
CASE: dict[str, Any] = {
    "name": "one",
    "why": "Ein Grund.",
    "inputs": {
        "params": {"w": [0.5, -1.0], "b": 0.25},
        "x": [[1.0, 2.0], [3.0, 4.0]],
        "y": [0.0, 1.0],
        "l2": 0.1,
    },
    "expected": {"loss": 1.0, "grads": {"w": [1.0, 2.0], "b": 3.0}},
    "uninformative": ["grads.b"],
}
HEAD: dict[str, Any] = {
    "version": 1,
    "problem": "logistic_regression",
    "origin": {"kind": "written"},
    "rounding": {"decimals": 6},
}
GENERATED: dict[str, Any] = {
    **{name: HEAD[name] for name in ("version", "problem")},
    "origin": {
        "kind": "generated",
        "recipe": {"strategy": "moderate", "seed": 3, "count": 2, "dims": [{"N": 2, "D": 1}], "spread": {"x": 2}},
    },
}
WRITTEN = json.dumps({**HEAD, "cases": [CASE]})
RECIPE = json.dumps(GENERATED)
VALUES: list[Any] = [
    *(None, True, False, "", "1", "name", "é\u2028", 0, 1, -1, 2, 7, 16777217, 2**31, 2**63, 10**40, -0.0, 0.5, 1e-46),
    *(
        float("nan"),
        1e39,
        3.5e38,
        1e-30,
        [],
        [1],
        [[1]],
        [[1.0, 2.0]],
        [1, "a"],
        {},
        {"w": 1},
        {"name": "one"},
        [[], [1]],
        [None],
    ),
]
NUMBERS: list[Any] = [
    0,
    1,
    2,
    3,
    0.0,
    -0.0,
    1.0,
    0.1,
    1e-30,
    1e30,
    123456.7,
    16777216,
    5e-324,
    1e39,
    -3.5e38,
    float("nan"),
    float("inf"),
]
TEXTS = [
    "",
    "0",
    "-",
    "e9",
    "E+5",
    ".",
    "[",
    "]",
    "{",
    "}",
    '"',
    ",",
    ":",
    "null",
    "NaN",
    "-Infinity",
    "1e400",
    "1e-400",
]
TEXTS += [
    "-0",
    "\\",
    "\\u",
    "\\ud800",
    "\x00",
    "\x1f",
    "é",
    "\ufeff",
    "// c\n",
    "\r\n",
    '"y": [1],',
    "\u2028",
    "[" * 200,
]


class Mutator:
    """Mutations of one document, chosen by a stream of bytes: what hypothesis draws."""

    def __init__(self, choices: bytes) -> None:
        self._choices = choices
        self._next = 0

    def below(self, limit: int) -> int:
        """The next choice, below `limit`; 0 where there is none left."""
        taken = self._choices[self._next : self._next + 2]
        self._next += 2
        return int.from_bytes(taken, "big") % max(1, limit)

    def pick(self, values: list[Any]) -> Any:
        return values[self.below(len(values))]

    def document(self) -> bytes:
        """Some bytes; most are near a case file, or a file with a recipe."""
        node: dict[str, Any] = json.loads(RECIPE if self.below(5) == 0 else WRITTEN)
        if "cases" in node and self.below(4) == 0:
            node["cases"] += [
                {**json.loads(WRITTEN)["cases"][0], "name": f"c{number}"} for number in range(self.below(12))
            ]
        kind = self.below(3)
        for _ in range(1 + self.below(2) if kind == 0 else 0):
            self._change(node)
        for _ in range(1 + self.below(4) if kind == 2 else 0):
            self._change_number(node)
        text = json.dumps(node, indent=self.pick([2, *[None] * 4]), ensure_ascii=self.below(2) == 0)
        if self.below(30) == 0:
            key = self.pick(['"inputs"', '"version"', '"kind"', '"b"', '"dims"'])
            text = text.replace(key, f"{key}: {self.pick(['1', '{}', '[1.0]'])}, {key}", 1)
        for _ in range(1 + self.below(3) if kind == 1 else 0):
            at, length = self.below(len(text)), self.below(8)
            text = text[:at] + self.pick([*TEXTS, text[at : at + 30], text[at : at + 1] * 2]) + text[at + length :]
        data = text.encode("utf-8", "surrogatepass")
        match self.below(40):
            case 0:
                at = self.below(len(data))
                data = data[:at] + bytes([self.below(256)]) + data[at + 1 :]
            case 1:
                data = data[: self.below(len(data))]
            case 2:
                data = b"\xef\xbb\xbf" + data
            case 3:
                data = text.encode(self.pick(["utf-16", "utf-32", "utf-16-le", "latin-1"]), "replace")
            case _:
                pass
        return data

    def _change_number(self, node: dict[str, Any]) -> None:
        """Changes a number of a case, or the way that it is made."""
        place: Any = node["cases"] if "cases" in node else node["origin"]["recipe"]
        while True:
            keys: list[Any] = list(place) if isinstance(place, dict) else list(range(len(place)))
            keys = [key for key in keys if not isinstance(place[key], str)]
            if not keys:
                return
            key = self.pick(keys)
            if isinstance(place[key], int | float):
                place[key] = (
                    self.pick(NUMBERS) if self.below(2) else place[key] * self.pick([1, 2, 0.5, 1.0000001, 3e-5])
                )
                return
            place = place[key]

    def _change(self, node: Any) -> None:
        """Changes one place of a tree, which is chosen on the way down."""
        while True:
            keys: list[Any] = list(node) if isinstance(node, dict) else list(range(len(node)))
            if not keys:
                return
            inner = [key for key in keys if isinstance(node[key], dict | list)]
            # Most of what there is to change lies deep inside.
            key = self.pick(inner if inner and self.below(5) else keys)
            if isinstance(node[key], dict | list) and self.below(10):
                node = node[key]
                continue
            break
        if isinstance(node[key], float) and self.below(3):
            node[key] *= self.pick([2.0, 0.3, 1e-3, 1e20, 1.0000001, 0.0, -1.0])
            return
        match self.below(8):
            case 0:
                del node[key]
            case 1 if isinstance(node, dict):
                node[self.pick(["", "more", "w", "y", "name", f"{key}x", "é"])] = node.pop(key)
            case 1:
                node.insert(key, json.loads(json.dumps(node[key])))
            case 2:
                node[key] = [node[key]]
            case 4 if isinstance(node[key], str):
                node[key] += self.pick(["", "x", " ", "/", "é", "A"])
            case _:
                node[key] = json.loads(json.dumps(self.pick(VALUES)))


def refuse_repeated(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    assert len(dict(pairs)) == len(pairs), "a repeated key was accepted"
    return dict(pairs)


def refuse_constant(text: str) -> Any:
    raise AssertionError(f"{text} was accepted")


def signed(text: str) -> Any:
    return -0.0 if text == "-0" else int(text)


def assert_read_as_written(data: bytes, cases: list[Case]) -> None:
    """The cases are what another reader finds in the text, number by number."""
    text = data.decode("utf-8-sig")
    node = json.loads(text, object_pairs_hook=refuse_repeated, parse_constant=refuse_constant, parse_int=signed)
    if "cases" not in node:
        assert node["origin"]["kind"] == "generated"
        return
    assert [case["name"] for case in node["cases"]] == [case.name for case in cases]
    for written, case in zip(node["cases"], cases, strict=True):
        assert written.get("why", "") == case.why
        assert set(written.get("uninformative", ())) == case.uninformative
        assert (written.get("ties") == "allowed") == case.allow_ties
        read = dict(leaves(case.inputs))
        found = dict(numbers(written["inputs"]))
        assert read.keys() == found.keys()
        for name, value in found.items():
            kind = np.float64 if name == "l2" else np.float32
            assert exactly(value, kind) == exactly(read[name], kind), (name, value, read[name])
        assert ("expected" in written) == (case.expected is not None)
        for name, value in numbers(written.get("expected", {})):
            assert case.expected is not None
            assert exactly(value, np.float64) == exactly(case.expected[name], np.float64), name


def numbers(node: Any, path: str = "") -> list[tuple[str, Any]]:
    if not isinstance(node, dict):
        return [(path, node)]
    return [pair for name, child in node.items() for pair in numbers(child, f"{path}.{name}" if path else name)]


def exactly(value: Any, kind: Any) -> tuple[tuple[int, ...], bytes]:
    """Shape and bits; written numbers are plain, or nested as deep as they should be."""
    array = np.asarray(value)
    assert array.dtype.kind in "fiu", value
    return array.shape, array.astype(kind).tobytes()


def assert_refused_with_a_place(data: bytes, error: InputFault) -> None:
    lines = data.decode("utf-8-sig", "replace").split("\n")
    assert error.faults
    for fault in error.faults:
        match = PLACE.fullmatch(str(fault))
        assert match is not None, str(fault)
        assert "\n" not in str(fault)
        line, column = int(match[1]), int(match[2])
        assert 1 <= line <= len(lines)
        assert 1 <= column <= len(lines[line - 1]) + 1
        assert re.search("[,;] wanted |makes a case with a fault|makes cases with", fault.message), fault.message


_RARE = 3
"""So many kinds of fault may be absent from one part by chance; each has a test of its own elsewhere."""
KINDS = {
    "syntax": "delimiter|closing bracket|wanted a value|key in double quotes|end of the file|wanted ','",
    "unknown key": "found the unknown key",
    "missing key": "found no key",
    "repeated key": "found this key again",
    "type": r"wanted (a number|an array|an object)",
    "ragged": r"found \d+ values, wanted \d+ as in",
    "dimension": r"found [ND] = \d+, wanted",
    "range": "within float32's range",
    "domain": "the domain of",
    "encoding": "wanted UTF-8|no UTF-8",
    "shape": r"found shape \[",
    "constant": "wanted a finite number",
    "recipe": r"\$\.origin\.recipe",
}


@pytest.mark.parametrize("part", range(PARTS))
def test_a_mutated_document_is_read_exactly_or_refused_with_a_place(
    part: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "fuzzed.json"
    problems = ProblemFolder(ROOT)
    accepted: set[bytes] = set()
    seen: Counter[str] = Counter()

    def read(data: bytes) -> None:
        file.write_bytes(data)
        try:
            cases = load_cases(file, problems)
        except InputFault as error:
            assert_refused_with_a_place(data, error)
            seen.update(kind for kind, words in KINDS.items() if re.search(words, str(error)))
            return
        assert_read_as_written(data, cases)
        accepted.add(data)

    @settings(
        max_examples=BLOCKS, derandomize=True, deadline=None, database=None, suppress_health_check=list(HealthCheck)
    )
    @given(st.integers(0, 2**64 - 1))
    def fuzz(seed: int) -> None:
        # Hypothesis draws the same in every part.
        bits = np.random.PCG64([part, seed])
        for _ in range(DOCUMENTS):
            read(Mutator(bits.random_raw(12).tobytes()).document())

    fuzz()
    # Neither all is refused, nor does the fuzzer look at the syntax alone.
    assert len(accepted) > BLOCKS * DOCUMENTS // 20
    missing = [kind for kind in KINDS if not seen[kind]]
    assert len(missing) <= _RARE, missing
