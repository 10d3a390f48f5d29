"""Other implementations through ``--impl``: the wrong ones are caught, the right ones pass."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from command_line import ROOT, Command, load_nodes

HERE = Path(__file__).parent
CASES = {
    kind: ROOT / "cases" / problem / "documented.json"
    for kind, problem in (("logistic", "logistic_regression"), ("block", "residual_mlp_block"))
}
FILES = sorted((HERE / "implementations").glob("*.py"))
SAMPLES = ROOT / "tests" / "contracts" / "implementations"
RIGHT = [
    *(file for file in FILES if "_right_" in file.stem),
    *(SAMPLES / f"block_kept_{name}.py" for name in ("dot_general", "einsum")),
]
BLOCK = {
    "documented/single-row",
    "documented/identity-weights",
    "documented/saturated-tanh",
    "block/two-rows",
    "block/large-residual",
}
WRONG = {
    "block_wrong_bfloat16": (BLOCK, {"grads.w1", "grads.b1", "grads.w2", "grads.b2"}),
    "block_wrong_mean_over_rows": (BLOCK, {"loss", "grads.w1", "grads.b1", "grads.w2", "grads.b2"}),
    "block_wrong_residual_scaled": (BLOCK, {"loss", "grads.w2"}),
    "logistic_wrong_bias_penalised": (
        {"documented/moderate-logits", "documented/saturated-wrong-labels", "logistic/penalty-alone"},
        {"loss", "grads.b"},
    ),
    "logistic_wrong_full_l2": (
        {
            "documented/moderate-logits",
            "documented/saturated-wrong-labels",
            "logistic/penalty-alone",
            "logistic/saturated-label",
        },
        {"loss", "grads.w"},
    ),
    "logistic_wrong_naive": (
        {"documented/saturated-wrong-labels", "logistic/extreme-logits"},
        {"loss", "grads.w", "grads.b"},
    ),
}
"""By implementation: the cases that it gets wrong, no others, and quantities that are wrong in some of them."""
DIAGNOSIS = re.compile(
    r"^  (?P<quantity>[a-z0-9.]+)(\[[0-9,]+\])?: .+; \d+ of \d+ elements wrong\n"
    r"    got +\S+\n    oracle +\S+\n(    documented +\S+\n)?    sigma +\S+\n    z +\S+\n    limit +8\n",
    re.MULTILINE,
)


def verify(conformance: Command, file: Path, *arguments: str | Path):
    kind = file.stem.split("_")[0]
    cases = (CASES[kind], HERE / "cases" / f"{kind}.json")
    return conformance("run", *cases, "--impl", file, "--mode", "jit", *arguments)


def run_as_printed(line: str) -> subprocess.CompletedProcess[str]:
    """What became of a line that a person copies into a shell."""
    environment = {**os.environ, "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])}
    return subprocess.run(
        ["bash", "-c", line], cwd=ROOT, capture_output=True, text=True, timeout=120, env=environment, check=False
    )


def test_every_wrong_implementation_has_its_entry():
    assert sorted(WRONG) == [file.stem for file in FILES if "_wrong_" in file.stem]


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_implementation_disagrees_where_it_is_wrong_and_nowhere_else(
    conformance: Command, tmp_path: Path, name: str
):
    cases, quantities = WRONG[name]
    done = verify(conformance, HERE / "implementations" / f"{name}.py", "--results", tmp_path / "out.jsonl")
    assert 1 == done.returncode, done.stdout + done.stderr
    records = load_nodes(tmp_path / "out.jsonl", "record")
    verdicts = {record["case"].partition("/")[2]: record["verdict"] for record in records}
    assert dict.fromkeys(verdicts, "agree") | dict.fromkeys(cases, "disagree") == verdicts
    faults = [fault for record in records for fault in record["faults"]]
    assert quantities <= {fault["quantity"] for fault in faults}
    told = [match["quantity"] for match in DIAGNOSIS.finditer(done.stdout)]
    assert sorted(fault["quantity"] for fault in faults) == sorted(told), done.stdout
    assert len(cases) == done.stdout.count("  again: conformance run ")
    assert "Traceback" not in done.stdout + done.stderr


@pytest.mark.parametrize("file", RIGHT, ids=lambda file: file.stem)
def test_a_right_implementation_agrees(conformance: Command, file: Path):
    done = verify(conformance, file)
    assert 0 == done.returncode, done.stdout + done.stderr


def test_the_line_to_run_a_case_again_fails_alike(conformance: Command):
    first = verify(conformance, HERE / "implementations" / "logistic_wrong_full_l2.py")
    line = next(line for line in first.stdout.splitlines() if "again:" in line)
    again = run_as_printed(line.partition("again: ")[2])
    assert 1 == again.returncode, again.stdout + again.stderr
    assert "1 disagree · 1 case of 1 problem" in again.stdout
    failure = first.stdout.split("\n\n")[1]
    assert failure in again.stdout


PARTS = """
import jax
import jax.numpy as jnp

def loss_and_grads(params, x, y, l2):
    def loss(p):
        z = x @ p["w"] + p["b"]
        penalty = 0.5 * l2 * jnp.sum(p["w"] ** 2) if l2 > 0 else 0.0
        return jnp.mean(jax.nn.softplus(z) - y * z) + penalty
    return jax.value_and_grad(loss)(params)
"""


def test_a_dotted_module_that_returns_a_tuple_and_branches_on_the_python_float_agrees(
    conformance: Command, tmp_path: Path
):
    (tmp_path / "mypkg").mkdir()
    (tmp_path / "mypkg" / "__init__.py").write_text("")
    (tmp_path / "mypkg" / "losses.py").write_text(PARTS)
    options = ("--root", ROOT, "--impl", "mypkg.losses:loss_and_grads", "--returns", "loss,grads")
    done = conformance("run", "logistic_regression/documented/moderate-logits", *options, cwd=tmp_path)
    assert 0 == done.returncode, done.stdout + done.stderr


def test_a_tuple_without_names_breaks_the_contract(conformance: Command, tmp_path: Path):
    (tmp_path / "mine.py").write_text(PARTS)
    options = ("--impl", f"{tmp_path / 'mine.py'}:loss_and_grads", "--mode", "jit")
    done = conformance("run", "logistic_regression/documented/no-penalty", *options)
    assert 1 == done.returncode, done.stdout + done.stderr
    assert "contract-broken: logistic_regression/documented/no-penalty [cpu-jit]" in done.stdout
    assert "clause returns: output: found a tuple of 2; wanted a dict with the keys loss, grads" in done.stdout


BROKEN = """
def evaluate(params, x, y, l2):
    if x.sum() > 1e9:
        return None
    raise ValueError("this one is broken")
"""


def test_an_exception_is_told_with_the_users_own_lines_alone(conformance: Command, tmp_path: Path):
    (tmp_path / "broken.py").write_text(BROKEN)
    options = ("--impl", tmp_path / "broken.py", "--mode", "eager", "--mode", "jit")
    done = conformance("run", "logistic_regression/documented/no-penalty", *options)
    assert 1 == done.returncode, done.stdout + done.stderr
    assert "raised ValueError: this one is broken" in done.stdout
    assert "broken.py:5 in evaluate" in done.stdout
    assert "hint: a Python branch on a traced value" in done.stdout
    assert "site-packages" not in done.stdout
    assert "2 error" in done.stdout


BRANCH = """
import jax
import jax.numpy as jnp

def evaluate(params, x, y, l2):
    def loss(p):
        z = x @ p["w"] + p["b"]
        if z.sum() > 0:
            return jnp.mean(jax.nn.softplus(-z) + (1 - y) * z) + 0.5 * l2 * jnp.sum(p["w"] ** 2)
        return jnp.mean(jax.nn.softplus(z) - y * z) + 0.5 * l2 * jnp.sum(p["w"] ** 2)
    value, grads = jax.value_and_grad(loss)(params)
    return {"loss": value, "grads": grads}
"""


def test_a_branch_on_a_traced_value_is_an_error_under_jit_alone_and_gets_a_hint(conformance: Command, tmp_path: Path):
    (tmp_path / "branch.py").write_text(BRANCH)
    options = ("--impl", tmp_path / "branch.py", "--mode", "eager", "--mode", "jit")
    done = conformance("run", "logistic_regression/documented/moderate-logits", *options)
    assert 1 == done.returncode, done.stdout + done.stderr
    assert "1 agree, 1 error" in done.stdout
    assert "error: logistic_regression/documented/moderate-logits [cpu-jit]" in done.stdout
    assert "hint: a Python branch on a traced value: use jnp.where or lax.cond" in done.stdout
    assert "branch.py:8 in loss: if z.sum() > 0:" in done.stdout
    assert "site-packages" not in done.stdout


@pytest.mark.parametrize(
    ("text", "code", "message"),
    [
        ("def other(): ...", 2, "evaluate"),
        ("def evaluate(params x)", 1, "mine.py:1"),
        ("import no_such_module", 1, "no_such_module"),
        ("def evaluate(a): ...", 1, "cannot take the 4 inputs"),
    ],
)
def test_a_module_that_cannot_be_used_is_told_in_words(
    conformance: Command, tmp_path: Path, text: str, code: int, message: str
):
    (tmp_path / "mine.py").write_text(text)
    done = conformance("run", "logistic_regression/documented/no-penalty", "--impl", tmp_path / "mine.py")
    assert code == done.returncode, done.stdout + done.stderr
    assert message in done.stdout + done.stderr
    assert "Traceback" not in done.stdout + done.stderr


def test_an_implementation_for_one_problem_needs_its_cases_named_where_it_is_not_plain_which(
    conformance: Command, tmp_path: Path
):
    (tmp_path / "mine.py").write_text("def evaluate(*inputs): ...")
    done = conformance("run", "--impl", tmp_path / "mine.py")
    assert 2 == done.returncode
    assert "cases of 2 problems are selected (logistic_regression, residual_mlp_block)" in done.stderr
