"""The shipped oracles against finite differences, and the checkpointed block against one without."""

from __future__ import annotations

from typing import Any

import pytest
import torch


def _leaves(seed: int, *shapes: tuple[int, ...]) -> list[torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    return [torch.randn(shape, generator=generator, dtype=torch.float64, requires_grad=True) for shape in shapes]


def _assert_gradient(evaluate: Any, names: list[str], params: list[torch.Tensor], *data: Any) -> None:
    """The gradients that `evaluate` returns are those of the loss that it returns, by central differences."""

    class Loss(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, *values: torch.Tensor) -> torch.Tensor:
            with torch.enable_grad():
                result = evaluate(dict(zip(names, values, strict=True)), *data)
            ctx.grads = [result["grads"][name] for name in names]
            return result["loss"]

        @staticmethod
        def backward(ctx: Any, grad: torch.Tensor) -> Any:
            return tuple(grad * value for value in ctx.grads)

    assert torch.autograd.gradcheck(Loss.apply, params)


@pytest.mark.parametrize("seed", range(3))
def test_the_logistic_oracle_passes_gradcheck(seed: int, logistic: Any) -> None:
    w, b, x = _leaves(seed, (3,), (), (5, 3))
    y = torch.tensor([0.0, 1.0, 1.0, 0.0, 1.0], dtype=torch.float64)
    _assert_gradient(logistic._evaluate, ["w", "b"], [w, b], x.detach(), y, 0.3)


@pytest.mark.parametrize("seed", range(3))
def test_the_block_oracle_passes_gradcheck(seed: int, block: Any) -> None:
    *params, x, y = _leaves(seed, (3, 4), (4,), (4, 3), (3,), (2, 3), (2, 3))
    _assert_gradient(block._evaluate, ["w1", "b1", "w2", "b2"], params, x.detach(), y.detach())


def test_the_checkpointed_block_equals_one_without_checkpoint_bit_for_bit(block: Any) -> None:
    *params, x, y = _leaves(7, (5, 6), (6,), (6, 5), (5,), (4, 5), (4, 5))
    w1, b1, w2, b2 = params
    found = block._evaluate(dict(zip(("w1", "b1", "w2", "b2"), params, strict=True)), x.detach(), y.detach())
    out = x.detach() + torch.tanh(x.detach() @ w1 + b1) @ w2 + b2
    loss = ((out - y.detach()) ** 2).mean()
    assert torch.equal(loss.detach(), found["loss"])
    for expected, name in zip(torch.autograd.grad(loss, params), ("w1", "b1", "w2", "b2"), strict=True):
        assert torch.equal(expected, found["grads"][name])


@pytest.mark.parametrize("batch", [(3,), (2, 3)])
def test_the_oracles_accept_any_leading_dimensions(batch: tuple[int, ...], logistic: Any, block: Any) -> None:
    w, b, x = (v.detach() for v in _leaves(1, (*batch, 2), batch, (*batch, 4, 2)))
    y = torch.zeros(*batch, 4, dtype=torch.float64)
    result = logistic._evaluate({"w": w, "b": b}, x, y, torch.ones(batch, dtype=torch.float64))
    assert (batch, (*batch, 2), batch) == (
        tuple(result["loss"].shape),
        tuple(result["grads"]["w"].shape),
        tuple(result["grads"]["b"].shape),
    )
    shapes = {"w1": (2, 3), "b1": (3,), "w2": (3, 2), "b2": (2,)}
    params = dict(zip(shapes, (v.detach() for v in _leaves(2, *((*batch, *s) for s in shapes.values()))), strict=True))
    result = block._evaluate(params, x, torch.zeros_like(x))
    assert {name: (*batch, *s) for name, s in shapes.items()} == {n: tuple(g.shape) for n, g in result["grads"].items()}
