"""Operations that order elements: values keep what rounding left them, indices are coins where elements nearly tie."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from conformance.errors import OracleRefusal
from conformance.values.arithmetic import CPU
from conformance.values.estimate import Estimate

CLEAR = np.random.default_rng(4).permutation(7).astype(np.float32) * 0.3 - 1.0
NEAR = np.array([2.0, 1.0, 1.0000001, -1.0], np.float32)
# As near to a tie as its operand, with errors that can part it.
VALUES = "x * 1.1 - x * x * 0.3"


@pytest.fixture
def estimate_pair(load: Any) -> Any:
    """The estimates of a float and a whole number, or vectors of n of them, that an expression makes of a vector y."""

    def estimate_pair(
        expression: str, x: Any, size: str = "N", *, allow_ties: bool = False, y: str = "x"
    ) -> tuple[Estimate, Estimate]:
        source = f"import torch\ndef evaluate(x):\n    y = {y}\n    return tuple(({expression}))\n"
        oracle = load(source, {"x": "float32[N]"}, {"tuple": [f"float32[{size}]", f"int32[{size}]"]})
        case = {"x": np.asarray(x, np.float32)}
        quantities = oracle.estimate([case], CPU, runs=32, seeds=[3], allow_ties=allow_ties)[0].quantities
        return quantities["0"], quantities["1"]

    return estimate_pair


@pytest.mark.parametrize(
    ("expression", "size"),
    [
        ("y.sort(-1)", "N"),
        ("y.sort(dim=-1, descending=True)", "N"),
        ("y.sort(dim=-1, stable=True, descending=True)", "N"),
        ("y.topk(3)", "3"),
        ("y.topk(3, -1, largest=False)", "3"),
        ("y.kthvalue(2)", ""),
        ("y.kthvalue(2, keepdim=True)", "1"),
        ("y.median(-1)", ""),
        ("y.unsqueeze(-1).sort(-2).values.squeeze(-1), y.argsort(-1, descending=True)", "N"),
    ],
)
def test_clear_orders_are_those_of_torch_and_exact(estimate_pair: Any, expression: str, size: str) -> None:
    wanted = eval(expression, {"y": torch.from_numpy(CLEAR.astype(np.float64)), "torch": torch})
    values, indices = estimate_pair(expression, CLEAR, size)
    assert wanted[0].tolist() == values.value.tolist()
    assert wanted[1].tolist() == indices.value.tolist()
    assert not np.any(values.sigma)
    assert indices.sigma is None


@pytest.mark.parametrize("expression", ["y.sort(-1)", "y.sort(-1, descending=True)", "y.topk(4)"])
def test_the_places_of_a_near_tie_are_coins_and_their_values_are_not(estimate_pair: Any, expression: str) -> None:
    values, indices = estimate_pair(expression, NEAR, "N" if "sort" in expression else "4", y=VALUES)
    assert values.resolved
    moved = np.isin(indices.value, [1, 2])
    assert moved.tolist() == (indices.sigma > 0).tolist()
    assert not indices.resolved


@pytest.mark.parametrize("expression", ["y.kthvalue(2)", "y.median(-1)"])
def test_a_value_of_a_rank_is_resolved_where_its_place_is_a_coin(estimate_pair: Any, expression: str) -> None:
    values, index = estimate_pair(expression, [2.0, 1.2, 1.2000002, -1.0], "", y=VALUES)
    assert values.resolved
    assert not index.resolved


def test_an_order_of_many_near_ties_holds_every_place_once(estimate_pair: Any) -> None:
    x = 1.0 + np.arange(16, dtype=np.float32) * np.float32(2.0**-23)
    total, places = estimate_pair(f"({VALUES.replace('x', 'y')}).sort(-1)", x)
    assert total.resolved
    assert np.all(places.sigma > 0)
    _, counted = estimate_pair(f"(y, ({VALUES.replace('x', 'y')}).argsort(-1).sort(-1).values)", x[::-1])
    assert counted.sigma is None
    assert list(range(16)) == counted.value.tolist()


@pytest.mark.parametrize(
    ("expression", "order"), [("y.sort(-1)", [3, 0, 2, 1]), ("y.sort(-1, descending=True)", [1, 0, 2, 3])]
)
def test_an_exact_tie_is_refused_unless_it_is_declared(estimate_pair: Any, expression: str, order: list[int]) -> None:
    tied = [0.5, 2.0, 0.5, -1.0]
    with pytest.raises(OracleRefusal, match=r"aten\.sort.*1 element tie exactly"):
        estimate_pair(expression, tied)
    values, indices = estimate_pair(expression, tied, allow_ties=True)
    assert not np.any(values.sigma)
    assert order == indices.value.tolist()
    assert [place in (0, 2) for place in order] == (indices.sigma > 0).tolist()


@pytest.mark.parametrize("near", [False, True])
@pytest.mark.parametrize("chosen", ["sort(-1).values[..., -2]", "topk(2).values[..., 1]", "kthvalue(2).values"])
def test_a_gradient_through_an_order_is_resolved_where_the_order_is(
    estimate_body: Any, chosen: str, near: bool
) -> None:
    x = [[2.0, 1.2, 1.2000002 if near else 1.9]]
    quantities = estimate_body(f"y = {VALUES}\nloss = y.{chosen}.sum(-1)", x).quantities
    assert quantities["loss"].resolved
    assert quantities["grad"].resolved != near


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("x.topk(2, sorted=False).values", "leaves the order of its results open"),
        ("x.flatten(-2).median()", "name the dimension"),
        ("x.repeat(*(1 for _ in x.shape[:-1]), 300).sort(-1).values", "orders 900 elements.*up to 512"),
        ("x.nanmedian(-1).values", "torch.sort"),
    ],
)
def test_an_order_that_cannot_be_judged_is_refused(estimate_body: Any, body: str, words: str) -> None:
    with pytest.raises(OracleRefusal, match=words):
        estimate_body(f"loss = ({body} * 1.0).sum()", [[1.3, -2.1, 3.2]])
