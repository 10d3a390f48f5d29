"""Problems that the engine never saw, added under a root of their own by three paths each."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from command_line import ROOT, Command, load_nodes

PROBLEMS = ROOT / "tests" / "end_to_end" / "problems"
NAMES = ("label_smoothing", "top_ranks")
MODES = {"eager", "jit", "vmap"}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A root with both problems, of which nothing else knows."""
    for name in NAMES:
        shutil.copytree(PROBLEMS / "cases" / name, tmp_path / "cases" / name)
        for side in ("jax_impl", "torch_oracle"):
            (tmp_path / side).mkdir(exist_ok=True)
            shutil.copy(PROBLEMS / side / f"{name}.py", tmp_path / side)
    return tmp_path


@pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["one process", "two workers"])
def test_both_are_verified_in_all_modes(conformance: Command, root: Path, workers: tuple[str, ...]):
    modes = [f"--mode={mode}" for mode in sorted(MODES)]
    done = conformance("run", "--root", root, *modes, *workers, "--results", root / "out.jsonl")
    assert 0 == done.returncode, done.stdout + done.stderr
    records = load_nodes(root / "out.jsonl", "record")
    found = {(record["case"].split("/")[0], record["placement"]["mode"]) for record in records}
    assert {(name, mode) for name in NAMES for mode in MODES} == found
    assert {"agree"} == {record["verdict"] for record in records}
    dtypes = {
        (name, quantity["got"]["dtype"])
        for record in records
        if record["case"].startswith("top_ranks")
        for name, quantity in record["quantities"].items()
    }
    assert {("0", "float32"), ("1", "int32"), ("2", "bool")} == dtypes


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("label_smoothing_over_others", "disagree (formula): label_smoothing/written/smoothed [cpu-jit]"),
        ("top_ranks_from_one", "disagree (formula): top_ranks/written/two-of-five [cpu-jit]"),
        ("top_ranks_float", "clause returns: 1: "),
        ("top_ranks_list", "clause returns: "),
    ],
)
def test_wrong_variants_are_told(conformance: Command, root: Path, name: str, said: str):
    implementation = PROBLEMS / "implementations" / f"{name}.py"
    problem = next(problem for problem in NAMES if name.startswith(problem))
    done = conformance("run", f"cases/{problem}", "--impl", implementation, cwd=root)
    assert 1 == done.returncode, done.stdout + done.stderr
    assert said in done.stdout
    assert "Traceback" not in done.stdout + done.stderr


def test_the_other_commands_know_them_too(conformance: Command, root: Path):
    for name in NAMES:
        made = conformance("new", name, "another", "--root", root)
        assert 0 == made.returncode, made.stdout + made.stderr
    checked = conformance("validate", "--root", root, "--values")
    assert 0 == checked.returncode, checked.stdout + checked.stderr
    assert "2 problem files, 4 case files, 12 cases, 10 cases with expected values checked, 0 faults" in checked.stdout
    for case in ("label_smoothing/written/smoothed", "top_ranks/written/one"):
        told = conformance("explain", case, "--root", root, "--script", root / "again.py")
        assert 0 == told.returncode, told.stdout + told.stderr
        assert (root / "again.py").is_file()


SORTING = """
import torch

def evaluate(x, k, key):
    order = x.argsort(-1, descending=True)
    ranks = order.argsort(-1)
    return x.topk(k).values.sum(-1), ranks, ranks < k
"""


def test_an_oracle_may_sort(conformance: Command, root: Path):
    (root / "torch_oracle" / "top_ranks.py").write_text(SORTING)
    done = conformance("run", "cases/top_ranks", cwd=root)
    assert 0 == done.returncode, done.stdout + done.stderr
    assert "4 agree · 4 cases of 1 problem" in done.stdout


NEAR = """{"version": 1, "problem": "winner", "origin": {"kind": "written"}, "cases": [
    {"name": "clear", "inputs": {"x": [0.5, 1.25, 0.25]}},
    {"name": "near-tie", "inputs": {"x": [1.4000001, 1.4, 0.25]}}]}"""
WINNER = """{"version": 1, "problem": "winner", "title": "The largest",
    "statement": "argmax(1.1 x - 0.3 x^2)",
    "inputs": {"x": "float32[N]"}, "outputs": {"tuple": ["int32[]", "bool[N]"]}, "domain": {"N": {"minimum": 2}}}"""
LARGEST = {
    "torch_oracle": "def evaluate(x):\n    y = x * 1.1 - x * x * 0.3\n"
    "    return y.argmax(-1), y == y.amax(-1, keepdim=True)\n",
    "jax_impl": "import jax.numpy as jnp\n\ndef evaluate(x):\n    y = 1.1 * x - 0.3 * x * x\n"
    "    return jnp.argmax(y).astype(jnp.int32), y == y.max()\n",
}


def test_whole_numbers_that_rounding_decides_agree_and_are_no_proof(conformance: Command, tmp_path: Path):
    for side, text in LARGEST.items():
        (tmp_path / side).mkdir()
        (tmp_path / side / "winner.py").write_text(text)
    cases = tmp_path / "cases" / "winner"
    cases.mkdir(parents=True)
    (cases / "problem.json").write_text(WINNER)
    (cases / "written.json").write_text(NEAR)
    done = conformance("run", cwd=tmp_path)
    assert 0 == done.returncode, done.stdout + done.stderr
    alone = conformance("run", "winner/written/near-tie", cwd=tmp_path)
    assert 3 == alone.returncode, alone.stdout + alone.stderr
    wrong = tmp_path / "wrong.py"
    wrong.write_text(LARGEST["jax_impl"].replace("y == y.max()", "y <= y.max()"))
    done = conformance("run", "winner/written/near-tie", "--impl", wrong, cwd=tmp_path)
    assert 1 == done.returncode, done.stdout + done.stderr
    assert "  1[2]: z inf is above the limit 8; 1 of 3 elements wrong\n" in done.stdout


RECIPE = """{"version": 1, "problem": "%s", "origin": {"kind": "generated", "recipe": %s}}"""


def test_strategies_work_for_them(conformance: Command, root: Path):
    affine = '"affine": {"inputs": "x", "weights": "params.w", "bias": "params.b"}, "targets": [0, 88.7, -103.9]'
    for name, recipe in (
        (
            "label_smoothing",
            f'{{"strategy": "affine-targets", "seed": 1, {affine}, "dims": [{{"N": 3, "D": 2, "C": 3}}]}}',
        ),
        ("top_ranks", '{"strategy": "moderate", "seed": 1, "count": 3, "dims": [{"N": 9}]}'),
    ):
        (root / "cases" / name / "made.json").write_text(RECIPE % (name, recipe))
    assert 0 == conformance("generate", "cases", cwd=root).returncode
    done = conformance("run", *(f"cases/{name}/made.json" for name in NAMES), cwd=root)
    assert 0 == done.returncode, done.stdout + done.stderr
    assert "4 agree · 4 cases of 2 problems" in done.stdout
