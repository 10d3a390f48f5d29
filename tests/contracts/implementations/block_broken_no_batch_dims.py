"""The policy is dots_with_no_batch_dims_saveable: breaks `checkpoint`, though the same values are saved."""

from __future__ import annotations

import jax
import jax.numpy as jnp


def evaluate(params: dict, x: jax.Array, y: jax.Array) -> dict:
    def block(params, x):
        hidden = jnp.tanh(x @ params["w1"] + params["b1"])
        return x + hidden @ params["w2"] + params["b2"]

    def loss(params):
        out = jax.checkpoint(block, policy=jax.checkpoint_policies.dots_with_no_batch_dims_saveable)(params, x)
        return jnp.mean((out - y) ** 2)

    value, grads = jax.value_and_grad(loss)(params)
    return {"loss": value, "grads": grads}
