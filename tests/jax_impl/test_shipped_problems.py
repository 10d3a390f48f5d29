from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

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
