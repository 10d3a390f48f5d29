"""The params are the second argument, and the block's output is the aux."""

from __future__ import annotations

import jax
import jax.numpy as jnp


def evaluate(params: dict, x: jax.Array, y: jax.Array) -> dict:
    def block(params, x):
        hidden = jnp.tanh(x @ params["w1"] + params["b1"])
        return x + hidden @ params["w2"] + params["b2"]

    def loss(x, params):
        out = jax.checkpoint(block, policy=jax.checkpoint_policies.dots_saveable)(params, x)
        return jnp.mean((out - y) ** 2), out

    (value, _), grads = jax.value_and_grad(loss, argnums=1, has_aux=True)(x, params)
    return {"loss": value, "grads": grads}
