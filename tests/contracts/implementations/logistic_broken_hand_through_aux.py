"""Gradients by hand are handed out as the aux of jax.value_and_grad: breaks `differentiated_with`."""

from __future__ import annotations

import jax
import jax.numpy as jnp


def evaluate(params: dict, x: jax.Array, y: jax.Array, l2: float) -> dict:
    def loss(params):
        z = x @ params["w"] + params["b"]
        d = (jax.nn.sigmoid(z) - y) / x.shape[0]
        by_hand = {"w": d @ x + l2 * params["w"], "b": jnp.sum(d)}
        return jnp.mean(jax.nn.softplus(z) - y * z) + 0.5 * l2 * jnp.sum(params["w"] ** 2), by_hand

    (value, grads), _ = jax.value_and_grad(loss, has_aux=True)(params)
    return {"loss": value, "grads": grads}
