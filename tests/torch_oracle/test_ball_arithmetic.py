"""The shipped oracles against closed forms in ball arithmetic, an independent derivation with rigorous bounds.

The float64 result of a sum of products is off by no more than a small multiple of 2^-53 times the sum of the products'
magnitudes (Higham, "Accuracy and Stability of Numerical Algorithms", 2002, section 3.1). The closed forms below
therefore carry, beside the value, the sum of magnitudes of all that was added up on the way.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import flint
import numpy as np
import pytest
from flint import arb

from conformance.files.case_file import load_case_files
from conformance.files.discovery import find_case_files
from conformance.files.problem_file import ProblemFolder
from conformance.judging.documented import SLACK, unit_of
from conformance.values.arithmetic import CPU, ROUNDED_TO_ZERO
from conformance.values.case import Case

ROOT = Path(__file__).resolve().parents[2]
_ROUNDOFF = 2.0**-53
_STEPS = 64
"""More roundings than lie on any path from an input to an output, for dimensions up to 8: sums included."""


@pytest.fixture(autouse=True)
def _precise() -> Any:
    before = flint.ctx.prec
    flint.ctx.prec = 200
    yield
    flint.ctx.prec = before


def number(value: Any) -> arb:
    return arb(float(value))


def softplus(z: arb) -> arb:
    return (1 + z.exp()).log() if z < 0 else z + (1 + (-z).exp()).log()


def logistic_closed_form(case: dict[str, Any]) -> dict[str, list[tuple[arb, arb]]]:
    """Value and sum of magnitudes of each element of each quantity."""
    x, y, w = case["x"], case["y"], case["params"]["w"]
    bias, l2 = number(case["params"]["b"]), number(case["l2"])
    rows, width = x.shape
    loss, loss_size = arb(0), arb(0)
    bias_grad, bias_size = arb(0), arb(0)
    grads = [[arb(0), arb(0)] for _ in range(width)]
    for i in range(rows):
        z, size = bias, abs(bias)
        for j in range(width):
            z += number(x[i, j]) * number(w[j])
            size += abs(number(x[i, j]) * number(w[j]))
        loss += softplus(z) - number(y[i]) * z
        loss_size += softplus(z) + size * 2
        sigmoid = 1 / (1 + (-z).exp())
        slope = sigmoid - number(y[i])
        slope_size = sigmoid + number(y[i]) + sigmoid * (1 - sigmoid) * size
        bias_grad, bias_size = bias_grad + slope, bias_size + slope_size
        for j in range(width):
            grads[j][0] += slope * number(x[i, j])
            grads[j][1] += slope_size * abs(number(x[i, j]))
    penalty = sum((number(v) * number(v) for v in w), arb(0)) * l2 / 2
    return {
        "loss": [(loss / rows + penalty, loss_size / rows + penalty)],
        "grads.w": [
            (grads[j][0] / rows + l2 * number(w[j]), grads[j][1] / rows + l2 * abs(number(w[j]))) for j in range(width)
        ],
        "grads.b": [(bias_grad / rows, bias_size / rows)],
    }


def block_closed_form(case: dict[str, Any]) -> dict[str, list[tuple[arb, arb]]]:
    """Value and sum of magnitudes of each element of each quantity."""
    p = {name: np.vectorize(number, otypes=[object])(value) for name, value in case["params"].items()}
    x, y = (np.vectorize(number, otypes=[object])(case[name]) for name in ("x", "y"))
    size = np.vectorize(abs, otypes=[object])
    count = x.size
    pre, pre_size = x @ p["w1"] + p["b1"], size(x) @ size(p["w1"]) + size(p["b1"])
    h = np.vectorize(lambda v: v.tanh(), otypes=[object])(pre)
    slope = 1 - h * h
    # tanh's own roundings, and what the pre-activation's errors become.
    h_size = size(h) + slope * pre_size
    slope_size = 1 + h * h + 2 * size(h) * h_size
    e = x + h @ p["w2"] + p["b2"] - y
    e_size = size(x) + h_size @ size(p["w2"]) + size(p["b2"]) + size(y)
    back, back_size = e @ p["w2"].T * slope, e_size @ size(p["w2"]).T * slope_size
    scale = arb(2) / count
    pairs = {
        "loss": (np.sum(e * e) / count, np.sum(e_size * e_size) / count),
        "grads.w1": (scale * (x.T @ back), scale * (size(x).T @ back_size)),
        "grads.b1": (scale * back.sum(0), scale * back_size.sum(0)),
        "grads.w2": (scale * (h.T @ e), scale * (h_size.T @ e_size)),
        "grads.b2": (scale * e.sum(0), scale * e_size.sum(0)),
    }
    return {name: list(zip(np.ravel(v), np.ravel(s), strict=True)) for name, (v, s) in pairs.items()}


def assert_enclosed(estimation: Any, closed_form: dict[str, list[tuple[arb, arb]]]) -> None:
    assert set(closed_form) == set(estimation.quantities)
    for quantity, elements in closed_form.items():
        for value, (true, size) in zip(np.ravel(estimation.quantities[quantity].value), elements, strict=True):
            error = abs(number(value) - true)
            assert error <= _STEPS * _ROUNDOFF * size, f"{quantity}: {value} against {true}"


CLOSED_FORMS = {"logistic_regression": logistic_closed_form, "residual_mlp_block": block_closed_form}
SHIPPED = load_case_files(find_case_files(ROOT), ProblemFolder(ROOT))


@pytest.mark.parametrize("case", [case for case in SHIPPED if case.expected is not None], ids=lambda case: case.id)
def test_every_shipped_expected_value_is_the_closed_form_rounded(case: Case) -> None:
    assert case.expected is not None
    assert case.rounding is not None
    for quantity, elements in CLOSED_FORMS[case.problem.name](dict(case.inputs)).items():
        for written, (true, _) in zip(np.ravel(case.expected[quantity]), elements, strict=True):
            unit = unit_of(np.asarray(written), case.rounding).item()
            assert abs(number(written) - true) <= (0.5 + SLACK) * unit + ROUNDED_TO_ZERO, (
                f"{quantity}: {written}, {true}"
            )


@pytest.mark.parametrize("seed", range(40))
def test_the_logistic_oracle_lies_within_float64_of_the_closed_form(
    seed: int, logistic: Any, make_logistic_case: Any, estimate_one: Any
) -> None:
    rng = np.random.default_rng(seed)
    rows, width = int(rng.integers(1, 9)), int(rng.integers(1, 5))
    x = rng.normal(size=(rows, width)).astype(np.float32)
    w = rng.normal(size=width) * 10.0 ** rng.uniform(-6, 2)
    # Every other case aims its first logit at a place that is known to be difficult.
    bias = float(rng.normal())
    if seed % 2:
        bias = float(rng.choice([0, 1, 8, 16, 20, 60, 88.7, 104, 125])) * float(rng.choice([-1, 1])) - float(x[0] @ w)
    case = make_logistic_case(x, w, bias, rng.integers(0, 2, rows), float(rng.choice([0.0, 0.1, 1.0, 10.0])))
    assert_enclosed(estimate_one(logistic, case), logistic_closed_form(case))


@pytest.mark.parametrize("seed", range(30))
def test_the_block_oracle_lies_within_float64_of_the_closed_form(
    seed: int, block: Any, make_block_case: Any, estimate_one: Any
) -> None:
    rng = np.random.default_rng(1000 + seed)
    dims = tuple(int(v) for v in rng.integers(1, 6, size=3))
    # The largest weights saturate tanh.
    case = make_block_case(seed, dims, weight=10.0 ** rng.uniform(-3, 2), value=10.0 ** rng.uniform(-3, 2))
    assert_enclosed(estimate_one(block, case), block_closed_form(case))


def test_the_bound_rejects_a_softplus_that_turns_linear_at_20(
    make_logistic_case: Any, load: Any, logistic: Any
) -> None:
    source = logistic._path.read_text(encoding="utf-8").replace("threshold=700.0", "threshold=20.0")
    outputs = {"loss": "float32[]", "grads": {"w": "float32[D]", "b": "float32[]"}}
    inputs = {"params": {"w": "float32[D]", "b": "float32[]"}, "x": "float32[N,D]", "y": "float32[N]", "l2": "float"}
    case = make_logistic_case([[1]], [21], 0, [0], 0.0)
    estimation = load(source, inputs, outputs).estimate([case], CPU, runs=2, seeds=[1])[0]
    with pytest.raises(AssertionError, match="loss"):
        assert_enclosed(estimation, logistic_closed_form(case))
