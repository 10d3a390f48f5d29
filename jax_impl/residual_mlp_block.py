"""Value and gradient of a residual MLP block's squared error, with rematerialisation.

::

    out = x + tanh(x w1 + b1) w2 + b2
    L = mean over all B*D entries of (out - y)^2

The block is checkpointed: the results of its two matrix products are saved, and tanh is computed again in the backward
pass. Domain: finite x, y and parameters. Edges: where tanh saturates, the gradients of w1 and b1 vanish, and are small
numbers that are known to few digits only.
Source: "Residual MLP Block with Checkpoint Policy": ``jax.checkpoint`` with ``dots_saveable`` under
``jax.value_and_grad``.
"""

# ruff: noqa: F722, UP037  (jaxtyping's shapes are no Python expressions)
from __future__ import annotations

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float32


@partial(jax.checkpoint, policy=jax.checkpoint_policies.dots_saveable)
def _block(params: dict[str, Float32[Array, "..."]], x: Float32[Array, "B D"]) -> Float32[Array, "B D"]:
    hidden = jnp.tanh(x @ params["w1"] + params["b1"])
    return x + hidden @ params["w2"] + params["b2"]


def _loss(
    params: dict[str, Float32[Array, "..."]], x: Float32[Array, "B D"], y: Float32[Array, "B D"]
) -> Float32[Array, ""]:
    return jnp.mean((_block(params, x) - y) ** 2)


def evaluate(
    params: dict[str, Float32[Array, "..."]], x: Float32[Array, "B D"], y: Float32[Array, "B D"]
) -> dict[str, Any]:
    """The loss, a scalar, and its gradients by parameter, each of its parameter's shape."""
    loss, grads = jax.value_and_grad(_loss)(params, x, y)
    return {"loss": loss, "grads": grads}
