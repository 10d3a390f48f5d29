"""Rounding on rescaled grids: the size of its errors, and that equal values err alike."""

from __future__ import annotations

import importlib
import math
from typing import Any

import numpy as np
import pytest
import torch

from conformance.values.arithmetic import (
    BFLOAT16_ROUNDOFF,
    CPU,
    CPU_BFLOAT16,
    CPU_TF32,
    FLOAT32_ROUNDOFF,
    TF32_ROUNDOFF,
)

UNIFORM = 1.0 / math.sqrt(3.0)
"""The root mean square of an error that is uniform within one unit roundoff, at the foot of a binade."""


@pytest.fixture(scope="module")
def grids(side: Any) -> Any:
    return importlib.import_module("_conformance_torch_oracle._grids")


@pytest.mark.parametrize("roundoff", [FLOAT32_ROUNDOFF, TF32_ROUNDOFF, BFLOAT16_ROUNDOFF])
def test_rounding_goes_to_the_nearest_number_of_the_format(roundoff: float, grids: Any) -> None:
    values = torch.from_numpy(np.random.default_rng(0).normal(size=1000))
    rounded = grids.round_significand(values, roundoff)
    spacing = 2.0 * roundoff * torch.exp2(torch.floor(torch.log2(values.abs())))
    assert torch.equal(torch.round(values / spacing) * spacing, rounded)
    assert torch.equal(rounded, grids.round_significand(rounded, roundoff))


def test_a_product_errs_by_a_uniform_rounding(estimate_body: Any) -> None:
    x = np.random.default_rng(1).normal(size=(40, 25)).astype(np.float32)
    estimation = estimate_body("loss = x.sum((-2, -1)) * 0 + (x * x).sum((-2, -1))", x)
    grad = estimation.quantities["grad"]
    relative = np.asarray(grad.sigma) / np.abs(grad.value) / FLOAT32_ROUNDOFF
    # The relative error falls from 1 unit roundoff to 1/2 along a binade; 2 x is computed with up to four roundings.
    assert UNIFORM / 2.0 <= np.sqrt(np.mean(relative**2)) <= 2.0 * UNIFORM


def test_equal_values_err_alike(load: Any) -> None:
    oracle = load(
        "def evaluate(x):\n    return {'a': x * x, 'b': (x * x) - (x * x)}",
        {"x": "float32[N]"},
        {"a": "float32[N]", "b": "float32[N]"},
    )
    case = {"x": np.full(100, 1.2345, np.float32)}
    quantities = oracle.estimate([case], CPU, runs=32, seeds=[1])[0].quantities
    assert len(set(quantities["a"].sigma.tolist())) == 1
    assert float(quantities["b"].sigma.max()) <= 2.0 * CPU.underflow


def test_seeds_alone_decide_sigma(logistic: Any, make_logistic_case: Any) -> None:
    cases = [make_logistic_case([[0.3, 0.7]], [1.1, -0.4], 0.2, [1], l2) for l2 in (0.1, 0.7)]
    alone = [logistic.estimate([case], CPU, runs=32, seeds=[seed])[0] for case, seed in zip(cases, (1, 2), strict=True)]
    together = logistic.estimate(cases, CPU, runs=32, seeds=[1, 2])
    reseeded = logistic.estimate(cases, CPU, runs=32, seeds=[3, 4])
    for first, second, other in zip(alone, together, reseeded, strict=True):
        for name, quantity in first.quantities.items():
            # Products of another batch size may differ in their last float64 bits, and sigma by as little.
            np.testing.assert_array_almost_equal_nulp(quantity.sigma, second.quantities[name].sigma, nulp=2**32)
            assert not np.array_equal(quantity.sigma, other.quantities[name].sigma)


def test_the_state_of_torchs_generator_and_autocast_do_not_matter(
    logistic: Any, make_logistic_case: Any, estimate_one: Any
) -> None:
    """R13: an outer autocast must not reach the oracle."""
    case = make_logistic_case([[0.3, 0.7]], [1.1, -0.4], 0.2, [1], 0.1)
    first = estimate_one(logistic, case)
    state = torch.random.get_rng_state()
    with torch.autocast("cpu", dtype=torch.bfloat16), torch.no_grad():
        second = estimate_one(logistic, case)
    assert torch.equal(state, torch.random.get_rng_state())
    for name, quantity in first.quantities.items():
        assert np.array_equal(quantity.value, second.quantities[name].value)
        assert np.array_equal(quantity.sigma, second.quantities[name].sigma)


def test_the_inputs_are_neither_changed_nor_shared(load: Any) -> None:
    """R47: an oracle that keeps and an implementation that mutates the arrays must not meet."""
    oracle = load(
        "def evaluate(x):\n    import torch\n    x.numpy()[...] = 0\n    return x * 1.0",
        {"x": "float32[N]"},
        "float32[N]",
    )
    x = np.arange(1, 4, dtype=np.float32)
    x.flags.writeable = False
    oracle.estimate([{"x": x}], CPU, runs=2, seeds=[1])
    assert [1.0, 2.0, 3.0] == x.tolist()


def test_a_python_float_is_exact_in_the_value_and_rounded_in_sigma(load: Any) -> None:
    oracle = load(
        "def evaluate(x, f):\n    return x.clone() + f - f, -x * 0 + f",
        {"x": "float32[]", "f": "float"},
        {"tuple": ["float32[]"] * 2},
    )
    estimation = oracle.estimate([{"x": np.float32(0.0), "f": 0.1}], CPU, runs=32, seeds=[1])[0]
    quantity = estimation.quantities["1"]
    assert float(quantity.value) == 0.1
    assert 0.1 * FLOAT32_ROUNDOFF / 4.0 <= float(quantity.sigma) <= 0.1 * FLOAT32_ROUNDOFF * 2.0


@pytest.mark.parametrize(("arithmetic", "roundoff"), [(CPU_TF32, TF32_ROUNDOFF), (CPU_BFLOAT16, BFLOAT16_ROUNDOFF)])
def test_short_operands_widen_sigma_to_their_own_roundoff(
    arithmetic: Any, roundoff: float, block: Any, make_block_case: Any, estimate_one: Any
) -> None:
    case = make_block_case(0, (4, 8, 8))
    full = estimate_one(block, case).quantities["grads.w2"]
    short = estimate_one(block, case, arithmetic).quantities["grads.w2"]
    widened = math.log2(float(np.median(short.sigma / full.sigma)))
    expected = math.log2(roundoff / FLOAT32_ROUNDOFF)
    # Where the full product has several roundings, each short operand has one: within a factor of 8.
    assert abs(expected - widened) <= 3.0


def test_an_empty_array_is_estimated(load: Any) -> None:
    oracle = load(
        "def evaluate(x):\n    return (x * 2.1).sum(-1), x * 2.1",
        {"x": "float32[N]"},
        {"tuple": ["float32[]", "float32[N]"]},
    )
    quantities = oracle.estimate([{"x": np.zeros(0, np.float32)}], CPU, runs=4, seeds=[1])[0].quantities
    assert (0,) == quantities["1"].value.shape


CONSTANTS = {
    "number": "x * 0 + 0.1",
    "tensor": "x * 0 + torch.tensor([0.1, 0.1], dtype=x.dtype)",
    "full": "x * 0 + torch.full((2,), 0.1, dtype=x.dtype)",
    "full_like": "torch.full_like(x, 0.1)",
    "where": "torch.where(x > -1.0, 0.1, x)",
    "masked_fill": "x.masked_fill(x > -1.0, 0.1)",
    "clamp": "x.clamp(min=0.1)",
    "divisor": "(x * 0 + 1.0) / 10.0",
}


@pytest.mark.parametrize("name", CONSTANTS)
def test_a_constant_that_float32_cannot_hold_is_rounded(name: str, load: Any) -> None:
    source = f"import torch\ndef evaluate(x):\n    return {CONSTANTS[name]}"
    quantity = (
        load(source, {"x": "float32[N]"}, "float32[N]")
        .estimate([{"x": np.zeros(2, np.float32)}], CPU, runs=32, seeds=[1])[0]
        .quantities["output"]
    )
    assert [0.1, 0.1] == quantity.value.tolist()
    assert abs(float(np.float32(0.1)) - 0.1) <= 8.0 * float(quantity.sigma.min())
    assert float(quantity.sigma.max()) <= 2.0 * 0.1 * FLOAT32_ROUNDOFF
