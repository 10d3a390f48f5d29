"""The mean is over B alone."""

import jax
import jax.numpy as jnp


def evaluate(params, x, y):
    def block(params, x):
        return x + jnp.tanh(x @ params["w1"] + params["b1"]) @ params["w2"] + params["b2"]

    def loss(params):
        out = jax.checkpoint(block, policy=jax.checkpoint_policies.dots_saveable)(params, x)
        return jnp.sum((out - y) ** 2) / x.shape[0]

    value, grads = jax.value_and_grad(loss)(params)
    return {"loss": value, "grads": grads}
