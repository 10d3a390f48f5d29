"""Sigma against what correct float32 implementations are really off by: here a small sample of each kind of rule.

The limits are those of the specification: no error above 8 sigma, and a root mean square of 0.1 to 1.2.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from conformance.values.arithmetic import CPU

LIMIT = 8.0
LEAST, MOST = 0.1, 1.2
CASES = 120


def log_uniform(rng: Any, low: float, high: float) -> float:
    return float(10.0 ** rng.uniform(low, high))


def normal(rng: Any, *shape: int, scale: float = 1.0) -> Any:
    return (scale * rng.normal(size=shape)).astype(np.float32)


def logistic_in_jax(params: Any, x: Any, y: Any, l2: Any) -> Any:
    def loss(p: Any) -> Any:
        z = x @ p["w"] + p["b"]
        return jnp.mean(jax.nn.softplus(z) - y * z) + l2 / 2 * jnp.sum(p["w"] ** 2)

    value, grads = jax.value_and_grad(loss)(params)
    return {"loss": value, "grads.w": grads["w"], "grads.b": grads["b"]}


def block_in_jax(params: Any, x: Any, y: Any) -> Any:
    def loss(p: Any) -> Any:
        return jnp.mean((x + jnp.tanh(x @ p["w1"] + p["b1"]) @ p["w2"] + p["b2"] - y) ** 2)

    value, grads = jax.value_and_grad(loss)(params)
    return {"loss": value, **{f"grads.{name}": grad for name, grad in grads.items()}}


def cross_entropy(w: Any, x: Any, y: Any) -> Any:
    def loss(w: Any) -> Any:
        return -jnp.mean(jnp.take_along_axis(jax.nn.log_softmax(x @ w), y[:, None], 1))

    value, grad = jax.value_and_grad(loss)(w)
    return {"loss": value, "grad": grad}


def layer_norm(x: Any, gain: Any, bias: Any, y: Any) -> Any:
    def loss(x: Any, gain: Any, bias: Any) -> Any:
        centred = x - x.mean(-1, keepdims=True)
        out = centred / jnp.sqrt((centred**2).mean(-1, keepdims=True) + 1e-5) * gain + bias
        return jnp.mean((out - y) ** 2), out

    (value, out), grads = jax.value_and_grad(loss, (0, 1, 2), has_aux=True)(x, gain, bias)
    return {"out": out, "loss": value, "x": grads[0], "gain": grads[1], "bias": grads[2]}


CROSS_ENTROPY = """
    import torch
    import torch.nn.functional as F

    def evaluate(w, x, y):
        w = w.detach().requires_grad_()
        logits = x @ w
        flat = F.cross_entropy(logits.reshape(-1, logits.shape[-1]), y.reshape(-1), reduction="none")
        loss = flat.view(y.shape).mean(-1)
        return {"loss": loss.detach(), "grad": torch.autograd.grad(loss.sum(), [w])[0]}
"""
LAYER_NORM = """
    import torch
    import torch.nn.functional as F

    def evaluate(x, gain, bias, y):
        x, gain, bias = (value.detach().requires_grad_() for value in (x, gain, bias))
        out = F.layer_norm(x, x.shape[-1:], eps=1e-5) * gain.unsqueeze(-2) + bias.unsqueeze(-2)
        loss = ((out - y) ** 2).mean((-2, -1))
        grads = torch.autograd.grad(loss.sum(), [x, gain, bias])
        return {"out": out.detach(), "loss": loss.detach(), **dict(zip(("x", "gain", "bias"), grads, strict=True))}
"""


def assert_calibrated(oracle: Any, implementation: Any, cases: list[dict[str, Any]]) -> None:
    compiled = jax.jit(implementation)
    standardised: dict[str, list[Any]] = {}
    for case, estimation in zip(cases, oracle.estimate(cases, CPU, runs=32, seeds=range(len(cases))), strict=True):
        assert () == estimation.coins
        found = compiled(**jax.tree.map(jnp.asarray, case))
        for name, estimate in estimation.quantities.items():
            error = np.abs(np.asarray(found[name], np.float64) - estimate.value)
            z = np.divide(error, estimate.sigma, out=np.where(error > 0, np.inf, 0.0), where=estimate.sigma > 0)
            standardised.setdefault(name, []).append(z.ravel())
    for name, parts in standardised.items():
        z = np.concatenate(parts)
        assert float(z.max()) <= LIMIT, name
        assert LEAST <= float(np.sqrt(np.mean(z * z))) <= MOST, name


def test_sigma_of_the_logistic_oracle_is_calibrated(logistic: Any, make_logistic_case: Any) -> None:
    rng = np.random.default_rng(11)
    cases = []
    for _ in range(CASES):
        scale = log_uniform(rng, -6, 2)
        w, b = normal(rng, 3, scale=scale), float(normal(rng, 1, scale=scale)[0])
        cases.append(
            make_logistic_case(normal(rng, 5, 3), w, b, rng.integers(0, 2, 5), float(rng.choice([0, 0.37, 10])))
        )
    assert_calibrated(logistic, logistic_in_jax, cases)


@pytest.mark.parametrize("dims", [(2, 3, 4), (5, 7, 3), (16, 16, 32)])
def test_sigma_of_the_block_oracle_is_calibrated(dims: tuple[int, int, int], block: Any, make_block_case: Any) -> None:
    rng = np.random.default_rng(12)
    cases = [make_block_case(seed, dims, log_uniform(rng, -3, 1), log_uniform(rng, -3, 2)) for seed in range(CASES)]
    assert_calibrated(block, block_in_jax, cases)


def test_sigma_of_a_fused_cross_entropy_is_calibrated(load: Any) -> None:
    inputs = {"w": "float32[D,C]", "x": "float32[N,D]", "y": "int32[N]"}
    oracle = load(CROSS_ENTROPY, inputs, {"loss": "float32[]", "grad": "float32[D,C]"})
    rng = np.random.default_rng(13)
    cases = [
        {
            "w": normal(rng, 4, 6, scale=log_uniform(rng, -3, 2)),
            "x": normal(rng, 5, 4),
            "y": rng.integers(0, 6, 5).astype(np.int32),
        }
        for _ in range(CASES)
    ]
    assert_calibrated(oracle, cross_entropy, cases)


@pytest.mark.parametrize(("width", "offset"), [(4, 0.0), (7, 10.0), (16, 1.0)])
def test_sigma_of_a_fused_layer_norm_is_calibrated(width: int, offset: float, load: Any) -> None:
    inputs = {"x": "float32[N,D]", "gain": "float32[D]", "bias": "float32[D]", "y": "float32[N,D]"}
    outputs = {
        "out": "float32[N,D]",
        "loss": "float32[]",
        "x": "float32[N,D]",
        "gain": "float32[D]",
        "bias": "float32[D]",
    }
    oracle = load(LAYER_NORM, inputs, outputs)
    rng = np.random.default_rng(14)
    cases = []
    for _ in range(CASES):
        x = ((normal(rng, 3, width) + offset) * log_uniform(rng, -2, 2)).astype(np.float32)
        cases.append({"x": x, "gain": normal(rng, width), "bias": normal(rng, width), "y": normal(rng, 3, width)})
    assert_calibrated(oracle, layer_norm, cases)


def test_a_scale_error_on_the_residual_path_is_seen(block: Any, make_block_case: Any) -> None:
    """The guard can fail: a factor (1 + 2e-6) on the residual path alarms."""

    def wrong(params: Any, x: Any, y: Any) -> Any:
        return block_in_jax(params, x * (1 + 2e-6), y)

    with pytest.raises(AssertionError):
        assert_calibrated(block, wrong, [make_block_case(seed, (4, 4, 8)) for seed in range(20)])
