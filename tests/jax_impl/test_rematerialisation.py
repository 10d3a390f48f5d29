"""The clause ``checkpoint`` where samples do not reach: other primitives, constructs that hide, and the barriers."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from conformance.values.contract import Finding, Status
from conformance.values.placement import Placement

CLAUSE = {"policy": "dots_saveable", "saves": {"dot_general": 2}, "recomputes": ["exp"]}
INPUTS = {"w": np.float32([[0.5, -1.0], [0.25, 1.0]]), "x": np.float32([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])}
HEAD = """
    import jax, jax.numpy as jnp
    from jax import lax
    SAVE = jax.checkpoint_policies.dots_saveable
    def region(w, x):
        return jnp.exp(x @ w * 0.1) @ w
    def differentiate(function, w, x):
        v, g = jax.value_and_grad(lambda w: jnp.mean(function(w, x) ** 2))(w)
        return {"loss": v, "grad": g}
    def evaluate(w, x):
"""
Check = Callable[..., Finding]


@pytest.fixture
def check(load: Any) -> Check:
    """A function that gives the finding for the body of `evaluate`."""

    def check(body: str, head: str = HEAD, **clause: Any) -> Finding:
        problem = {
            "inputs": {"w": "float32[D,D]", "x": "float32[N,D]"},
            "outputs": {"loss": "float32[]", "grad": "float32[D,D]"},
            "contract": {"checkpoint": {**CLAUSE, **clause}},
        }
        code = textwrap.dedent(head) + textwrap.indent(textwrap.dedent(body), "    ")
        return load(code, **problem).check_contract(INPUTS, Placement("cpu", "jit"))["checkpoint"]

    return check


CHECKPOINTED = "return differentiate(jax.checkpoint(region, policy=SAVE), w, x)"


def test_another_primitive_than_tanh_is_judged_alike(check: Check):
    found = check(CHECKPOINTED)
    assert Status.KEPT == found.status, found
    evidence = found.evidence
    assert ({"dot_general": 2, "exp": 1}, {"dot_general": 0, "exp": 1}) == (evidence["forward"], evidence["recomputed"])
    assert {"exp": 1} == evidence["behind_barrier"]
    kept = [(tensor["origin"], tuple(tensor["shape"]), tensor["bytes"]) for tensor in evidence["residuals"]]
    assert ("dot_general", (3, 2), 24) in kept
    assert ("input x", (3, 2), 24) in kept
    assert "exp" not in {origin for origin, _, _ in kept}


def test_a_clause_with_a_policy_alone_is_judged_by_it(load: Any, check: Check):
    assert Status.KEPT == check(CHECKPOINTED, saves={}, recomputes=[]).status
    without = check("return differentiate(region, w, x)", saves={}, recomputes=[])
    assert (Status.BROKEN, True) == (without.status, "found no checkpoint" in without.messages[0])


def test_another_policy_may_be_asked_for(check: Check):
    asked = {"policy": "nothing_saveable", "saves": {}, "recomputes": ["exp"]}
    body = "return differentiate(jax.checkpoint(region, policy=jax.checkpoint_policies.nothing_saveable), w, x)"
    kept = check(body, **asked)
    assert Status.KEPT == kept.status, kept
    found = check(CHECKPOINTED, **asked)
    assert "found another policy than nothing_saveable: dots_saveable saves dot_general" == found.messages[0]


def test_a_checkpoint_of_jax_grad_is_judged_too(check: Check):
    body = """
        function = jax.checkpoint(region, policy=SAVE)
        loss = lambda w: jnp.mean(function(w, x) ** 2)
        return {"loss": loss(w), "grad": jax.grad(loss)(w)}
    """
    assert Status.KEPT == check(body).status


def test_half_a_block_in_the_checkpoint_keeps_what_was_made_of_the_recomputed(check: Check):
    body = """
        half = jax.checkpoint(lambda w, x: 3 * jnp.exp(x @ w * 0.1), policy=SAVE)
        return differentiate(lambda w, x: (half(w, x) / 3) @ w, w, x)
    """
    found = check(body)
    assert Status.BROKEN == found.status, found
    text = (
        "what div made of the result of exp, of shape (3, 2), is kept for the backward pass; wanted it computed again"
    )
    assert [text] == list(found.messages)


def test_a_call_that_needs_no_recomputation_is_judged_with_the_others(check: Check):
    body = """
        block = jax.checkpoint(lambda w, x, b: region(w, x) + b, policy=SAVE)
        loss = lambda w, b: jnp.mean(block(w, x, b) ** 2)
        v, g = jax.value_and_grad(loss)(w, jnp.zeros(2))
        _, unused = jax.value_and_grad(loss, 1)(w, jnp.zeros(2))
        return {"loss": v, "grad": g + 0.0 * unused.sum()}
    """
    assert Status.KEPT == check(body).status


def test_another_checkpoint_elsewhere_may_have_another_policy(check: Check):
    body = """
        block = jax.checkpoint(region, policy=SAVE)
        return differentiate(lambda w, x: jax.checkpoint(lambda v: v * v)(block(w, x)), w, x)
    """
    assert Status.KEPT == check(body).status


def test_a_checkpoint_inside_one_that_saves_nothing_recomputes_the_product(check: Check):
    body = """
        inner = jax.checkpoint(region, policy=SAVE)
        return differentiate(jax.checkpoint(lambda w, x: inner(w, x)), w, x)
    """
    found = check(body)
    assert Status.BROKEN == found.status
    assert any("dot_general is computed again in the backward pass" in text for text in found.messages)


def test_a_function_with_a_custom_rule_that_recomputes_is_no_checkpoint(check: Check):
    body = """
        @jax.custom_vjp
        def own(w, x): return region(w, x)
        own.defvjp(lambda w, x: (region(w, x), (w, x)), lambda r, c: jax.vjp(region, *r)[1](c))
        return differentiate(own, w, x)
    """
    found = check(body)
    assert Status.BROKEN == found.status
    assert "found no checkpoint in the differentiated function" in found.messages[0]


UNJUDGED = {
    "a scan around the block": (
        """
        block = jax.checkpoint(region, policy=SAVE)
        def rows(w, x):
            return lax.scan(lambda s, row: (s, block(w, row[None])[0]), 0, x)[1]
        return differentiate(rows, w, x)
        """,
        "found dot_general inside scan, which this check cannot judge",
    ),
    "a branch around the block": (
        """
        block = jax.checkpoint(region, policy=SAVE)
        return differentiate(lambda w, x: lax.cond(x[0, 0] > 0, block, lambda w, x: x @ w, w, x), w, x)
        """,
        "found dot_general inside cond, which this check cannot judge",
    ),
    "a callback": (
        """
        @jax.custom_vjp
        def hidden(z): return jax.pure_callback(lambda z: z, jax.ShapeDtypeStruct(z.shape, z.dtype), z)
        hidden.defvjp(lambda z: (hidden(z), None), lambda r, c: (c,))
        return differentiate(jax.checkpoint(lambda w, x: hidden(region(w, x)), policy=SAVE), w, x)
        """,
        "found pure_callback, which hides what it computes, which this check cannot judge",
    ),
    "Pallas": (
        """
        from jax.experimental import pallas as pl
        def kernel(z, out): out[...] = jnp.exp(z[...])
        @jax.custom_vjp
        def own(z):
            return pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct(z.shape, z.dtype), interpret=True)(z)
        own.defvjp(lambda z: (own(z), z), lambda z, c: (c * jnp.exp(z),))
        return differentiate(jax.checkpoint(lambda w, x: own(x @ w), policy=SAVE), w, x)
        """,
        "found pallas_call, which hides what it computes, which this check cannot judge",
    ),
    "shard_map": (
        """
        from jax.sharding import Mesh, PartitionSpec as P
        mesh = Mesh(jax.devices()[:1], ("i",))
        block = jax.checkpoint(region, policy=SAVE)
        mapped = jax.shard_map(block, mesh=mesh, in_specs=(P(), P()), out_specs=P())
        return differentiate(mapped, w, x)
        """,
        "inside shard_map, which this check cannot judge",
    ),
    "another way to differentiate": (
        """
        v, pull = jax.vjp(lambda w: jnp.mean(jax.checkpoint(region, policy=SAVE)(w, x) ** 2), w)
        return {"loss": v, "grad": pull(jnp.float32(1))[0]}
        """,
        "found no output that comes from a call of jax.value_and_grad or jax.grad",
    ),
}


@pytest.mark.parametrize("name", UNJUDGED)
def test_what_cannot_be_judged_is_named_and_never_blamed(check: Check, name: str):
    body, message = UNJUDGED[name]
    found = check(body)
    assert Status.NOT_PROVEN == found.status, found
    assert message in found.messages[0]


def test_the_setting_jax_remat3_is_named(check: Check):
    import jax

    if not hasattr(jax.config, "jax_remat3"):
        pytest.skip("this JAX has no such setting")
    jax.config.update("jax_remat3", True)
    try:
        found = check(CHECKPOINTED)
    finally:
        jax.config.update("jax_remat3", False)
    assert Status.NOT_PROVEN == found.status
    assert "jax_remat3" in found.messages[0]


def test_a_primitive_that_does_not_exist_is_the_contracts_fault(check: Check):
    found = check(CHECKPOINTED, recomputes=["tahn"])
    assert Status.NOT_PROVEN == found.status
    assert "found tahn in the contract, which is no primitive of jax" in found.messages[0]


TEXT = """
module @jit_f {
  func.func public @main(%arg0: tensor<2xf32> {jax.arg = "a"}, %arg1: tensor<f32>) -> (tensor<2xf32>) {
    %0 = stablehlo.tanh %arg0 : tensor<2xf32>
    %1:2 = stablehlo.optimization_barrier %0, %arg0 : tensor<2xf32>, tensor<2xf32>
    %2 = call @inner(%1#1, %arg0) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
    %3 = stablehlo.add %2, %0 : tensor<2xf32>
    %4 = stablehlo.tanh %3 : tensor<2xf32>
    return %4 : tensor<2xf32>
  }
  func.func private @inner(%arg0: tensor<2xf32>, %arg1: tensor<2xf32>) -> tensor<2xf32> {
    %0 = stablehlo.tanh %arg1 : tensor<2xf32>
    %1 = stablehlo.tanh %arg0 : tensor<2xf32>
    return %1 : tensor<2xf32>
  }
}
"""


def test_barriers_are_counted_on_the_way_to_each_operation_through_calls(side: Any):
    from _conformance_jax_impl._barriers import find_depths

    assert [0, 0, 1, 1] == find_depths(TEXT, "stablehlo.tanh")
    assert [] == find_depths("module {}", "stablehlo.tanh")
