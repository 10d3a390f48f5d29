"""log(1 + exp(z)) as the formula is written: it overflows from 89 on.

Seen: tracel-ai/burn #5373.
"""

import jax
import jax.numpy as jnp


def softplus(z):
    return jnp.log(1.0 + jnp.exp(z))


def _loss(params, x, y, l2):
    logits = x @ params["w"] + params["b"]
    return jnp.mean(softplus(logits) - y * logits) + 0.5 * l2 * jnp.sum(params["w"] ** 2)


def evaluate(params, x, y, l2):
    loss, grads = jax.value_and_grad(_loss)(params, x, y, l2)
    return {"loss": loss, "grads": grads}
