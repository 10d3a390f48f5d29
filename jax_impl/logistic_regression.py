"""Value and gradient of an L2-regularised logistic loss.

With ``z = x w + b``::

    L(w, b) = (1/N) sum_i [softplus(z_i) - y_i z_i] + (l2/2) sum_j w_j^2

The intercept b is not penalised. Domain: y in {0, 1}, l2 >= 0, finite x, w and b.
Edges: softplus(z) is log(1 + exp(z)) without its overflow, with the derivative 1/2 at z = 0; logits of either sign,
also of 125 and more, give a finite loss and finite gradients. For y = 1 and z above 16 the difference cancels to 0.
Source: "Value and Grad of a Loss": one forward and one backward pass through ``jax.value_and_grad``.
"""

# ruff: noqa: F722, UP037  (jaxtyping's shapes are no Python expressions)
from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float32


def _loss(
    params: dict[str, Float32[Array, "..."]], x: Float32[Array, "N D"], y: Float32[Array, " N"], l2: Any
) -> Float32[Array, ""]:
    logits = x @ params["w"] + params["b"]
    data = jnp.mean(jax.nn.softplus(logits) - y * logits)
    return data + 0.5 * l2 * jnp.sum(params["w"] ** 2)


def evaluate(
    params: dict[str, Float32[Array, "..."]],
    x: Float32[Array, "N D"],
    y: Float32[Array, " N"],
    l2: float | Float32[Array, ""],
) -> dict[str, Any]:
    """The loss, a scalar, and its gradients by parameter: w ``(D,)`` and b ``()``."""
    loss, grads = jax.value_and_grad(_loss)(params, x, y, l2)
    return {"loss": loss, "grads": grads}
