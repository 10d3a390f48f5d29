"""Gradients are jax.value_and_grad's, the loss is computed again: breaks `differentiated_with`."""

from __future__ import annotations

import jax
import jax.numpy as jnp


def evaluate(params: dict, x: jax.Array, y: jax.Array, l2: float) -> dict:
    def loss(params):
        z = x @ params["w"] + params["b"]
        return jnp.mean(jax.nn.softplus(z) - y * z) + 0.5 * l2 * jnp.sum(params["w"] ** 2)

    _, grads = jax.value_and_grad(loss)(params)
    return {"loss": loss(params), "grads": grads}
