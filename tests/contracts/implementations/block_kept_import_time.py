"""The compiled value and gradients are made when the module is imported."""

from __future__ import annotations

from functools import partial

import jax
import jax.numpy as jnp


@partial(jax.checkpoint, policy=jax.checkpoint_policies.dots_saveable)
def _block(params, x):
    hidden = jnp.tanh(x @ params["w1"] + params["b1"])
    return x + hidden @ params["w2"] + params["b2"]


def _loss(params, x, y):
    return jnp.mean((_block(params, x) - y) ** 2)


_value_and_grads = jax.jit(jax.value_and_grad(_loss))


def evaluate(params: dict, x: jax.Array, y: jax.Array) -> dict:
    value, grads = _value_and_grads(params, x, y)
    return {"loss": value, "grads": grads}
