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
    assert "2 problem files, 4 case files, 10 cases, 8 cases with expected values checked, 0 faults" in checked.stdout
    for case in ("label_smoothing/written/smoothed", "top_ranks/written/one"):
        told = conformance("explain", case, "--root", root, "--script", root / "again.py")
        assert 0 == told.returncode, told.stdout + told.stderr
        assert (root / "again.py").is_file()


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
