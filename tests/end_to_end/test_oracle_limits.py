"""What the oracle cannot judge is not proven, by name, and never the implementation's fault."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command_line import Command

PROBLEM = {
    "version": 1,
    "problem": "unit",
    "title": "One unit",
    "statement": "loss = f(x w)",
    "inputs": {"w": "float32[D]", "x": "float32[D]"},
    "outputs": {"loss": "float32[]", "grad": "float32[D]"},
    "contract": {"differentiated_with": "jax.value_and_grad"},
}
IMPLEMENTATION = """
import jax
import jax.numpy as jnp

def evaluate(w, x):
    loss, grad = jax.value_and_grad(lambda w: jax.nn.relu(jnp.dot(x, w)))(w)
    return {"loss": loss, "grad": grad}
"""
ORACLE = """
import torch

def evaluate(w, x):
    w = w.detach().requires_grad_()
    loss = FORM
    (grad,) = torch.autograd.grad(loss.sum(), [w])
    return {"loss": loss.detach(), "grad": grad}
"""


def write_root(root: Path, form: str, w: list[float]) -> Path:
    for folder in ("cases/unit", "jax_impl", "torch_oracle"):
        (root / folder).mkdir(parents=True)
    cases = [{"name": "one", "inputs": {"w": w, "x": [0.1, 0.3]}}]
    file = {"version": 1, "problem": "unit", "origin": {"kind": "written"}, "cases": cases}
    (root / "cases/unit/problem.json").write_text(json.dumps(PROBLEM))
    (root / "cases/unit/written.json").write_text(json.dumps(file))
    (root / "jax_impl/unit.py").write_text(IMPLEMENTATION)
    (root / "torch_oracle/unit.py").write_text(ORACLE.replace("FORM", form))
    return root


RELU = "torch.relu((x * w).sum(-1))"


def test_a_relu_away_from_its_kink_agrees(conformance: Command, tmp_path: Path):
    done = conformance("run", cwd=write_root(tmp_path, RELU, [1.0, 0.5]))
    assert 0 == done.returncode, done.stdout + done.stderr


def test_a_relu_at_its_kink_alone_is_not_proven(conformance: Command, tmp_path: Path):
    done = conformance("run", cwd=write_root(tmp_path, RELU, [3.0, -1.0]))
    assert 3 == done.returncode, done.stdout + done.stderr
    assert "no case that was run resolves unit: grad" in done.stdout


@pytest.mark.parametrize(
    ("form", "name"),
    [
        ("torch.relu((x * w).sum())", "batch dimension"),
        ("torch.nn.functional.dropout(torch.relu((x * w).sum(-1)), 0.5)", "aten.bernoulli"),
        ("torch.lgamma((x * w).sum(-1))", "lgamma"),
        ("torch.relu((x * w).sum(-1).float())", "float32"),
    ],
    ids=["forgets the batch", "random", "without a rule", "float32 inside"],
)
def test_an_oracle_that_cannot_be_trusted_is_named(conformance: Command, tmp_path: Path, form: str, name: str):
    done = conformance("run", cwd=write_root(tmp_path, form, [1.0, 0.5]))
    assert 3 == done.returncode, done.stdout + done.stderr
    assert name in done.stdout
    assert "not-proven: unit/written/one [cpu-jit]" in done.stdout
    assert "the oracle " in done.stdout
