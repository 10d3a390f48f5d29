"""The products are written with lax.dot_general."""

from __future__ import annotations

import jax
import jax.numpy as jnp


def evaluate(params: dict, x: jax.Array, y: jax.Array) -> dict:
    def block(params, x):
        contract = (((1,), (0,)), ((), ()))
        hidden = jnp.tanh(jax.lax.dot_general(x, params["w1"], contract) + params["b1"])
        return x + jax.lax.dot_general(hidden, params["w2"], contract) + params["b2"]

    def loss(params):
        out = jax.checkpoint(block, policy=jax.checkpoint_policies.dots_saveable)(params, x)
        return jnp.mean((out - y) ** 2)

    value, grads = jax.value_and_grad(loss)(params)
    return {"loss": value, "grads": grads}
