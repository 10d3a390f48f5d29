"""2 sigmoid(2 z) - 1 with 1e-6 added, in place of tanh.

Stands for: a constant that was added against a division by 0 and left in.
"""

from functools import partial

import jax
import jax.numpy as jnp


def squash(z):
    return 2.0 * jax.nn.sigmoid(2.0 * z) - 1.0 + 1e-6


@partial(jax.checkpoint, policy=jax.checkpoint_policies.dots_saveable)
def _block(params, x):
    hidden = squash(x @ params["w1"] + params["b1"])
    return x + hidden @ params["w2"] + params["b2"]


def _loss(params, x, y):
    return jnp.mean((_block(params, x) - y) ** 2)


def evaluate(params, x, y):
    loss, grads = jax.value_and_grad(_loss)(params, x, y)
    return {"loss": loss, "grads": grads}
