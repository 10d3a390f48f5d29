"""max(z, 0) + log1p(exp(-|z|)), whose derivative at 0 JAX takes to be 0.

Seen: jax-ml/jax #2107.
"""

import jax
import jax.numpy as jnp


def softplus(z):
    return jnp.maximum(z, 0.0) + jnp.log1p(jnp.exp(-jnp.abs(z)))


def _loss(params, x, y, l2):
    logits = x @ params["w"] + params["b"]
    return jnp.mean(softplus(logits) - y * logits) + 0.5 * l2 * jnp.sum(params["w"] ** 2)


def evaluate(params, x, y, l2):
    loss, grads = jax.value_and_grad(_loss)(params, x, y, l2)
    return {"loss": loss, "grads": grads}
