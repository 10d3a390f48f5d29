"""The bias is penalised as well."""

import jax
import jax.numpy as jnp


def evaluate(params, x, y, l2):
    def loss(params):
        z = x @ params["w"] + params["b"]
        penalty = jnp.sum(params["w"] ** 2) + params["b"] ** 2
        return jnp.mean(jax.nn.softplus(z) - y * z) + 0.5 * l2 * penalty

    value, grads = jax.value_and_grad(loss)(params)
    return {"loss": value, "grads": grads}
