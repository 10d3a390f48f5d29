"""A planted fault: tanh is 1 from 2 on, which only some elements of a case show."""

import jax
import jax.numpy as jnp

from .helper import mean_square


def evaluate(params, x, y):
    def block(params, x):
        z = x @ params["w1"] + params["b1"]
        return x + jnp.where(z > 2.0, 1.0, jnp.tanh(z)) @ params["w2"] + params["b2"]

    kept = jax.checkpoint(block, policy=jax.checkpoint_policies.dots_saveable)
    loss, grads = jax.value_and_grad(lambda params: mean_square(kept(params, x) - y))(params)
    return {"loss": loss, "grads": grads}
