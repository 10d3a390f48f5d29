"""softplus has a reverse rule of its own."""

from __future__ import annotations

import jax
import jax.numpy as jnp


@jax.custom_vjp
def _softplus(z):
    return jnp.maximum(z, 0) + jnp.log1p(jnp.exp(-jnp.abs(z)))


_softplus.defvjp(lambda z: (_softplus(z), z), lambda z, g: (g * jax.nn.sigmoid(z),))


def evaluate(params: dict, x: jax.Array, y: jax.Array, l2: float) -> dict:
    def loss(params):
        z = x @ params["w"] + params["b"]
        return jnp.mean(_softplus(z) - y * z) + 0.5 * l2 * jnp.sum(params["w"] ** 2)

    value, grads = jax.value_and_grad(loss)(params)
    return {"loss": value, "grads": grads}
