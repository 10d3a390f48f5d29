"""The caller's params are donated to the compiled function: breaks `inputs_unchanged`, for they are deleted."""

from __future__ import annotations

import jax
import jax.numpy as jnp


def evaluate(params: dict, x: jax.Array, y: jax.Array, l2: float) -> dict:
    def loss(params):
        z = x @ params["w"] + params["b"]
        return jnp.mean(jax.nn.softplus(z) - y * z) + 0.5 * l2 * jnp.sum(params["w"] ** 2)

    value, grads = jax.jit(jax.value_and_grad(loss), donate_argnums=0)(params)
    return {"loss": value, "grads": grads}
