"""A function's mathematics in float64: what rounds inside is taken out, and what cannot be is named."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from conformance.values.placement import Placement

X = np.float32([0.1, 0.7, 3.0])
EXACT = 1.5 * np.tanh(X.astype(np.float64))
NARROW = {
    "reduce_precision": "1.5 * jax.lax.reduce_precision(jnp.tanh(x), 8, 10)",
    "bfloat16": "1.5 * jnp.tanh(x.astype(jnp.bfloat16)).astype(jnp.float32)",
    "float32": "jnp.float32(1.5) * jnp.tanh(x.astype(jnp.float32))",
    "a product asked for in float32": "1.5 * jnp.dot(jnp.eye(3), jnp.tanh(x), preferred_element_type=jnp.float32)",
    "inside jit": "jax.jit(lambda x: 1.5 * jnp.tanh(x.astype(jnp.float16)))(x).astype(jnp.float32)",
    "inside a checkpoint": "jax.checkpoint(lambda x: 1.5 * jnp.tanh(x.astype(jnp.float16)))(x).astype(jnp.float32)",
    "nothing": "1.5 * jnp.tanh(x)",
}
KEPT = {
    "scan": ("jax.lax.scan(lambda s, r: (s, 1.5 * jnp.tanh(r.astype(jnp.bfloat16))), 0, x)[1]", "inside scan"),
    "bits": ("1.5 * jnp.tanh(jax.lax.bitcast_convert_type(jnp.uint32(0), jnp.float32) + x)", "bitcast_convert_type"),
}
HEAD = "import jax, jax.numpy as jnp\n\ndef evaluate(x, factor):\n    return {'y': "


@pytest.mark.parametrize("mode", ["eager", "jit", "vmap"])
@pytest.mark.parametrize("name", NARROW)
def test_every_rounding_to_a_shorter_format_is_taken_out(load: Any, name: str, mode: str):
    implementation = load(HEAD + NARROW[name] + "}\n")
    inputs = {"x": X, "factor": 0.5}
    found = implementation.evaluate_in_float64(inputs, Placement("cpu", mode), [inputs, inputs])
    got = found.outputs["y"].array
    assert (np.float64, ()) == (got.dtype, found.narrow)
    assert np.max(np.abs(got - EXACT)) <= 2.0**-51 * np.max(EXACT)


@pytest.mark.parametrize("name", KEPT)
def test_what_cannot_be_widened_is_named(load: Any, name: str):
    body, narrow = KEPT[name]
    implementation = load(HEAD + body + "}\n")
    found = implementation.evaluate_in_float64({"x": X, "factor": 0.5}, Placement("cpu", "jit"), ())
    assert narrow in found.narrow[0]


def test_a_function_that_cannot_be_traced_is_run_as_it_is(load: Any):
    implementation = load(HEAD + "jnp.asarray([1.5 * float(jnp.tanh(v)) for v in x])}\n")
    found = implementation.evaluate_in_float64({"x": X, "factor": 0.5}, Placement("cpu", "eager"), ())
    assert ("a function that cannot be traced",) == found.narrow
    assert np.max(np.abs(found.outputs["y"].array - EXACT)) <= 2.0**-51 * np.max(EXACT)


def test_the_run_leaves_64_bit_types_off(load: Any):
    import jax

    implementation = load(HEAD + "1.5 * x}\n")
    implementation.evaluate_in_float64({"x": X, "factor": 0.5}, Placement("cpu", "jit"), ())
    assert not jax.config.jax_enable_x64
    assert "float32" == implementation.evaluate({"x": X, "factor": 0.5}, Placement("cpu", "jit"), ()).outputs["y"].dtype
