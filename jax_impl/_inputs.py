"""A case's inputs as the arguments of a JAX function."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from conformance.values.problem import Problem
from conformance.values.signature import FLOATING, ArrayLeaf, FloatLeaf, KeyLeaf
from conformance.values.tree import leaves, map_leaves


@dataclass(frozen=True, slots=True)
class Arguments:
    """The leaves of a case's inputs by path: JAX arrays (PRNG keys too), Python floats, and static values.

    `rows` is how many cases the arrays hold along their first axis, once they are stacked.
    """

    arrays: dict[str, jax.Array]
    floats: dict[str, float]
    static: dict[str, Any]
    rows: int = 1


def load_arguments(problem: Problem, inputs: Mapping[str, Any], *, wide: bool = False) -> Arguments:
    """The arguments of one case; their arrays share no memory with those of `inputs`, and are float64 if `wide`."""
    arguments = Arguments({}, {}, {})
    values = dict(leaves({name: inputs[name] for name in problem.inputs}))
    for path, leaf in leaves(dict(problem.inputs)):
        if isinstance(leaf, ArrayLeaf):
            # JAX may alias an aligned NumPy array, hence a copy of our own before it.
            dtype = "float64" if wide and leaf.dtype in FLOATING else leaf.dtype
            arguments.arrays[path] = jnp.asarray(np.array(values[path], copy=True), dtype=dtype)
        elif isinstance(leaf, KeyLeaf):
            arguments.arrays[path] = jax.random.key(values[path])
        elif isinstance(leaf, FloatLeaf):
            arguments.floats[path] = float(values[path])
        else:
            arguments.static[path] = values[path]
    return arguments


def stack_arguments(rows: Sequence[Arguments], own: int) -> Arguments:
    """The arrays of all rows along a new first axis; floats and static values are those of the row `own`."""
    stacked = {path: _stack([row.arrays[path] for row in rows]) for path in rows[own].arrays}
    return Arguments(stacked, rows[own].floats, rows[own].static, len(rows))


def _stack(arrays: Sequence[jax.Array]) -> jax.Array:
    if jnp.issubdtype(arrays[0].dtype, jax.dtypes.prng_key):
        return jnp.stack(arrays)
    # Stacked by NumPy: a program of JAX's own for each new shape takes longer to compile than the case to run.
    return jnp.asarray(np.stack([np.asarray(array) for array in arrays]))


def build_inputs(problem: Problem, values: Mapping[str, Any]) -> list[Any]:
    """The inputs in the problem's order, in fresh containers, with the leaf of each path from `values`."""
    paths = iter([path for path, _ in leaves(dict(problem.inputs))])
    return list(map_leaves(lambda _leaf: values[next(paths)], dict(problem.inputs)).values())
