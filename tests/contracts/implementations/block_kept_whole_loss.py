"""The whole loss is checkpointed, and not the block alone."""

from __future__ import annotations

import jax
import jax.numpy as jnp


def evaluate(params: dict, x: jax.Array, y: jax.Array) -> dict:
    def loss(params):
        hidden = jnp.tanh(x @ params["w1"] + params["b1"])
        out = x + hidden @ params["w2"] + params["b2"]
        return jnp.mean((out - y) ** 2)

    checkpointed = jax.checkpoint(loss, policy=jax.checkpoint_policies.dots_saveable)
    value, grads = jax.value_and_grad(checkpointed)(params)
    return {"loss": value, "grads": grads}
