"""Finite differences of an oracle's own loss: a second opinion on its gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from conformance.values.differences import FACTOR, Differences

LOSS = "(torch.tanh(x @ w.unsqueeze(-1)).squeeze(-1) ** 2).mean(-1) + 0.05 * (w * w).sum(-1)"
INPUTS = {"w": np.float32([0.5, -1.25]), "x": np.float32([[1.0, 0.5], [-0.75, 2.0], [0.25, -1.0]])}
SIGNATURE = {"w": "float32[D]", "x": "float32[N,D]"}
OUTPUTS = {"loss": "float32[]", "grad": "float32[D]"}


@pytest.fixture
def ask(load: Any) -> Callable[..., dict[str, Differences]]:
    """A function that asks for the differences of an oracle with a loss and a gradient of ours, as expressions."""

    def ask(
        gradient: str = "grad",
        loss: str = LOSS,
        values: Any = INPUTS,
        inputs: Any = SIGNATURE,
        outputs: Any = OUTPUTS,
    ) -> dict[str, Differences]:
        source = f"""
            import torch

            def evaluate({", ".join(inputs)}):
                w = w.detach().requires_grad_()
                loss = {loss}
                (grad,) = torch.autograd.grad(loss.sum(), w)
                return {{"loss": loss.detach(), "grad": {gradient}}}
        """
        return load(source, inputs, outputs).differentiate(values, seed=1)

    return ask


def test_the_shipped_oracles_gradients_are_their_losses_own(
    block: Any, make_block_case: Any, logistic: Any, make_logistic_case: Any
):
    cases = [
        (block, make_block_case(0, (4, 3, 5)), 4),
        (logistic, make_logistic_case([[1.0, 2.0], [-1.0, 0.5]], [0.5, -1.0], 0.25, [0, 1], 0.1), 2),
        (logistic, make_logistic_case([[1.0], [-1.0]], [125.0], 0.0, [0, 1], 0.0), 2),
        (logistic, make_logistic_case([[1.0]], [0.0], 0.0, [0], 0.0), 2),
    ]
    for oracle, case, gradients in cases:
        found = oracle.differentiate(case, seed=1)
        assert gradients == len(found)
        for differences in found.values():
            assert not differences.disagree.any()
            assert differences.largest <= FACTOR * float(np.max(differences.errors))
            assert np.max(differences.errors) < 1e-6


def test_a_right_gradient_agrees(ask: Any):
    (differences,) = ask().values()
    assert [(0,), (1,)] == list(differences.indices)
    assert not differences.disagree.any()


@pytest.mark.parametrize("changed", ["1.00001 * grad", "-grad", "grad - 0.1 * w.detach()", "grad.roll(1, -1)"])
def test_a_gradient_that_is_another_functions_is_found_out(ask: Any, changed: str):
    (differences,) = ask(changed).values()
    assert differences.disagree.any()


def test_an_element_at_a_kink_accuses_no_other(ask: Any):
    values = {**INPUTS, "w": np.float32([0.0, 1.0])}
    (differences,) = ask(loss="w.abs().sum(-1) + 0 * x.sum((-2, -1))", values=values).values()
    assert not differences.disagree[1]


@pytest.mark.parametrize(
    "signature",
    [
        {"outputs": {"loss": "float32[]", "other": "float32[]", "grad": "float32[D]"}},
        {"outputs": {"grad": "float32[D]"}},
        {"outputs": {"loss": "float32[]", "grad": "float32[N]"}},
        {"inputs": {"w": "float32[D]", "x": "float32[N,D]", "v": "float32[D]"}},
    ],
    ids=["two losses", "no loss", "no input of that signature", "two inputs of that signature"],
)
def test_what_the_signature_does_not_tell_is_left_out(ask: Any, signature: Any):
    assert {} == ask(values={**INPUTS, "v": INPUTS["w"]}, **signature)


def test_of_a_large_gradient_some_elements_are_looked_at_the_same_for_a_seed(block: Any, make_block_case: Any):
    case = make_block_case(0, (2, 8, 16))
    first, again, other = (block.differentiate(case, seed=seed)["grads.w1"] for seed in (1, 1, 2))
    assert 48 <= len(first.indices) <= 49 < 8 * 16
    assert first.indices == again.indices != other.indices
    largest = np.unravel_index(np.argmax(np.abs(first.gradients)), first.gradients.shape)[0]
    assert abs(first.gradients[largest]) >= np.max(np.abs(other.gradients))
