from __future__ import annotations

import numpy as np
import pytest

from conformance.errors import ImplementationFault
from conformance.values.evaluation import Returned, UnknownContainer

MODES = ("eager", "jit", "vmap")
X = np.float32([1.0, 2.0, 4.0])


def returning(expression: str, before: str = "") -> str:
    imports = "import collections, dataclasses\nimport numpy as np\nimport jax, jax.numpy as jnp\n"
    return f"{imports}{before}\ndef evaluate(x, factor):\n    return {expression}\n"


@pytest.mark.parametrize("mode", MODES)
def test_dicts_lists_and_tuples_come_back_as_they_are(mode, load, evaluate):
    outputs = evaluate(load(returning("{'a': [x, (x, {})], 'b': ()}")), mode).outputs
    assert isinstance(outputs, dict)
    assert isinstance(outputs["a"], list)
    assert isinstance(outputs["a"][1], tuple)
    assert [{}, ()] == [outputs["a"][1][1], outputs["b"]]
    assert np.array_equal(X, outputs["a"][1][0].array)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("kind", "expression"),
    [("Pair", "Pair(x, x)"), ("OrderedDict", "collections.OrderedDict(y=x)"), ("Point", "Point(x)")],
)
def test_every_other_container_is_told_by_the_name_of_its_type(mode, kind, expression, load, evaluate):
    before = (
        "Pair = collections.namedtuple('Pair', 'a b')\n"
        "@jax.tree_util.register_dataclass\n@dataclasses.dataclass\nclass Point:\n    x: object\n"
    )
    assert UnknownContainer(kind) == evaluate(load(returning(expression, before)), mode).outputs


@pytest.mark.parametrize(
    ("expected", "expression"),
    [
        (Returned("float"), "1.5"),
        (Returned("None"), "None"),
        (Returned("str"), "'text'"),
        (Returned("Opaque"), "Opaque()"),
    ],
)
def test_a_leaf_that_is_no_array_is_told_by_its_type(expected, expression, load, evaluate):
    code = returning(f"{{'y': {expression}}}", "class Opaque:\n    pass\n")
    assert expected == evaluate(load(code), "eager").outputs["y"]


def test_a_numpy_array_is_told_from_a_jax_array(load, evaluate):
    found = evaluate(load(returning("np.asarray(x, np.float64)")), "eager").outputs
    assert ("numpy.ndarray", "float64", (3,), ()) == (found.kind, found.dtype, found.shape, found.devices)


@pytest.mark.parametrize("mode", ["jit", "vmap"])
def test_a_leaf_that_cannot_leave_a_transformed_function_is_named(mode, load, evaluate):
    with pytest.raises(
        ImplementationFault, match=f"scaled .cpu-{mode}.: the returned a.0 is of type str, which is no array"
    ):
        evaluate(load(returning("{'a': ['text']}")), mode)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_a_short_float_is_told_by_its_dtype_and_copied_as_float32(mode, dtype, load, evaluate):
    found = evaluate(load(returning(f"x.astype(jnp.{dtype})")), mode).outputs
    assert (dtype, np.float32) == (found.dtype, found.array.dtype)
    assert np.array_equal(X, found.array)


@pytest.mark.parametrize("mode", MODES)
def test_integers_booleans_and_keys_keep_their_dtype(mode, load, evaluate):
    code = returning("{'i': x.astype(int), 'b': x > 1, 'k': jax.random.key(1) if x.ndim else x}")
    found = evaluate(load(code), mode).outputs
    assert ("int32", "bool") == (found["i"].dtype, found["b"].dtype)
    assert [False, True, True] == found["b"].array.tolist()
    assert found["k"].dtype.startswith("key<")
    assert found["k"].array is None


@pytest.mark.parametrize("mode", ["eager", "jit"])
def test_a_weak_type_is_told(mode, load, evaluate):
    assert evaluate(load(returning("jnp.asarray(1.0) + 1.0")), mode).outputs.weak_type


def test_the_copy_is_the_callers_own_to_write(load, evaluate):
    evaluate(load(returning("x * 1.0")), "jit").outputs.array[:] = 0.0


@pytest.mark.parametrize("mode", MODES)
def test_named_parts_of_a_tuple_become_a_dict(mode, load, evaluate):
    code = "import jax\nevaluate = jax.value_and_grad(lambda x, factor: (x * x).sum() * factor)\n"
    found = evaluate(load(code, returns=["loss", "grads"]), mode).outputs
    assert np.float32(10.5) == found["loss"].array
    assert np.array_equal(X, found["grads"].array)


@pytest.mark.parametrize("mode", MODES)
def test_a_tuple_of_another_length_than_named_is_left_as_it_is(mode, load, evaluate):
    outputs = evaluate(load(returning("(x, x, x)"), returns=["loss", "grads"]), mode).outputs
    assert isinstance(outputs, tuple)
    assert 3 == len(outputs)
