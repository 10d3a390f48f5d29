r"""A module beside an implementation; its text has '''quotes''' and a backslash: \n."""

import jax.numpy as jnp


def mean_square(values):
    return jnp.mean(values**2)
