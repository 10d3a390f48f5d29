"""Value and gradients are means over single rows, one after the other in a scan."""

from __future__ import annotations

import jax
import jax.numpy as jnp


def evaluate(params: dict, x: jax.Array, y: jax.Array) -> dict:
    def block(params, x):
        hidden = jnp.tanh(x @ params["w1"] + params["b1"])
        return x + hidden @ params["w2"] + params["b2"]

    def loss(params, x, y):
        out = jax.checkpoint(block, policy=jax.checkpoint_policies.dots_saveable)(params, x)
        return jnp.mean((out - y) ** 2)

    def step(total, row):
        return jax.tree.map(jnp.add, total, jax.value_and_grad(loss)(params, *row)), None

    zero = jnp.float32(0), jax.tree.map(jnp.zeros_like, params)
    total, _ = jax.lax.scan(step, zero, (x[:, None], y[:, None]))
    value, grads = jax.tree.map(lambda leaf: leaf / x.shape[0], total)
    return {"loss": value, "grads": grads}
