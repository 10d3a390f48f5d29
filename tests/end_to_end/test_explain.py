"""``conformance explain``: one case in full, a script that stands alone, and a smaller case that fails alike."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from command_line import ROOT, Command, load_nodes

HERE = Path(__file__).parent
BLOCK = "residual_mlp_block/documented/identity-weights"
LOGISTIC = "logistic_regression/documented/moderate-logits"
LARGE = HERE / "explained" / "block-5x4x7.json"
CLIPPED = HERE / "explained" / "clipped_tanh.py"
ALONE = """
import runpy, sys
for name in ("conformance", "pytest", "jaxtyping"):
    sys.modules[name] = None
runpy.run_path(sys.argv[1], run_name="__main__")
"""
"""Runs a script where neither this project, pytest nor jaxtyping can be imported."""
ROW = re.compile(r"^ +(?P<name>[a-z0-9.]+(\[[0-9,]+\])?) +(?P<got>\S+) +(?P<oracle>\S+) +.*?(?P<z>\S+)( \*)?$", re.M)
LINE = re.compile(r"^(?P<name>\S+) +got (?P<got>\S+) +oracle (?P<oracle>\S+) +sigma \S+ +z (?P<z>\S+)$", re.M)


def run_alone(script: Path, folder: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-I", "-c", ALONE, str(script)]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120, check=False)


def numbers(pattern: re.Pattern[str], text: str) -> dict[str, tuple[str, str, str]]:
    return {match["name"]: (match["got"], match["oracle"], match["z"]) for match in pattern.finditer(text)}


def test_everything_about_a_case_is_told(conformance: Command):
    done = conformance("explain", BLOCK)
    assert 0 == done.returncode, done.stdout + done.stderr
    for text in (
        f"agree: {BLOCK} [cpu-jit]",
        "why             Both weights are the identity",
        "cases/residual_mlp_block/documented.json:",
        "params.w1       [[1., 0.],",
        "float32 (2, 2)",
        "grads.b1: 6.4 digits",
        "returns               kept: 5 leaves compared",
        "differentiated_with   kept: traced; grads.b1, grads.b2, grads.w1, grads.w2 from gradient; loss from value",
        "inputs_unchanged      kept: called eagerly, 6 leaves compared",
        "checkpoint            kept: policy dots_saveable; forward 2 dot_general, 1 tanh; recomputed 1 tanh; "
        "behind a barrier 1 tanh; oracle keeps 2 aten.mm",
        "both policies keep the same results: (2, 2), (2, 2)",
        "grads.w1: 4 elements equal the finite differences of the oracle's own loss",
    ):
        assert text in done.stdout
    assert {"loss", "grads.w1[0,0]", "grads.w1[1,1]", "grads.b2[1]"} <= set(numbers(ROW, done.stdout))


@pytest.mark.parametrize(("case", "mode"), [(BLOCK, "jit"), (LOGISTIC, "eager"), (LOGISTIC, "jit"), (LOGISTIC, "vmap")])
def test_the_script_runs_alone_and_shows_the_same_numbers(conformance: Command, tmp_path: Path, case: str, mode: str):
    script = tmp_path / "script.py"
    told = conformance("explain", case, "--mode", mode, "--script", script)
    assert 0 == told.returncode, told.stdout + told.stderr
    done = run_alone(script, tmp_path)
    assert 0 == done.returncode, done.stdout + done.stderr
    shown = numbers(LINE, done.stdout)
    assert numbers(ROW, told.stdout.partition("\ncontract\n")[0]).items() >= shown.items()
    assert len(shown) >= 4
    assert "all agree (z up to 8)" in done.stdout


def test_a_planted_fault_is_reproduced_by_its_script_and_shrinks_to_a_case_that_can_be_committed(
    conformance: Command, tmp_path: Path
):
    implementation = tmp_path / "author" / "clipped_tanh.py"
    shutil.copytree(CLIPPED.parent, implementation.parent)
    script = tmp_path / "script.py"
    told = conformance("explain", LARGE, "--impl", implementation, "--shrink", "--script", script)
    assert 1 == told.returncode, told.stdout + told.stderr
    assert "disagree (formula): residual_mlp_block/block-5x4x7/five-rows [cpu-jit]" in told.stdout

    shutil.rmtree(implementation.parent)  # the script carries it along, and what it imports
    done = run_alone(script, tmp_path)
    assert 1 == done.returncode, done.stdout + done.stderr
    shown = numbers(LINE, done.stdout)
    assert len(shown) > 60
    assert numbers(ROW, told.stdout.partition("\ncontract\n")[0]).items() >= shown.items()
    assert "wrong (z above 8)" in done.stdout

    text = told.stdout.partition("a case file that fails alike:\n\n")[2]
    file = tmp_path / "shrunk.json"
    file.write_text(text)
    (case,) = json.loads(text)["cases"]
    assert len(case["inputs"]["x"]) <= 2
    assert "Shrunk from residual_mlp_block/block-5x4x7/five-rows: disagree (formula)" in case["why"]
    assert 0 == conformance("validate", file).returncode
    again = conformance("run", file, "--impl", CLIPPED, "--results", tmp_path / "out.jsonl")
    assert 1 == again.returncode, again.stdout + again.stderr
    (record,) = load_nodes(tmp_path / "out.jsonl", "record")
    assert ("disagree", "formula") == (record["verdict"], record["cause"])


def test_an_oracle_whose_gradient_is_not_its_loss_s_is_found_out(conformance: Command, tmp_path: Path):
    for name in ("cases", "jax_impl", "torch_oracle"):
        shutil.copytree(ROOT / name, tmp_path / name, symlinks=False)
    oracle = tmp_path / "torch_oracle" / "logistic_regression.py"
    text = oracle.read_text()
    assert text.count('"w": grad_w,') == 1
    oracle.write_text(text.replace('"w": grad_w,', '"w": 1.001 * grad_w,'))
    done = conformance("explain", LOGISTIC, "--root", tmp_path)
    assert 1 == done.returncode, done.stdout + done.stderr
    assert f"disagree (oracle): {LOGISTIC}" in done.stdout
    assert "grads.w: 2 of 2 elements are NOT the finite differences of the oracle's own loss" in done.stdout
    assert "grads.b: 1 element equal the finite differences" in done.stdout


def test_a_documented_value_off_in_the_sixth_decimal_is_the_documents_fault(conformance: Command, tmp_path: Path):
    text = (ROOT / "cases" / "logistic_regression" / "documented.json").read_text()
    assert text.count("0.556558") == 1
    (tmp_path / "stale.json").write_text(text.replace("0.556558", "0.556559"))
    done = conformance("run", tmp_path / "stale.json", "--mode", "jit")
    assert 1 == done.returncode, done.stdout + done.stderr
    assert "disagree (documented): logistic_regression/stale/moderate-logits [cpu-jit]" in done.stdout
    assert "documented 0.556559" in done.stdout


def test_operands_rounded_to_tf32_are_told_as_arithmetic(conformance: Command, tmp_path: Path):
    implementation = tmp_path / "tf32.py"
    implementation.write_text(
        "import jax, jax.numpy as jnp\n"
        "short = lambda v: jax.lax.reduce_precision(v, 8, 10)\n"
        "def evaluate(params, x, y):\n"
        "    def block(p, x):\n"
        "        h = jnp.tanh(short(x) @ short(p['w1']) + p['b1'])\n"
        "        return x + short(h) @ short(p['w2']) + p['b2']\n"
        "    kept = jax.checkpoint(block, policy=jax.checkpoint_policies.dots_saveable)\n"
        "    v, g = jax.value_and_grad(lambda p: jnp.mean((kept(p, x) - y) ** 2))(params)\n"
        "    return {'loss': v, 'grads': g}\n"
    )
    done = conformance("run", LARGE, "--impl", implementation)
    assert 1 == done.returncode, done.stdout + done.stderr
    assert "disagree (arithmetic): residual_mlp_block/block-5x4x7/five-rows [cpu-jit]" in done.stdout
    assert "of the same sigma: the mathematics is right" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["cases/logistic_regression/documented.json"],
            "it holds 3 cases; wanted one of logistic_regression/documented/moderate-logits, ",
        ),
        (["cases"], "moderate-logits and 244 more"),
        (["logistic_regression/extreme-logits/n1-d1-444"], "wanted one of n1-d1-44, n1-d1-4, "),
        (
            ["no_problem/documented/none"],
            "no_problem/documented/none does not exist; wanted a file, a folder or a case",
        ),
        ([LOGISTIC, "--returns", "loss,grads"], "--returns goes with --impl"),
        ([LOGISTIC, "--impl", "missing.py"], "missing.py does not exist"),
        (
            [LOGISTIC, "--script", "/nowhere/script.py"],
            "/nowhere/script.py: its folder does not exist",
        ),
    ],
)
def test_a_users_mistake_is_told_in_words(conformance: Command, arguments: list[str], message: str):
    done = conformance("explain", *arguments)
    assert 2 == done.returncode, done.stdout + done.stderr
    assert message in done.stderr
    assert "Traceback" not in done.stdout + done.stderr


def test_a_case_that_agrees_cannot_be_made_smaller(conformance: Command):
    done = conformance("explain", LOGISTIC, "--shrink")
    assert 0 == done.returncode
    assert "shrunk: not possible: the case agrees" in done.stdout


def test_an_implementation_that_aborts_is_told_and_nothing_else_is_lost(conformance: Command, tmp_path: Path):
    implementation = tmp_path / "aborts.py"
    implementation.write_text("import os\n\n\ndef evaluate(params, x, y, l2):\n    os.abort()\n")
    done = conformance("explain", LOGISTIC, "--impl", implementation, "--script", tmp_path / "script.py", "--shrink")
    assert 1 == done.returncode, done.stdout + done.stderr
    assert "the process died while it ran this case: ended by SIGABRT" in done.stdout
    assert "script: not written: the case did not live to the end" in done.stdout
    assert "shrunk: not possible: the case did not live to the end" in done.stdout
