"""1e-7 added inside the logarithm of the probability.

Seen: jax-ml/jax #23646 and keras-team/keras-core #196.
"""

import jax
import jax.numpy as jnp

EPSILON = 1e-7


def _loss(params, x, y, l2):
    logits = x @ params["w"] + params["b"]
    return jnp.mean(
        -y * jnp.log(jax.nn.sigmoid(logits) + EPSILON) - (1 - y) * jnp.log(jax.nn.sigmoid(-logits) + EPSILON)
    ) + 0.5 * l2 * jnp.sum(params["w"] ** 2)


def evaluate(params, x, y, l2):
    loss, grads = jax.value_and_grad(_loss)(params, x, y, l2)
    return {"loss": loss, "grads": grads}
