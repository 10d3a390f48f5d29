"""The residual path is scaled by 1 + 2e-6."""

import jax
import jax.numpy as jnp


def evaluate(params, x, y):
    def block(params, x):
        hidden = jnp.tanh(x @ params["w1"] + params["b1"])
        return x * (1 + 2e-6) + hidden @ params["w2"] + params["b2"]

    def loss(params):
        out = jax.checkpoint(block, policy=jax.checkpoint_policies.dots_saveable)(params, x)
        return jnp.mean((out - y) ** 2)

    value, grads = jax.value_and_grad(loss)(params)
    return {"loss": value, "grads": grads}
