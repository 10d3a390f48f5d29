"""What a JAX function returned, as the engine's trees."""

from __future__ import annotations

from typing import Any, cast

import jax
import jax.core
import jax.numpy as jnp
import numpy as np

from conformance.errors import ImplementationFault
from conformance.values.evaluation import Returned, ReturnedTree, UnknownContainer

from ._platform import describe_device

_ARRAYS = (jax.Array, np.ndarray, np.generic, bool, int, float, complex)


def check_transformable(doing: str, outputs: Any) -> None:
    """Nothing, when every leaf can pass ``jax.jit`` and ``jax.vmap``.

    Raises:
        ImplementationFault: one is of a type that JAX does not know.
    """
    for path, leaf in jax.tree_util.tree_leaves_with_path(outputs):
        if not isinstance(leaf, _ARRAYS):
            raise ImplementationFault(
                f"{doing}: {_name(path)} is of type {type(leaf).__name__}, which is no array and cannot leave a "
                "transformed function; wanted JAX arrays in dicts, lists and tuples."
            )


def check_alive(doing: str, outputs: Any) -> None:
    """Nothing, when every array of `outputs` still holds its values.

    Raises:
        ImplementationFault: one was deleted or donated, or is a tracer that left its transformation.
    """
    for path, leaf in jax.tree_util.tree_leaves_with_path(outputs):
        if isinstance(leaf, jax.core.Tracer):
            raise ImplementationFault(
                f"{doing}: {_name(path)} is a tracer, a value that left the transformation that made it; wanted an "
                "array. Return it from the transformed function instead of storing it."
            )
        if isinstance(leaf, jax.Array) and leaf.is_deleted():
            raise ImplementationFault(
                f"{doing}: {_name(path)} is an array whose buffer was deleted or donated; wanted one that holds its "
                "values. Return the result that its buffer was donated to, or donate nothing."
            )


def convert_outputs(node: Any, row: int | None = None) -> ReturnedTree:
    """The tree of what was returned: exact dicts, lists and tuples, each leaf described with a NumPy copy.

    `row` picks one row of a batch's outputs.
    """
    if type(node) is dict:
        return {name: convert_outputs(child, row) for name, child in cast("dict[str, Any]", node).items()}
    if type(node) is list:
        return [convert_outputs(child, row) for child in cast("list[Any]", node)]
    if type(node) is tuple:
        return tuple(convert_outputs(child, row) for child in cast("tuple[Any, ...]", node))
    if isinstance(node, jax.Array):
        return _convert_array(node, row)
    if isinstance(node, np.ndarray | np.generic):
        kind = "numpy.ndarray" if isinstance(node, np.ndarray) else f"numpy.{type(node).__name__}"
        return Returned(kind, str(node.dtype), node.shape, array=_convert_numbers(np.array(node)))
    if node is None or jax.tree_util.all_leaves([node]):
        return Returned("None" if node is None else type(node).__name__)
    return UnknownContainer(type(node).__name__)


def _convert_array(node: jax.Array, row: int | None) -> Returned:
    array = None
    if not jnp.issubdtype(node.dtype, jax.dtypes.prng_key):
        array = _convert_numbers(np.array(node) if row is None else np.array(node)[row])
    return Returned(
        "jax.Array",
        str(node.dtype),
        node.shape if row is None else node.shape[1:],
        bool(getattr(node, "weak_type", False)),
        array,
        tuple(describe_device(device) for device in sorted(node.devices(), key=lambda device: device.id)),
    )


def _convert_numbers(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any] | None:
    if jnp.issubdtype(array.dtype, jnp.floating) and array.dtype.itemsize < 4:
        return array.astype(np.float32)
    return array if array.dtype.kind in "biufc" else None


def _name(path: Any) -> str:
    return f"the returned {jax.tree_util.keystr(path, simple=True, separator='.') or 'value'}"
