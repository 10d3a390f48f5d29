"""Value and gradients are weighted sums over two halves of the rows, in a Python loop."""

from __future__ import annotations

import jax
import jax.numpy as jnp


def evaluate(params: dict, x: jax.Array, y: jax.Array, l2: float) -> dict:
    def loss(params, x, y):
        z = x @ params["w"] + params["b"]
        return jnp.mean(jax.nn.softplus(z) - y * z) + 0.5 * l2 * jnp.sum(params["w"] ** 2)

    rows = x.shape[0]
    value, grads = jnp.float32(0), jax.tree.map(jnp.zeros_like, params)
    for half in (slice(0, rows // 2), slice(rows // 2, rows)):
        if (share := (half.stop - half.start) / rows) > 0:
            v, g = jax.value_and_grad(loss)(params, x[half], y[half])
            value, grads = value + share * v, jax.tree.map(lambda a, b, s=share: a + s * b, grads, g)
    return {"loss": value, "grads": grads}
