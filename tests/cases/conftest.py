"""What the tests of problem files and case files share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from conformance.errors import InputFault
from conformance.files.case_file import load_cases
from conformance.files.problem_file import ProblemFolder
from conformance.values.case import Case

ROOT = Path(__file__).resolve().parents[2]

GOOD = """{
  "version": 1,
  "problem": "logistic_regression",
  "origin": {"kind": "written"},
  "rounding": {"decimals": 6},
  "cases": [
    {
      "name": "one",
      "inputs": {"params": {"w": [0.5, -1.0], "b": 0.25}, "x": [[1.0, 2.0], [3.0, 4.0]], "y": [0.0, 1.0], "l2": 0.1},
      "expected": {"loss": 1.0, "grads": {"w": [1.0, 2.0], "b": 3.0}}
    }
  ]
}
"""


@pytest.fixture
def good() -> str:
    """A case file without fault."""
    return GOOD


@pytest.fixture
def root() -> Path:
    """The repository."""
    return ROOT


@pytest.fixture
def load(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str | bytes], list[Case]]:
    """A function that loads the cases of a file ``bad.json`` with that content."""
    monkeypatch.chdir(tmp_path)

    def load(content: str | bytes) -> list[Case]:
        file = tmp_path / "bad.json"
        file.write_bytes(content if isinstance(content, bytes) else content.encode())
        return load_cases(file, ProblemFolder(ROOT))

    return load


@pytest.fixture
def faults_of(load: Callable[[str | bytes], list[Case]]) -> Callable[[str | bytes], list[str]]:
    """A function that tells the faults of such a file, without the file's name."""

    def faults_of(content: str | bytes) -> list[str]:
        with pytest.raises(InputFault) as caught:
            load(content)
        lines = str(caught.value).splitlines()
        assert all(line.startswith("bad.json:") for line in lines)
        return [line.removeprefix("bad.json:") for line in lines]

    return faults_of
