"""Values that public reports state, on inputs that have misled other software (report numbers in the ids)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

# The value as text, and half a unit of its last digit: how far a number that is printed so may be off.
CASES = {
    "R14-softplus-at-0": (([[1]], [0], 0, [0], 0.0), {"loss": "0.6931472", "grads.w": "0.5", "grads.b": "0.5"}),
    "R14-softplus-at-0-y-1": (([[1]], [0], 0, [1], 0.0), {"loss": "0.6931472", "grads.w": "-0.5", "grads.b": "-0.5"}),
    "R16-logits-of-125": (
        ([[1], [-1], [1], [-1]], [125], 0, [0, 1, 1, 0], 0.0),
        {"loss": "62.5", "grads.w": "0.5", "grads.b": "0.0"},
    ),
    "R17-minus-50": (([[1]], [-50], 0, [1], 0.0), {"loss": "50.0", "grads.b": "-1.0"}),
    "R17-plus-100": (([[1]], [100], 0, [0], 0.0), {"loss": "100.0", "grads.b": "1.0"}),
    "R19-above-the-threshold": (
        ([[1]], [21], 0, [0], 0.0),
        {"loss": "21.000000000758256", "grads.b": "0.999999999241744"},
    ),
    "R21-intercept-unpenalised": (
        ([[0, 0]], [3, 4], 7, [0], 0.5),
        {"loss": "13.2509115", "grads.w": "1.5 2.0", "grads.b": "0.9990889"},
    ),
    "R22-duplicate-row": (
        ([[0, 0], [0, 0]], [3, 4], 7, [0, 0], 0.5),
        {"loss": "13.2509115", "grads.w": "1.5 2.0", "grads.b": "0.9990889"},
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_the_logistic_oracle_gives_the_value_that_the_report_states(
    name: str, logistic: Any, make_logistic_case: Any, estimate_one: Any
) -> None:
    inputs, expected = CASES[name]
    estimation = estimate_one(logistic, make_logistic_case(*inputs))
    for quantity, text in expected.items():
        values = np.ravel(estimation.quantities[quantity].value)
        for word, value in zip(text.split(), values, strict=True):
            half_unit = 0.5 * 10.0 ** -len(word.partition(".")[2])
            assert abs(float(word) - value) <= half_unit


@pytest.mark.parametrize(("logit", "expected"), [(10.0, 4.53989e-5), (16.0, 1.12535e-7)])
def test_a_cancelled_loss_keeps_its_true_value_and_tells_that_float32_cannot_resolve_it(
    logit: float, expected: float, logistic: Any, make_logistic_case: Any, estimate_one: Any
) -> None:
    """R23: a correct float32 result is 0.8 percent off at 10, and 0 at 16."""
    loss = estimate_one(logistic, make_logistic_case([[1]], [logit], 0, [1], 0.0)).quantities["loss"]
    assert f"{expected:.5e}" == f"{float(loss.value):.5e}"
    spacing = 2.0 ** (math.floor(math.log2(logit)) - 23)
    assert loss.sigma is not None
    assert spacing / 8.0 <= float(loss.sigma) <= 2.0 * spacing


def test_the_block_averages_over_batch_and_width(block: Any, estimate_one: Any) -> None:
    """R29: a mean over B alone would give a loss of 12 and gradients of 4."""
    zeros = {"w1": np.zeros((3, 4)), "b1": np.zeros(4), "w2": np.zeros((4, 3)), "b2": np.zeros(3)}
    params = {name: value.astype(np.float32) for name, value in zeros.items()}
    case = {"params": params, "x": np.full((2, 3), 2.0, np.float32), "y": np.zeros((2, 3), np.float32)}
    quantities = estimate_one(block, case).quantities
    assert float(quantities["loss"].value) == 4.0
    np.testing.assert_array_equal(quantities["grads.b2"].value, np.full(3, 2.0 * 2.0 * 2.0 / 6.0))
