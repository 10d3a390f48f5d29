"""An abort and an endless loop of a real implementation cost one case of six."""

from __future__ import annotations

from pathlib import Path

import pytest
from command_line import ROOT, Command, load_nodes

FAULTY = """
import os
import jax
import jax.numpy as jnp

def evaluate(params, x, y, l2):
    if float(x[0, 0]) == 3.0:
        {fault}
    def loss(p):
        z = x @ p["w"] + p["b"]
        return jnp.mean(jax.nn.softplus(z) - y * z) + 0.5 * l2 * jnp.sum(p["w"] ** 2)
    value, grads = jax.value_and_grad(loss)(params)
    return {{"loss": value, "grads": grads}}
"""

CASE = """{{
  "name": "case-{n}",
  "inputs": {{"params": {{"w": [0.5], "b": 0.25}}, "x": [[{n}.0]], "y": [1.0], "l2": 0.5}}
}}"""


@pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["one process", "two workers"])
@pytest.mark.parametrize(
    ("fault", "message"),
    [("os.abort()", "the process died while it ran this case"), ("while True: pass", "took longer than 20 s")],
    ids=["abort", "endless loop"],
)
def test_one_case_of_six_is_lost_and_named(
    conformance: Command, tmp_path: Path, fault: str, message: str, workers: tuple[str, ...]
):
    (tmp_path / "faulty.py").write_text(FAULTY.format(fault=fault))
    cases = ", ".join(CASE.format(n=n) for n in range(1, 7))
    head = '"version": 1, "problem": "logistic_regression", "origin": {"kind": "written"}'
    (tmp_path / "six.json").write_text(f'{{{head}, "cases": [{cases}]}}')
    options = ("--root", ROOT, "--impl", tmp_path / "faulty.py", "--mode", "eager", "--timeout", "20")
    results = tmp_path / "out.jsonl"
    done = conformance("run", tmp_path / "six.json", *options, "--results", results, *workers)
    assert 1 == done.returncode, done.stdout + done.stderr
    verdicts = {node["case"]: node["verdict"] for node in load_nodes(results, "record")}
    wanted = {f"logistic_regression/six/case-{n}": "error" if n == 3 else "agree" for n in range(1, 7)}
    assert wanted == verdicts
    (footer,) = load_nodes(results, "footer")
    assert (6, 6) == (footer["collected"], footer["reported"])
    assert "error: logistic_regression/six/case-3 [cpu-eager]" in done.stdout
    assert message in done.stdout
