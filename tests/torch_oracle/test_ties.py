"""Comparisons that rounding can turn blow sigma up; exact ties are refused."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from conformance.errors import OracleRefusal
from conformance.judging.standardised import standardise
from conformance.values.arithmetic import CPU

TIES = {
    "relu at 0": ("loss = torch.relu(x).sum((-2, -1))", [[0.0, 1.0, 2.0]], "1 element"),
    "abs at 0": ("loss = x.abs().sum((-2, -1))", [[0.0, 0.0, 2.0]], "2 elements"),
    "two largest": ("loss = x.amax(-1).sum(-1)", [[1.0, 1.0, 0.0]], "1 element"),
    "two largest, by index": ("loss = x.max(-1).values.sum(-1)", [[1.0, 1.0, 0.0]], "1 element"),
    "clamp at its edge": ("loss = x.clamp(max=1.0).sum((-2, -1))", [[1.0, 2.0]], "1 element"),
    "maximum of equals": ("loss = torch.maximum(x, x * x).sum((-2, -1))", [[1.0, 3.0]], "1 element"),
    "floor of a whole": ("loss = (x * torch.floor(x)).sum((-2, -1))", [[2.0, 2.5]], "1 element"),
}


@pytest.mark.parametrize("name", TIES)
def test_an_exact_tie_is_refused_with_its_operation_and_count(name: str, estimate_body: Any) -> None:
    body, x, count = TIES[name]
    with pytest.raises(OracleRefusal, match=f"aten.*{count}.*tie exactly"):
        estimate_body(body, x)


@pytest.mark.parametrize("name", TIES)
def test_a_declared_tie_is_a_coin_that_leaves_the_gradient_unresolved(name: str, estimate_body: Any) -> None:
    body, x, _ = TIES[name]
    estimation = estimate_body(body, x, allow_ties=True)
    assert not estimation.quantities["grad"].resolved
    assert estimation.coins


NEAR = {
    "relu": ("loss = torch.relu(x.sum(-1) - 0.3).sum(-1)", [[0.1, 0.2, 1e-9]]),
    "abs": ("loss = (x.sum(-1) - 0.3).abs().sum(-1)", [[0.1, 0.2, 1e-9]]),
    "where": ("z = x.sum(-1)\nloss = torch.where(z > 0.3, z * 2, z).sum(-1)", [[0.1, 0.2, 1e-9]]),
    "amax": ("loss = (x * 1.1).amax(-1).sum(-1)", [[1.0, 1.0000001, 0.0]]),
    "max": ("loss = (x * 1.1).max(-1).values.sum(-1)", [[1.0, 1.0000001, 0.0]]),
    "floor": ("z = x.sum(-1)\nloss = (z * torch.floor(z)).sum(-1)", [[0.7, 0.1, 0.2]]),
}


@pytest.mark.parametrize("name", NEAR)
def test_a_near_tie_is_a_coin_and_leaves_the_gradient_unresolved(name: str, estimate_body: Any) -> None:
    body, x = NEAR[name]
    estimation = estimate_body(body, x)
    assert not estimation.quantities["grad"].resolved
    assert any(text.startswith("aten.") and "element" in text for text in estimation.coins)


CLEAR = {
    "relu": ("loss = (x * torch.relu(x)).sum((-2, -1))", [[1.3, -2.1, 3.2]]),
    "softmax of equals": ("loss = torch.softmax(x, -1)[..., 0].sum(-1)", [[1.0, 1.0, 0.0]]),
    "amax as a shift": (
        "loss = (torch.log(torch.exp(x - x.amax(-1, keepdim=True)).sum(-1)) + x.amax(-1)).sum(-1)",
        [[1.3, -2.1, 3.2]],
    ),
    "max as a shift": (
        "m = x.max(-1, keepdim=True).values\nloss = (torch.exp(x - m).sum(-1).log() + m.squeeze(-1)).sum(-1)",
        [[1.3, -2.1, 3.2]],
    ),
    "labels": ("loss = torch.where(x == 1.0, x * 2.1, x * x).sum((-2, -1))", [[1.0, 0.0, 3.0]]),
    "clamp": ("loss = (x * x.clamp(-1.0, 1.0)).sum((-2, -1))", [[1.3, -0.3, 3.2]]),
    "maximum": ("loss = torch.maximum(x, x * x).sum((-2, -1))", [[0.5, 2.0, -3.0]]),
}


@pytest.mark.parametrize("name", CLEAR)
def test_clear_decisions_throw_no_coin(name: str, estimate_body: Any) -> None:
    body, x = CLEAR[name]
    estimation = estimate_body(body, x)
    assert () == estimation.coins
    assert estimation.quantities["loss"].resolved
    assert estimation.quantities["grad"].resolved


_NEAR_TIE = np.array([1.0, 1.0000001, 0.0, -1.0], np.float32)
DECIDED = {
    "int32[]": "return y.argmax(-1)",
    "bool[N]": "return y == y.amax(-1, keepdim=True)",
    "int32[N]": "return (y.unsqueeze(-2) - y.unsqueeze(-1) - torch.eye(4, dtype=y.dtype) > 0).sum(-1)",
}


@pytest.fixture
def load_decided(load: Any) -> Any:
    """Loads an oracle that decides something about a vector, by the type of what it returns."""

    def load_decided(output: str) -> Any:
        source = f"import torch\ndef evaluate(x):\n    y = x * 1.1 - x * x * 0.3\n    {DECIDED[output]}\n"
        return load(source, {"x": "float32[N]"}, output)

    return load_decided


@pytest.mark.parametrize("output", DECIDED)
def test_an_exact_quantity_that_rounding_decides_is_judged_by_its_jump(output: str, load_decided: Any) -> None:
    oracle = load_decided(output)
    decided, clear = (
        oracle.estimate([{"x": x}], CPU, runs=32, seeds=[3])[0].quantities["output"]
        for x in (_NEAR_TIE, np.array([1.0, 2.0, 0.0, -1.0], np.float32))
    )
    assert clear.sigma is None
    assert clear.resolved
    assert decided.sigma is not None
    assert not decided.resolved
    if decided.sigma.ndim:
        # The others are as exact as ever.
        assert [True, True, False, False] == (decided.sigma > 0).tolist()
    other = decided.value.copy()
    other[...] = np.array(other)[..., [1, 0, 2, 3]] if other.ndim else 1 - other
    assert standardise(other, decided).agrees


def test_an_exact_quantity_is_still_wrong_where_rounding_decides_nothing(load_decided: Any) -> None:
    estimate = load_decided("int32[N]").estimate([{"x": _NEAR_TIE}], CPU, runs=32, seeds=[3])[0].quantities["output"]
    assert math.isinf(standardise(estimate.value + np.array([0, 0, 0, 1]), estimate).largest)
