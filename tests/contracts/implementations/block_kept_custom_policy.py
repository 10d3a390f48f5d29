"""The policy is the user's own, which decides as dots_saveable does."""

from __future__ import annotations

import jax
import jax.numpy as jnp


def evaluate(params: dict, x: jax.Array, y: jax.Array) -> dict:
    def block(params, x):
        hidden = jnp.tanh(x @ params["w1"] + params["b1"])
        return x + hidden @ params["w2"] + params["b2"]

    def products_only(primitive, *_, **__):
        return primitive.name == "dot_general"

    def loss(params):
        out = jax.checkpoint(block, policy=products_only)(params, x)
        return jnp.mean((out - y) ** 2)

    value, grads = jax.value_and_grad(loss)(params)
    return {"loss": value, "grads": grads}
