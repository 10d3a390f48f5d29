"""Implementations that break or keep a contract, through ``--impl``: a broken clause is named, a right way passes.

They all compute the right numbers (but for one that rounds them). Where torch is not installed, as with the newest JAX,
an oracle in closed form stands in for it.
"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
FILES = {file.stem: file for file in sorted((HERE / "implementations").glob("*.py"))}
CASES = {
    "block": "residual_mlp_block/documented/identity-weights",
    "logistic": "logistic_regression/documented/moderate-logits",
}
EAGER = {"logistic_kept_float_roundtrip", "logistic_broken_numpy_returned", "block_broken_bfloat16_gradients"}
"""What cannot be traced, and one whose numbers are looked at in another mode."""
NOT_RECOMPUTED = "tanh is not computed again in the backward pass"
NO_BARRIER = "no optimisation barrier stands before the tanh that is computed again (prevent_cse=False?)"
NEVER = "jax.value_and_grad is never called; wanted value and gradients from it"
DROPPED = "does not come from jax.value_and_grad, which is called, but whose result is not what is returned here"
PAST = "an input gets past jax.value_and_grad: something computed by hand is added to or mixed with what it gave"
BROKEN = {
    "block_broken_no_checkpoint": ("checkpoint", "found no checkpoint in the differentiated function", NOT_RECOMPUTED),
    "block_broken_unused": ("checkpoint", "(one that is made and not called has no effect)", NOT_RECOMPUTED),
    "block_broken_nothing_saveable": (
        "checkpoint",
        "found another policy than dots_saveable: nothing_saveable does not save dot_general",
        "dot_general is computed again in the backward pass, 1 of it; wanted it kept",
    ),
    "block_broken_everything_saveable": (
        "checkpoint",
        "found another policy than dots_saveable: everything_saveable saves ",
        "the result of tanh, of shape (2, 2), is kept for the backward pass; wanted it computed again",
    ),
    "block_broken_default_policy": (
        "checkpoint",
        "found another policy than dots_saveable: none is given, so that nothing is saved",
    ),
    "block_broken_no_batch_dims": (
        "checkpoint",
        "dots_with_no_batch_dims_saveable does not save dot_general once it is batched",
    ),
    "block_broken_save_names": ("checkpoint", "found another policy than dots_saveable: ", "does not save dot_general"),
    "block_broken_tanh_outside": (
        "checkpoint",
        "the checkpoint holds no tanh: it is around another part of the function",
    ),
    "block_broken_multiply_sum": ("checkpoint", "found 1 dot_general in the forward pass; wanted exactly 2"),
    "block_broken_prevent_cse": ("checkpoint", NO_BARRIER),
    "block_broken_own_barrier": ("checkpoint", NO_BARRIER),
    "block_broken_vjp": ("differentiated_with", f"grads.b1, grads.b2, grads.w1, grads.w2, loss: {NEVER}"),
    "logistic_broken_hand_gradient": ("differentiated_with", f"grads.b, grads.w, loss: {NEVER}"),
    "logistic_broken_hand_beside_call": ("differentiated_with", f"grads.b, grads.w, loss: {DROPPED}"),
    "logistic_broken_hand_through_aux": ("differentiated_with", f"grads.b, grads.w: {DROPPED}"),
    "logistic_broken_penalty_by_hand": ("differentiated_with", f"grads.w, loss: {PAST}"),
    "logistic_broken_zero_times": ("differentiated_with", f"grads.b, grads.w: {DROPPED}"),
    "logistic_broken_grad_and_forward": (
        "differentiated_with",
        "grads.b, grads.w: comes from jax.grad; wanted jax.value_and_grad",
    ),
    "logistic_broken_loss_again": ("differentiated_with", f"loss: {DROPPED}"),
    "logistic_broken_params_changed": ("inputs_unchanged", "params.w: another object stands in its place"),
    "logistic_broken_key_added": ("inputs_unchanged", "params: the key loss was added"),
    "logistic_broken_donated": ("inputs_unchanged", "params.w: its buffer was donated or deleted"),
    "block_broken_key_removed_and_back": (
        "inputs_unchanged",
        "params: the order of its keys changed to w1, w2, b2, b1",
    ),
    "logistic_broken_numpy_returned": ("returns", "found a numpy.ndarray; wanted a jax.Array"),
    "logistic_broken_loss_vector": ("returns", "loss: found shape (1,); wanted () for float32[]"),
    "logistic_broken_extra_key": ("returns", "; wanted the keys loss, grads"),
    "logistic_broken_gradients_tuple": ("returns", "grads: found a tuple of 2; wanted a dict with the keys w, b"),
    "block_broken_bfloat16_gradients": ("returns", "grads.w1: found dtype bfloat16; wanted float32"),
    "block_broken_gradient_missing": ("returns", "grads: missing "),
}
"""By sample: the clause that it breaks, and what its diagnosis says."""


def verify(name: str, results: Path) -> tuple[subprocess.CompletedProcess[str], dict[str, Any]]:
    """What became of a run with that sample, and the record of its only case."""
    command = [
        *(sys.executable, "-m", "conformance", "run", CASES[name.split("_")[0]], "--impl", str(FILES[name])),
        *("--mode", "eager" if name in EAGER else "jit", "--results", str(results)),
        *(() if importlib.util.find_spec("torch") else ("-p", "numpy_oracle")),
    ]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(HERE), os.environ.get("PYTHONPATH", "")])}
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=240, env=environment, check=False)
    assert results.exists(), done.stdout + done.stderr
    nodes = [json.loads(line) for line in results.read_text().splitlines()]
    (record,) = [node for node in nodes if node["kind"] == "record"]
    return done, record


def test_every_sample_has_its_entry():
    assert sorted(BROKEN) == [name for name in FILES if "_broken_" in name]
    assert len(FILES) > len(BROKEN)


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_contract_names_the_clause(tmp_path: Path, name: str):
    clause, *texts = BROKEN[name]
    done, record = verify(name, tmp_path / "out.jsonl")
    assert 1 == done.returncode, done.stdout + done.stderr
    found = {name: finding["status"] for name, finding in record["contract"].items()}
    unjudged = {"checkpoint": "not-proven"} if name == "block_broken_vjp" else {}
    assert dict.fromkeys(found, "kept") | {clause: "broken"} | unjudged == found, done.stdout
    told = [line for line in done.stdout.splitlines() if f"clause {clause}: " in line]
    for text in texts:
        assert any(text in line for line in told), done.stdout


@pytest.mark.parametrize("name", [name for name in FILES if "_kept_" in name])
def test_a_kept_contract_passes(tmp_path: Path, name: str):
    done, record = verify(name, tmp_path / "out.jsonl")
    assert 0 == done.returncode, done.stdout + done.stderr
    assert {"kept"} == {finding["status"] for finding in record["contract"].values()}
