from __future__ import annotations

import contextlib

import numpy as np
import pytest

from conformance.errors import ImplementationFault
from conformance.values.placement import Placement

MODES = ("eager", "jit", "vmap")


def placement(mode: str) -> Placement:
    return Placement("cpu", mode)


def aligned(values: np.ndarray) -> np.ndarray:
    """A copy at an address of which JAX could alias the buffer."""
    buffer = np.zeros(values.nbytes + 64, np.uint8)
    start = -buffer.ctypes.data % 64
    array = buffer[start : start + values.nbytes].view(values.dtype)
    array[:] = values
    return array


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    "code",
    [
        "import jax\ndonating = jax.jit(lambda v: v + 1, donate_argnums=0)\n"
        "def evaluate(p):\n    return {'y': donating(p['x'])}\n",
        "def evaluate(p):\n    x = p.pop('x')\n    p['other'] = x\n    return {'y': x}\n",
        "import numpy\ndef evaluate(p):\n    numpy.asarray(p['x']).flags.writeable = True\n    return {'y': p['x']}\n",
    ],
    ids=["donates", "changes its dict", "writes through NumPy"],
)
def test_the_callers_inputs_outlive_an_implementation_that_spoils_its_own(mode, code, load, evaluate):
    x = aligned(np.arange(16, dtype=np.float32))
    params = {"x": x}
    implementation = load(code, inputs={"p": {"x": "float32[N]"}})
    for _ in range(2):
        with contextlib.suppress(ImplementationFault):  # not every way to spoil an input is possible in every mode
            implementation.evaluate({"p": params}, placement(mode), [{"p": params}] * 2)
        assert np.array_equal(np.arange(16, dtype=np.float32), x)
        assert {"x"} == set(params)


@pytest.mark.parametrize("mode", MODES)
def test_a_later_change_of_the_callers_array_does_not_reach_a_returned_one(mode, load, evaluate):
    x = aligned(np.arange(16, dtype=np.float32))
    found = load("def evaluate(x):\n    return {'y': x}\n", inputs={"x": "float32[N]"}).evaluate(
        {"x": x}, placement(mode), [{"x": x}] * 2
    )
    x[:] = -1.0
    assert np.array_equal(np.arange(16, dtype=np.float32), found.outputs["y"].array)


def test_an_array_that_was_donated_and_is_returned_is_reported_as_deleted(load, evaluate):
    code = """
    import jax

    consume = jax.jit(lambda v: v + 1, donate_argnums=0)

    def evaluate(x, factor):
        consume(x)
        return {"y": x}
    """
    with pytest.raises(ImplementationFault, match="the returned y is an array whose buffer was deleted or donated"):
        evaluate(load(code), "eager")
