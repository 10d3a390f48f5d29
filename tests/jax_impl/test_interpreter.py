from __future__ import annotations

import importlib

import numpy as np
import pytest

from conformance.sides import load_implementation_side

load_implementation_side().start("cpu")

import jax  # noqa: E402 - after its platform has been chosen
import jax.numpy as jnp  # noqa: E402
from jax import lax  # noqa: E402

interpreter = importlib.import_module("_conformance_jax_impl._interpreter")
emulation = importlib.import_module("_conformance_jax_impl._emulation")
bitflip = importlib.import_module("_conformance_jax_impl._bitflip")
block = importlib.import_module("_conformance_jax_impl.residual_mlp_block")
logistic = importlib.import_module("_conformance_jax_impl.logistic_regression")


def draw(seed: int, *shape: int) -> jax.Array:
    return jnp.asarray(np.random.default_rng([seed, *shape]).normal(size=shape), jnp.float32)


def logistic_inputs(seed: int):
    return {"w": draw(seed, 3), "b": draw(seed)}, draw(seed, 5, 3), (draw(seed, 5) > 0).astype(jnp.float32), 0.1


def block_inputs(seed: int):
    shapes = {"w1": (3, 4), "b1": (4,), "w2": (4, 3), "b2": (3,)}
    return {name: draw(seed, *shape) for name, shape in shapes.items()}, draw(seed, 5, 3), draw(seed + 1, 5, 3)


PROBLEMS = [(logistic.evaluate, logistic_inputs), (block.evaluate, block_inputs)]


@jax.custom_vjp
def custom(x):
    return jnp.tanh(x @ x)


custom.defvjp(lambda x: (jnp.tanh(x @ x), x), lambda x, cotangent: (cotangent @ x,))


def equal(expected, found) -> bool:
    """Whether two trees have the same containers and bits."""
    same = jax.tree.map(lambda a, b: np.array_equal(np.asarray(a), np.asarray(b)), expected, found)
    return all(jax.tree.leaves(same)) and jax.tree.structure(expected) == jax.tree.structure(found)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("function", "inputs"), PROBLEMS, ids=["logistic", "block"])
def test_an_interpreted_function_equals_the_original_bit_for_bit(function, inputs, seed):
    interpreted = interpreter.interpret(
        function, lambda _number, equation, operands: interpreter.apply(equation, operands)
    )
    with jax.disable_jit():  # the original is compiled in parts otherwise, and rounds differently there
        assert equal(function(*inputs(seed)), interpreted(*inputs(seed)))


def test_every_kind_of_call_is_entered_and_loops_are_left_whole():
    def function(x):
        x = jax.checkpoint(jnp.sin)(x)
        x = jax.jit(jnp.cos)(x)
        x = jax.nn.relu(custom(x)) + jax.grad(lambda v: jnp.sum(custom(v)))(x)
        return lax.scan(lambda carry, row: (carry + row, jnp.exp(row)), x[0], x)

    names = []

    def note(_number, equation, operands):
        names.append(equation.primitive.name)
        return interpreter.apply(equation, operands)

    assert equal(function(draw(0, 3, 3)), interpreter.interpret(function, note)(draw(0, 3, 3)))
    assert {"sin", "cos", "dot_general", "tanh", "max", "scan"} <= set(names)
    assert not {"exp", "jit", "pjit", "remat2", "checkpoint", "custom_vjp_call", "custom_jvp_call"} & set(names)


@pytest.mark.parametrize("bits", [emulation.TF32_BITS, emulation.BFLOAT16_BITS])
@pytest.mark.parametrize("transform", [lambda f: f, jax.jit, jax.vmap], ids=["eager", "jit", "vmap"])
def test_emulation_equals_rounding_each_products_operands_by_hand(bits, transform):
    def short(v):
        return lax.reduce_precision(v, 8, bits)

    def by_hand(x, w):
        out = short(x) @ short(w)
        return jnp.sum(out * out), short(2 * out) @ short(w).T

    def function(x, w):
        return jax.value_and_grad(lambda v: jnp.sum((v @ w) ** 2))(x)

    x, w = draw(1, 2, 4, 3), draw(2, 2, 3, 5)
    rows = (x, w) if transform is jax.vmap else (x[0], w[0])
    found = transform(emulation.emulate(function, bits))(*rows)
    assert equal(transform(by_hand)(*rows), found)
    assert not equal(transform(function)(*rows), found)


def test_emulated_tf32_equals_what_was_reported_of_a_gpu():
    a = jnp.float32([[1.1111111, 2.2222222], [3.3333333, 4.4444444]])
    found = emulation.emulate(lambda v: v @ v.T, emulation.TF32_BITS)(a)
    assert np.array_equal(np.float32([[6.175251, 13.585552], [13.585552, 30.876255]]), found)


@pytest.mark.parametrize(("function", "inputs"), PROBLEMS, ids=["logistic", "block"])
def test_emulation_reaches_the_gradients_products(function, inputs):
    exact, short = function(*inputs(1)), emulation.emulate(function, emulation.BFLOAT16_BITS)(*inputs(1))
    changed = jax.tree.map(lambda a, b: not np.array_equal(a, b), exact, short)
    assert all(jax.tree.leaves(changed))


def test_a_product_inside_a_loop_is_refused_instead_of_left_exact():
    def function(x):
        return lax.fori_loop(0, 2, lambda _, v: v @ v, x)

    with pytest.raises(NotImplementedError, match=r"a matrix product stands inside (scan|while), which is left whole"):
        emulation.emulate(function, emulation.TF32_BITS)(draw(0, 3, 3))


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize(("function", "inputs"), PROBLEMS, ids=["logistic", "block"])
def test_a_flip_changes_one_bit_of_one_element_of_one_intermediate(function, inputs, seed):
    given = inputs(seed)
    flip = bitflip.choose_flip(bitflip.find_sites(function, *given), np.random.default_rng(seed))
    flipping, seen = bitflip.flipping(flip), []

    def compare(number, equation, operands):
        clean, flipped = interpreter.apply(equation, operands), flipping(number, equation, operands)
        seen.extend((number, place, a, b) for place, (a, b) in enumerate(zip(clean, flipped, strict=True)))
        return flipped

    assert equal(bitflip.flip_bit(function, flip)(*given), interpreter.interpret(function, compare)(*given))
    changed = [(n, place, np.asarray(a), np.asarray(b)) for n, place, a, b in seen if np.any(bits(a) != bits(b))]
    assert [(flip.site.equation, flip.site.result)] == [(number, place) for number, place, _, _ in changed]
    difference = bits(changed[0][2]) ^ bits(changed[0][3])
    assert [1 << flip.bit] == difference[difference != 0].tolist()


def bits(value) -> np.ndarray:
    """The bits of an array's elements."""
    array = np.atleast_1d(np.asarray(value))
    return array.view(np.uint32).reshape(-1) if array.itemsize == 4 else array.reshape(-1)


def test_flips_are_drawn_from_all_float32_intermediates_and_repeat_with_their_seed():
    sites = bitflip.find_sites(block.evaluate, *block_inputs(0))
    assert {"dot_general", "tanh", "reduce_sum"} <= {site.primitive for site in sites}
    first, again = (
        [bitflip.choose_flip(sites, generator) for _ in range(200)] for generator in map(np.random.default_rng, (5, 5))
    )
    assert first == again
    assert set(range(32)) == {flip.bit for flip in first}
