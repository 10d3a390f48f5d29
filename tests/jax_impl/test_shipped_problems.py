from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from conformance.files.problem_file import ProblemFolder
from conformance.values.contract import Status
from conformance.values.placement import Placement
from conformance.values.problem import Problem
from conformance.values.signature import load_signature

ROOT = Path(__file__).resolve().parents[2]
MODES = ("eager", "jit", "vmap")
INPUTS = {"params": {"w": "float32[D]", "b": "float32[]"}, "x": "float32[N,D]", "y": "float32[N]", "l2": "float"}


@pytest.fixture
def regress(side):
    """A function that gives loss, gradient of w and gradient of b of the shipped logistic regression."""
    signatures = {name: load_signature(node) for name, node in INPUTS.items()}
    implementation = side.load(Problem("logistic_regression", "", "", signatures, {}, {}, {}, ROOT), None, None)

    def regress(mode: str, w: list, b: float, x: list, y: list, l2: float):
        params = {"w": np.float32(w), "b": np.float32(b)}
        inputs = {"params": params, "x": np.float32(x), "y": np.float32(y), "l2": l2}
        found = implementation.evaluate(inputs, Placement("cpu", mode), [inputs, inputs]).outputs
        return [leaf.array.tolist() for leaf in (found["loss"], found["grads"]["w"], found["grads"]["b"])]

    return regress


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(("label", "gradient"), [(0.0, 0.5), (1.0, -0.5)])
def test_the_derivative_at_a_logit_of_zero_is_one_half(mode, label, gradient, regress):
    """As jax-ml/jax 2107 and 2140 asked for."""
    expected = [float(np.log(np.float32(2.0))), [gradient], gradient]
    assert expected == regress(mode, [0.0], 0.0, [[1.0]], [label], 0.0)


@pytest.mark.parametrize("mode", MODES)
def test_logits_of_125_of_both_signs_are_finite_and_exact(mode, regress):
    """As tracel-ai/burn 5373 and jax-ml/jax 777 found them to overflow."""
    assert [62.5, [0.5], 0.0] == regress(mode, [125.0], 0.0, [[1.0], [-1.0], [1.0], [-1.0]], [0.0, 1.0, 1.0, 0.0], 0.0)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("rows", [1, 2])
def test_the_penalty_has_its_half_leaves_the_intercept_out_and_is_no_mean(mode, rows, regress):
    """As scikit-learn 10626 and mlcommons/hpc 22 found them mixed up."""
    bare = regress(mode, [3.0, 4.0], 7.0, [[0.0, 0.0]] * rows, [0.0] * rows, 0.0)
    found = regress(mode, [3.0, 4.0], 7.0, [[0.0, 0.0]] * rows, [0.0] * rows, 0.5)
    assert [float(np.float32(bare[0]) + np.float32(6.25)), [1.5, 2.0], bare[2]] == found


def test_the_block_keeps_what_it_should_for_the_backward_pass(side):
    """R02: B=4, D=3, H=5; the first product, never tanh, the second product or b2."""
    problem = ProblemFolder(ROOT)("residual_mlp_block")
    shapes = {"w1": (3, 5), "b1": (5,), "w2": (5, 3), "b2": (3,)}
    draw = np.random.default_rng(2).normal
    params = {name: draw(size=shape).astype(np.float32) for name, shape in shapes.items()}
    inputs = {"params": params, **{name: draw(size=(4, 3)).astype(np.float32) for name in ("x", "y")}}
    found = side.load(problem, None, None).check_contract(inputs, Placement("cpu", "jit"))
    assert {Status.KEPT} == {finding.status for finding in found.values()}
    evidence = found["checkpoint"].evidence
    assert [
        ("dot_general", [4, 5], 80),
        ("input params.b1", [5], 20),
        ("input params.w2", [5, 3], 60),
        ("input x", [4, 3], 48),
        ("mul", [4, 3], 48),
    ] == sorted((tensor["origin"], tensor["shape"], tensor["bytes"]) for tensor in evidence["residuals"])
    assert [[4, 5], [4, 3]] == [tensor["shape"] for tensor in evidence["saved_by_policy"]]
