"""tanh computed in float16.

Stands for: a half-precision activation, as in jax-ml/jax #8702.
"""

from functools import partial

import jax
import jax.numpy as jnp


def squash(z):
    return jnp.tanh(z.astype(jnp.float16)).astype(jnp.float32)


@partial(jax.checkpoint, policy=jax.checkpoint_policies.dots_saveable)
def _block(params, x):
    hidden = squash(x @ params["w1"] + params["b1"])
    return x + hidden @ params["w2"] + params["b2"]


def _loss(params, x, y):
    return jnp.mean((_block(params, x) - y) ** 2)


def evaluate(params, x, y):
    loss, grads = jax.value_and_grad(_loss)(params, x, y)
    return {"loss": loss, "grads": grads}
