"""Labels smoothed by 1e-5, against infinities.

Seen: keras-team/keras-core #196: probabilities kept away from 0 and 1.
"""

import jax
import jax.numpy as jnp

SMOOTHING = 1e-5


def softplus(z):
    return jax.nn.softplus(z)


def _loss(params, x, y, l2):
    logits = x @ params["w"] + params["b"]
    return jnp.mean(softplus(logits) - (y * (1.0 - SMOOTHING) + 0.5 * SMOOTHING) * logits) + 0.5 * l2 * jnp.sum(
        params["w"] ** 2
    )


def evaluate(params, x, y, l2):
    loss, grads = jax.value_and_grad(_loss)(params, x, y, l2)
    return {"loss": loss, "grads": grads}
