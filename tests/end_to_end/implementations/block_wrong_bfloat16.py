"""The operands of both products are rounded to bfloat16."""

import jax
import jax.numpy as jnp


def evaluate(params, x, y):
    def block(params, x):
        def short(v):
            return jax.lax.reduce_precision(v, 8, 7)

        hidden = jnp.tanh(short(x) @ short(params["w1"]) + params["b1"])
        return x + short(hidden) @ short(params["w2"]) + params["b2"]

    def loss(params):
        out = jax.checkpoint(block, policy=jax.checkpoint_policies.dots_saveable)(params, x)
        return jnp.mean((out - y) ** 2)

    value, grads = jax.value_and_grad(loss)(params)
    return {"loss": value, "grads": grads}
