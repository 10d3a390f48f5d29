"""The clause ``inputs_unchanged``: what an eager call does to the caller's own dict and arrays."""

from __future__ import annotations

import textwrap
from typing import Any

import numpy as np
import pytest

from conformance.values.contract import Finding, Status
from conformance.values.placement import Placement

PROBLEM = {
    "inputs": {
        "params": {"w": "float32[D]", "layers": [{"b": "float32[]"}, {"b": "float32[]"}]},
        "key": "key",
        "scale": "float",
    },
    "outputs": {"y": "float32[D]"},
    "contract": {"inputs_unchanged": True},
}
INPUTS = {
    "params": {"w": np.float32([1.0, 2.0]), "layers": [{"b": np.float32(1.0)}, {"b": np.float32(2.0)}]},
    "key": 3,
    "scale": 0.5,
}


def check(load: Any, body: str) -> Finding:
    code = "import jax, jax.numpy as jnp\nimport numpy as np\n\ndef evaluate(params, key, scale):\n"
    code += textwrap.indent(textwrap.dedent(body).strip(), "    ") + '\n    return {"y": 1.0 * jnp.ones(2)}\n'
    return load(code, **PROBLEM).check_contract(INPUTS, Placement("cpu", "jit"))["inputs_unchanged"]


CHANGES = {
    "params['w'] = params['w'] + 0": "params.w: another object stands in its place",
    "params.update(w=jnp.array(params['w']))": "params.w: another object stands in its place",
    "params['extra'] = 1": "params: the key extra was added",
    "del params['w']": "params: the key w was removed",
    "params['w'] = params.pop('w')": "params: the order of its keys changed to layers, w",
    "params['layers'].append(None)": "params.layers: it had 2 parts, and has 3",
    "params['layers'].reverse()": "params.layers.0: another object stands in its place",
    "params['layers'][1]['b'] = 0": "params.layers.1.b: another object stands in its place",
    "params['layers'] = list(params['layers'])": "params.layers: another object stands in its place",
    "params['w'].delete()": "params.w: its buffer was donated or deleted",
    "jax.jit(lambda w: w + 1, donate_argnums=0)(params['w'])": "params.w: its buffer was donated or deleted",
}


@pytest.mark.parametrize("body", CHANGES)
def test_every_change_is_told_with_its_place(load: Any, body: str):
    found = check(load, body)
    assert Status.BROKEN == found.status, found
    assert any(CHANGES[body] in text for text in found.messages), found.messages


def test_a_write_through_memory_is_seen(load: Any):
    body = """
        import ctypes
        pointer = params["w"].unsafe_buffer_pointer()
        ctypes.cast(pointer, ctypes.POINTER(ctypes.c_float))[0] = 7.0
    """
    found = check(load, body)
    assert [Status.BROKEN, "params.w: its values changed"] == [found.status, *found.messages]


@pytest.mark.parametrize("body", ["dict(params)['w'] = 0", "params = {**params, 'w': 0}", "jax.random.split(key)"])
def test_work_on_a_copy_is_no_change(load: Any, body: str):
    found = check(load, body)
    assert (Status.KEPT, {"called": "eagerly", "leaves": 5}) == (found.status, dict(found.evidence))


def test_a_donation_of_what_cannot_be_traced_is_seen(load: Any):
    body = "jax.jit(lambda w: w + float(1), donate_argnums=0)(params['w']); float(params['layers'][0]['b'])"
    problem = {**PROBLEM, "contract": {"inputs_unchanged": True, "differentiated_with": "jax.value_and_grad"}}
    code = "import jax, jax.numpy as jnp\n\ndef evaluate(params, key, scale):\n    " + body
    implementation = load(code + '\n    return {"y": 1.0 * jnp.ones(2)}\n', **problem)
    found = implementation.check_contract(INPUTS, Placement("cpu", "jit"))
    assert "params.w: its buffer was donated or deleted" in found["inputs_unchanged"].messages


def test_an_unknown_jax_still_has_its_inputs_looked_after(load: Any, monkeypatch: Any):
    import jax

    monkeypatch.setattr(jax, "__version_info__", (0, 99, 0))
    assert Status.BROKEN == check(load, "del params['w']").status


def test_what_cannot_be_called_eagerly_is_not_proven(load: Any):
    found = check(load, "if not isinstance(params['w'], jax.core.Tracer): raise ValueError('jit only')")
    assert Status.NOT_PROVEN == found.status
    assert "it cannot be called outside of a transformation (ValueError: jit only)" == found.messages[0]
