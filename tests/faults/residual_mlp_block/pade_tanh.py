"""A rational approximation of tanh, clipped to 1.

Seen: pearu/functional_algorithms #55 on how far tanh may be off.
"""

from functools import partial

import jax
import jax.numpy as jnp


def squash(z):
    return jnp.clip(
        z
        * (135135.0 + z**2 * (17325.0 + z**2 * (378.0 + z**2)))
        / (135135.0 + z**2 * (62370.0 + z**2 * (3150.0 + 28.0 * z**2))),
        -1.0,
        1.0,
    )


@partial(jax.checkpoint, policy=jax.checkpoint_policies.dots_saveable)
def _block(params, x):
    hidden = squash(x @ params["w1"] + params["b1"])
    return x + hidden @ params["w2"] + params["b2"]


def _loss(params, x, y):
    return jnp.mean((_block(params, x) - y) ** 2)


def evaluate(params, x, y):
    loss, grads = jax.value_and_grad(_loss)(params, x, y)
    return {"loss": loss, "grads": grads}
