"""A checkpointed block is made, but the plain one is called: breaks `checkpoint`, for tanh is saved."""

from __future__ import annotations

import jax
import jax.numpy as jnp


def evaluate(params: dict, x: jax.Array, y: jax.Array) -> dict:
    def block(params, x):
        hidden = jnp.tanh(x @ params["w1"] + params["b1"])
        return x + hidden @ params["w2"] + params["b2"]

    _ = jax.checkpoint(block, policy=jax.checkpoint_policies.dots_saveable)

    def loss(params):
        out = block(params, x)
        return jnp.mean((out - y) ** 2)

    value, grads = jax.value_and_grad(loss)(params)
    return {"loss": value, "grads": grads}
