from __future__ import annotations

import textwrap

import numpy as np
import pytest

from conformance.errors import ImplementationFault

MODES = ("eager", "jit", "vmap")
X = np.float32([1.0, 2.0, 4.0])


@pytest.mark.parametrize("mode", MODES)
def test_an_exception_is_told_by_the_users_own_frames(mode, load, evaluate):
    code = """
    import jax
    import jax.numpy as jnp

    def loss(x):
        return jnp.sum(x @ jnp.ones((7, 2)))

    @jax.jit
    def evaluate(x, factor):
        return jax.value_and_grad(loss)(x)
    """
    with pytest.raises(ImplementationFault) as caught:
        evaluate(load(code), mode)
    first, *rest = str(caught.value).splitlines()
    assert first.startswith(f"evaluating scaled (cpu-{mode}): raised TypeError: dot_general requires contracting")
    assert [
        "  at jax_impl/scaled.py:10 in evaluate",
        "  at jax_impl/scaled.py:6 in loss: return jnp.sum(x @ jnp.ones((7, 2)))",
    ] == rest


@pytest.mark.parametrize("mode", MODES)
def test_an_exception_without_a_text_is_told_by_its_type(mode, load, evaluate):
    with pytest.raises(
        ImplementationFault, match=r"raised AssertionError\n  at jax_impl/scaled.py:2 in evaluate: assert"
    ):
        evaluate(load("def evaluate(x, factor):\n    assert factor is None\n"), mode)


@pytest.mark.parametrize("mode", MODES)
def test_an_exit_is_a_fault_and_does_not_end_the_run(mode, load, evaluate):
    with pytest.raises(ImplementationFault, match=r"raised SystemExit: exit code 0\n"):
        evaluate(load("import sys\ndef evaluate(x, factor):\n    sys.exit(0)\n"), mode)


@pytest.mark.parametrize("mode", MODES)
def test_an_interrupt_passes(mode, load, evaluate):
    with pytest.raises(KeyboardInterrupt):
        evaluate(load("def evaluate(x, factor):\n    raise KeyboardInterrupt\n"), mode)


@pytest.mark.parametrize("mode", MODES)
def test_a_skip_by_the_implementation_does_not_skip_the_case(mode, load, evaluate):
    with pytest.raises(ImplementationFault, match="raised Skipped: not today"):
        evaluate(load("import pytest\ndef evaluate(x, factor):\n    pytest.skip('not today')\n"), mode)


@pytest.mark.parametrize("mode", MODES)
def test_a_warning_is_no_fault(mode, load, evaluate):
    code = "import warnings\ndef evaluate(x, factor):\n    warnings.warn('careful')\n    return {'y': x}\n"
    with pytest.warns(UserWarning, match="careful"):
        found = evaluate(load(code), mode)
    assert np.array_equal(X, found.outputs["y"].array)


def test_a_value_that_left_its_trace_is_reported(load, evaluate):
    code = textwrap.dedent(
        """
        import jax

        KEPT = []

        def evaluate(x, factor):
            jax.jit(lambda v: KEPT.append(v) or v)(x)
            return {"y": KEPT[-1]}
        """
    )
    with pytest.raises(ImplementationFault, match="the returned y is a tracer, a value that left the transformation"):
        evaluate(load(code), "eager")


def test_a_failed_case_leaves_the_next_one_alone(load, evaluate):
    implementation = load("def evaluate(x, factor):\n    assert x.shape != (2,)\n    return {'y': x}\n")
    with pytest.raises(ImplementationFault):
        evaluate(implementation, "jit", x=X[:2], factor=1.0)
    assert np.array_equal(X, evaluate(implementation, "jit").outputs["y"].array)


def test_an_exception_whose_text_cannot_be_had_is_told_by_its_type(load, evaluate):
    implementation = load("""
        class Silent(Exception):
            def __str__(self): raise RuntimeError("no")
        def evaluate(x, factor): raise Silent()
    """)
    with pytest.raises(ImplementationFault, match=r"raised Silent: \(its text raised RuntimeError\)"):
        evaluate(implementation)
