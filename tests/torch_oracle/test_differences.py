"""Finite differences of an oracle's own loss tell a wrong gradient from a right one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import conformance
from conformance.files.case_file import load_cases
from conformance.files.problem_file import ProblemFolder
from conformance.values.differences import FACTOR, Differences
from conformance.values.tree import map_leaves

_ROOT = Path(conformance.__file__).resolve().parents[1]
_PROBLEMS = ("logistic_regression", "residual_mlp_block")
_CASES = [
    pytest.param(case, id=case.id)
    for name in _PROBLEMS
    for case in load_cases(_ROOT / "cases" / name / "documented.json", ProblemFolder(_ROOT))
]
_INPUTS = {"params": {"w": "float32[N,D]", "b": "float32[D]"}}
_OUTPUTS = {"loss": "float32[]", "grads": {"w": "float32[N,D]", "b": "float32[D]"}}
_SOURCE = """
import torch

def evaluate(params):
    w = params["w"].detach().requires_grad_()
    b = params["b"].detach().requires_grad_()
    loss = ((w.sin() + b.unsqueeze(-2)) ** 2).sum((-2, -1)) + 1.0
    grad_w, grad_b = torch.autograd.grad(loss.sum(), [w, b])
    FAULT
    return {"loss": loss.detach(), "grads": {"w": grad_w, "b": grad_b}}
"""


def _case(seed: int, *shape: int) -> dict[str, Any]:
    draw = np.random.default_rng(seed).normal
    return {"params": {"w": draw(size=shape).astype(np.float32), "b": draw(size=shape[-1:]).astype(np.float32)}}


def _two_ones(_leaf: Any) -> NDArray[np.float32]:
    return np.ones(2, np.float32)


def _disagreeing(found: Mapping[str, Differences]) -> set[str]:
    return {name for name, differences in found.items() if differences.disagree.any()}


def _largest(differences: Differences) -> float:
    known = np.isfinite(differences.errors)
    return float(np.max(np.abs(differences.gradients - differences.differences)[known], initial=0.0))


@pytest.fixture
def load_faulty(load: Any) -> Callable[[str], Any]:
    """Loads the oracle above with a statement that spoils what it returns."""
    return lambda fault: load(_SOURCE.replace("FAULT", fault), _INPUTS, _OUTPUTS)


@pytest.fixture
def pair(load: Any) -> Callable[..., dict[str, Differences]]:
    """The differences found for a signature, of an oracle whose loss is the sum of the first input's squares."""

    def pair(inputs: dict[str, Any], outputs: dict[str, Any], **case: Any) -> dict[str, Differences]:
        source = """
        def evaluate(*inputs):
            first = inputs[0]
            loss = (first * first).sum(-1)
            made = {"loss": loss, "other": loss, "grad": 2 * first, "gradient": {"x": 2 * first}}
            return {name: made[name] for name in OUTPUTS}
        """
        oracle = load(source.replace("OUTPUTS", repr(list(outputs))), inputs, outputs)
        return oracle.differentiate({name: np.asarray(value, np.float32) for name, value in case.items()}, seed=1)

    return pair


@pytest.mark.parametrize("case", _CASES)
def test_the_gradients_of_the_shipped_oracles_agree_on_every_documented_case(case: Any, side: Any) -> None:
    found = side.load(case.problem).differentiate(case.inputs, seed=case.seed)
    assert {f"grads.{name}" for name in case.inputs["params"]} == set(found)
    assert set() == _disagreeing(found)
    for name, differences in found.items():
        assert case.inputs["params"][name.removeprefix("grads.")].size == len(differences.indices)


@pytest.mark.parametrize("seed", range(3))
def test_the_differences_of_a_moderate_block_are_good_to_a_millionth_of_a_percent(
    seed: int, block: Any, make_block_case: Any
) -> None:
    for differences in block.differentiate(make_block_case(seed, (2, 3, 4)), seed=seed).values():
        assert _largest(differences) <= 1e-8 * np.max(np.abs(differences.gradients))
        assert np.all(differences.errors <= 1e-7 * np.max(np.abs(differences.gradients)))


@pytest.mark.parametrize(
    ("fault", "expected"),
    [
        ("", set[str]()),
        ("grad_w = grad_w * torch.tensor([[1.001, 1.0], [1.0, 1.0]], dtype=torch.float64)", {"grads.w"}),
        ("grad_w = -grad_w", {"grads.w"}),
        ("grad_b = grad_b + 1e-3 * b.detach()", {"grads.b"}),
        ("grad_b = grad_b * float('nan')", {"grads.b"}),
        ("loss = loss * 1.001", {"grads.w", "grads.b"}),
    ],
    ids=["right", "one-element", "sign", "penalised-bias", "nan", "another-loss"],
)
def test_a_wrong_gradient_disagrees_and_no_other_does(fault: str, expected: set[str], load_faulty: Any) -> None:
    found = load_faulty(fault).differentiate(_case(4, 2, 2), seed=4)
    assert {"grads.w", "grads.b"} == set(found)
    assert expected == _disagreeing(found)


def test_only_the_element_that_is_wrong_disagrees(load_faulty: Any) -> None:
    wrong = "grad_w = grad_w * torch.tensor([[1.0, 1.0], [1.001, 1.0]], dtype=torch.float64)"
    differences = load_faulty(wrong).differentiate(_case(4, 2, 2), seed=4)["grads.w"]
    assert ((0, 0), (0, 1), (1, 0), (1, 1)) == differences.indices
    assert [False, False, True, False] == differences.disagree.tolist()
    assert _largest(differences) == pytest.approx(abs(differences.gradients[2]) * (1.0 - 1.0 / 1.001), rel=1e-4)


def test_a_gradient_is_judged_as_far_as_the_errors_allow_and_no_further() -> None:
    errors = np.array([1.0, 1.0, 0.0, 0.0, 1.0])
    gradients = np.array([FACTOR, 1.01 * FACTOR, 0.0, 1e-300, np.nan])
    differences = Differences(tuple((i,) for i in range(5)), gradients, np.zeros(5), errors)
    assert [False, True, False, True, True] == differences.disagree.tolist()


def test_nothing_looked_at_is_nothing_apart() -> None:
    none: NDArray[np.float64] = np.zeros(0)
    differences = Differences((), none, none, none)
    assert 0.0 == _largest(differences)
    assert [] == differences.disagree.tolist()


def test_a_large_gradient_is_sampled_with_its_largest_element_and_alike_for_a_seed(load_faulty: Any) -> None:
    oracle, case = load_faulty(""), _case(6, 30, 20)
    case["params"]["w"][17, 5] = -6.5
    first, again, other = (oracle.differentiate(case, seed=seed)["grads.w"] for seed in (1, 1, 2))
    assert 48 <= len(first.indices) <= 49
    assert sorted(set(first.indices)) == list(first.indices)
    assert first.indices == again.indices
    assert np.array_equal(first.differences, again.differences)
    assert first.indices != other.indices
    full = 2.0 * (np.sin(case["params"]["w"].astype(float)) + case["params"]["b"]) * np.cos(case["params"]["w"])
    largest = tuple(int(i) for i in np.unravel_index(np.argmax(np.abs(full)), full.shape))
    assert all(largest in found.indices for found in (first, other))


def test_a_wrong_largest_element_is_seen_whatever_the_seed(load_faulty: Any) -> None:
    fault = "grad_w = torch.where(grad_w.abs() >= grad_w.abs().amax((-2, -1), keepdim=True), 1.001 * grad_w, grad_w)"
    oracle, case = load_faulty(fault), _case(6, 30, 20)
    for seed in range(5):
        assert 1 == np.sum(oracle.differentiate(case, seed=seed)["grads.w"].disagree)


def test_an_input_is_moved_in_double_precision(load: Any) -> None:
    # The float32 just below 2: with a step added it would be rounded in its last bit.
    source = 'def evaluate(x):\n    return {"loss": 3.0 * x, "grad": 0.0 * x + 3.0}'
    oracle = load(source, {"x": "float32[]"}, {"loss": "float32[]", "grad": "float32[]"})
    assert _largest(oracle.differentiate({"x": np.float32(2.0 - 2.0**-23)}, seed=0)["grad"]) <= 1e-12


def test_a_gradient_without_a_name_belongs_to_the_only_input_of_its_shape(pair: Any) -> None:
    outputs = {"loss": "float32[]", "grad": "float32[N]"}
    found = pair({"x": "float32[N]", "n": "float32[M]"}, outputs, x=[1, 2], n=[1])
    assert ["grad"] == list(found)
    assert not found["grad"].disagree.any()


@pytest.mark.parametrize(
    ("inputs", "outputs"),
    [
        ({"x": "float32[N]", "y": "float32[N]"}, {"loss": "float32[]", "grad": "float32[N]"}),
        ({"a": {"x": "float32[N]"}, "b": {"x": "float32[N]"}}, {"loss": "float32[]", "gradient": {"x": "float32[N]"}}),
        ({"z": "float32[N]"}, {"loss": "float32[]", "gradient": {"x": "float32[N]"}}),
        ({"x": "float32[N]"}, {"grad": "float32[N]"}),
        ({"x": "float32[N]"}, {"loss": "float32[]", "other": "float32[]", "grad": "float32[N]"}),
    ],
    ids=["two-inputs-of-one-shape", "two-inputs-of-one-name", "no-input-of-that-name", "no-loss", "two-losses"],
)
def test_what_the_signature_does_not_tell_is_left_out(inputs: Any, outputs: Any, load: Any) -> None:
    oracle = load("def evaluate(*inputs):\n    raise RuntimeError('not to be asked')", inputs, outputs)
    case = map_leaves(_two_ones, inputs)
    assert {} == oracle.differentiate(case, seed=1)


def test_one_gradient_that_cannot_be_told_leaves_the_others(pair: Any) -> None:
    outputs = {"loss": "float32[]", "grad": "float32[N]", "gradient": {"x": "float32[N]"}}
    assert ["gradient.x"] == list(pair({"x": "float32[N]", "y": "float32[N]"}, outputs, x=[1, 2], y=[3, 4]))


@pytest.mark.parametrize("logit", [8.0, 20.0, 30.0, 60.0])
def test_a_loss_that_cancels_raises_no_alarm(logit: float, logistic: Any, make_logistic_case: Any) -> None:
    # softplus(z) - z has the rounding errors of z, however small it is itself.
    case = make_logistic_case(np.ones((2, 1)), [logit], 0.0, np.ones(2), 0.0)
    assert set() == _disagreeing(logistic.differentiate(case, seed=1))


def _body(loss: str) -> str:
    return f"""
import torch

def evaluate(x):
    x = x.detach().requires_grad_()
    loss = {loss}
    return {{"loss": loss.detach(), "grad": torch.autograd.grad(loss.sum(), [x])[0]}}
"""


def test_at_a_kink_any_slope_between_the_two_sides_agrees(load: Any) -> None:
    oracle = load(_body("torch.relu(x).sum(-1)"), {"x": "float32[N]"}, {"loss": "float32[]", "grad": "float32[N]"})
    differences = oracle.differentiate({"x": np.array([0.0, 1.0, -1.0], np.float32)}, seed=1)["grad"]
    assert [False, False, False] == differences.disagree.tolist()
    assert np.all(differences.errors[1:] < 1e-9)


def test_steps_that_leave_the_domain_do_not_count(load: Any) -> None:
    oracle = load(_body("(x * x.log()).sum(-1)"), {"x": "float32[N]"}, {"loss": "float32[]", "grad": "float32[N]"})
    differences = oracle.differentiate({"x": np.array([2.0**-12, 2.0**-30, 1.0], np.float32)}, seed=1)["grad"]
    assert [False, False, False] == differences.disagree.tolist()
    assert [True, False, True] == np.isfinite(differences.errors).tolist()
    assert _largest(differences) < 1e-3


def test_the_norm_of_the_gradients_is_not_the_gradient_of_the_only_number(load: Any) -> None:
    source = """
    def evaluate(params):
        b = params["b"]
        return {"loss": b * b, "grads": {"b": 2 * b}, "grad_norm": 0 * b + 7.0}
    """
    outputs = {"loss": "float32[]", "grads": {"b": "float32[]"}, "grad_norm": "float32[]"}
    found = load(source, {"params": {"b": "float32[]"}}, outputs).differentiate(
        {"params": {"b": np.float32(2)}}, seed=1
    )
    assert ["grads.b"] == list(found)
