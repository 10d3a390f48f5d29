"""A softplus that is linear above 8.

Seen: pytorch/pytorch PR #173894 and tinygrad PR #11564 on the threshold.
"""

import jax
import jax.numpy as jnp


def softplus(z):
    return jnp.where(z > 8.0, z, jnp.log1p(jnp.exp(jnp.minimum(z, 8.0))))


def _loss(params, x, y, l2):
    logits = x @ params["w"] + params["b"]
    return jnp.mean(softplus(logits) - y * logits) + 0.5 * l2 * jnp.sum(params["w"] ** 2)


def evaluate(params, x, y, l2):
    loss, grads = jax.value_and_grad(_loss)(params, x, y, l2)
    return {"loss": loss, "grads": grads}
