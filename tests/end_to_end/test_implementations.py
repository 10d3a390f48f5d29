"""Other implementations through ``--impl``: the wrong ones are caught, the right ones pass."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest
from command_line import ROOT, Command

HERE = Path(__file__).parent
CASES = {"logistic": ROOT / "cases" / "logistic_regression", "block": ROOT / "cases" / "residual_mlp_block"}
FILES = sorted((HERE / "implementations").glob("*.py"))


def verify(conformance: Command, file: Path, *arguments: str):
    kind = file.stem.split("_")[0]
    cases = (CASES[kind], HERE / "cases" / f"{kind}.json")
    return conformance("run", *cases, "--impl", file, "--mode", "jit", *arguments)


@pytest.mark.parametrize("file", [file for file in FILES if "_wrong_" in file.stem], ids=lambda file: file.stem)
def test_a_wrong_implementation_disagrees(conformance: Command, file: Path):
    done = verify(conformance, file)
    assert 1 == done.returncode, done.stdout + done.stderr
    assert "disagree: " in done.stdout
    for word in ("got ", "oracle ", "again: conformance run "):
        assert word in done.stdout
    assert "Traceback" not in done.stdout + done.stderr


@pytest.mark.parametrize("file", [file for file in FILES if "_right_" in file.stem], ids=lambda file: file.stem)
def test_a_right_implementation_agrees(conformance: Command, file: Path):
    done = verify(conformance, file)
    assert 0 == done.returncode, done.stdout + done.stderr


def test_the_line_to_run_a_case_again_fails_alike(conformance: Command):
    first = verify(conformance, HERE / "implementations" / "logistic_wrong_full_l2.py")
    line = next(line for line in first.stdout.splitlines() if "again:" in line)
    again = conformance(*shlex.split(line.partition("again: conformance ")[2]))
    assert 1 == again.returncode
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


@pytest.mark.parametrize(
    ("text", "code", "message"),
    [
        ("def other(): ...", 2, "evaluate"),
        ("def evaluate(params x)", 1, "SyntaxError"),
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
