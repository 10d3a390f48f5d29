"""Starting the side, and loading oracles by file path under private names."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from conformance.errors import LoadError, OracleFault, SideUnavailable
from conformance.values.arithmetic import CPU

SIGNATURE: tuple[dict[str, str], str] = ({"x": "float32[N]"}, "float32[N]")


def test_importing_the_package_does_not_import_torch() -> None:
    code = (
        "import sys; from conformance.sides import load_oracle_side; load_oracle_side(); "
        "sys.exit('torch' in sys.modules)"
    )
    assert 0 == subprocess.run([sys.executable, "-c", code], check=False, cwd=Path(__file__).parents[2]).returncode


def test_a_missing_torch_says_what_to_install(side: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(SideUnavailable, match=r"importing torch failed.*pip install torch"):
        side.start(1)


def test_starting_reports_versions_and_settings_and_is_safe_to_repeat(side: Any) -> None:
    """R34: a float32 matmul precision below highest that somebody left behind is reset."""
    import torch

    torch.set_float32_matmul_precision("medium")
    facts = side.start(1)
    assert ("highest", 1, torch.__version__) == (facts["float32_matmul_precision"], facts["threads"], facts["torch"])
    assert "cuda" in facts
    assert facts == side.start(1)


def test_a_missing_file_says_where_it_was_looked_for(side: Any, load: Any, tmp_path: Path) -> None:
    load("def evaluate(x):\n    return x", *SIGNATURE)
    (tmp_path / "torch_oracle" / "sample.py").unlink()
    with pytest.raises(LoadError, match=r"torch_oracle/again\.py has no evaluate.*evaluate\(x\)"):
        load("def other(x):\n    return x", *SIGNATURE, name="again")
    with pytest.raises(LoadError, match=r"has evaluate of type int"):
        load("evaluate = 3", *SIGNATURE, name="number")


def test_an_absent_oracle_is_a_load_error(side: Any, logistic: Any, tmp_path: Path) -> None:
    from dataclasses import replace

    with pytest.raises(LoadError, match=rf"{tmp_path}/torch_oracle/logistic_regression\.py is not there"):
        side.load(replace(logistic._problem, root=tmp_path))


def test_a_module_that_raises_is_the_oracles_fault_with_its_line(load: Any) -> None:
    with pytest.raises(OracleFault, match=r"sample\.py:3 raised ZeroDivisionError"):
        load("\n\n1 / 0\n", *SIGNATURE)
    with pytest.raises(OracleFault, match=r"wrong\.py:2 raised SyntaxError"):
        load("\ndef evaluate(:\n", *SIGNATURE, name="wrong")


def test_an_oracle_imports_its_siblings_and_the_engines_checkpoint(load: Any, tmp_path: Path) -> None:
    (tmp_path / "torch_oracle" / "sibling.py").write_text("FACTOR = 3.0\n", encoding="utf-8")
    (tmp_path / "beside_the_folders.py").write_text("OFFSET = 1.0\n", encoding="utf-8")
    oracle = load(
        """
        from beside_the_folders import OFFSET
        from ._checkpoint import checkpoint_matrix_products
        from .sibling import FACTOR

        def evaluate(x):
            return checkpoint_matrix_products(lambda v: v * FACTOR + OFFSET, x)
        """,
        *SIGNATURE,
    )
    before = list(sys.path)
    estimation = oracle.estimate([{"x": np.ones(2, np.float32)}], CPU, runs=4, seeds=[1])[0]
    assert [4.0, 4.0] == estimation.quantities["output"].value.tolist()
    assert before == sys.path
    assert str(tmp_path) not in sys.path
    del sys.modules["beside_the_folders"]


def test_two_roots_with_the_same_names_do_not_meet(side: Any, tmp_path: Path) -> None:
    from conformance.values.problem import Problem
    from conformance.values.signature import load_signature

    oracles = []
    for number in (1.0, 2.0):
        folder = tmp_path / str(number) / "torch_oracle"
        folder.mkdir(parents=True)
        (folder / "part.py").write_text(f"NUMBER = {number}\n", encoding="utf-8")
        (folder / "sample.py").write_text("from .part import NUMBER\ndef evaluate(x):\n    return x * NUMBER\n")
        inputs = {"x": load_signature("float32[N]")}
        problem = Problem("sample", "", "", inputs, load_signature("float32[N]"), {}, {}, folder.parent)
        oracles.append(side.load(problem))
    case = {"x": np.ones(1, np.float32)}
    values = [oracle.estimate([case], CPU, runs=2, seeds=[1])[0].quantities["output"].value for oracle in oracles]
    assert [[1.0], [2.0]] == [value.tolist() for value in values]
