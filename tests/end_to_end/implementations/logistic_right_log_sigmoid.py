"""The cross-entropy in terms of log_sigmoid."""

import jax
import jax.numpy as jnp


def evaluate(params, x, y, l2):
    def loss(params):
        z = x @ params["w"] + params["b"]
        return -jnp.mean(y * jax.nn.log_sigmoid(z) + (1 - y) * jax.nn.log_sigmoid(-z)) + 0.5 * l2 * jnp.sum(
            params["w"] ** 2
        )

    value, grads = jax.value_and_grad(loss)(params)
    return {"loss": value, "grads": grads}
