"""The residual path scaled by 1 + 2e-6.

Stands for: a scale that is wrong far below every usual tolerance.
"""

from functools import partial

import jax
import jax.numpy as jnp


def squash(z):
    return jnp.tanh(z)


@partial(jax.checkpoint, policy=jax.checkpoint_policies.dots_saveable)
def _block(params, x):
    hidden = squash(x @ params["w1"] + params["b1"])
    return (1.0 + 2e-6) * x + hidden @ params["w2"] + params["b2"]


def _loss(params, x, y):
    return jnp.mean((_block(params, x) - y) ** 2)


def evaluate(params, x, y):
    loss, grads = jax.value_and_grad(_loss)(params, x, y)
    return {"loss": loss, "grads": grads}
