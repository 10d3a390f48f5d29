from __future__ import annotations

import numpy as np
import pytest

from conformance.errors import ImplementationFault

MODES = ("eager", "jit", "vmap")
SCALED = "def evaluate(x, factor):\n    return {'y': x * factor}\n"
X = np.float32([1.0, 2.0, 4.0])
SUMMED = {"inputs": {"x": "float32[N]"}, "outputs": "float32[]"}


@pytest.mark.parametrize("mode", MODES)
def test_each_mode_gives_the_cases_own_result(mode, load, evaluate):
    found = evaluate(load(SCALED), mode, x=X, factor=3.0).outputs["y"]
    assert np.array_equal(3 * X, found.array)
    assert ("jax.Array", "float32", (3,), False) == (found.kind, found.dtype, found.shape, found.weak_type)


@pytest.mark.parametrize("mode", MODES)
def test_each_leaf_names_the_device_that_it_lives_on(mode, load, evaluate):
    device = evaluate(load(SCALED), mode).outputs["y"].devices
    assert ({"platform": "cpu", "id": 0, "kind": "cpu"},) == device


@pytest.mark.parametrize(("mode", "platform"), [("eager", None), ("jit", "cpu"), ("vmap", "cpu")])
def test_a_compiled_program_names_its_devices(mode, platform, load, evaluate):
    executable = evaluate(load(SCALED), mode).executable
    assert platform == executable.get("platform")
    assert ([{"platform": "cpu", "id": 0, "kind": "cpu"}] if platform else []) == executable.get("devices", [])


@pytest.mark.parametrize(("mode", "how"), [("eager", "python"), ("jit", "traced"), ("vmap", "traced")])
def test_a_python_float_is_traced_where_the_function_allows_it(mode, how, load, evaluate):
    assert {"factor": how} == evaluate(load(SCALED), mode).arguments


@pytest.mark.parametrize(("mode", "how"), [("eager", "python"), ("jit", "static"), ("vmap", "static")])
@pytest.mark.parametrize("used", ["x if factor > 0 else -x", "x * float(factor)", "x[int(factor):]"])
def test_a_python_float_is_static_where_the_function_needs_its_value(mode, how, used, load, evaluate):
    found = evaluate(load(f"def evaluate(x, factor):\n    return {{'y': {used}}}\n"), mode)
    assert {"factor": how} == found.arguments


def test_only_the_float_that_needs_it_is_static(load, evaluate):
    code = "def evaluate(x, low, high):\n    return {'y': x * low if high > 0 else x}\n"
    implementation = load(code, inputs={"x": "float32[N]", "low": "float", "high": "float"})
    assert {"low": "traced", "high": "static"} == evaluate(implementation, x=X, low=2.0, high=1.0).arguments


def test_a_static_float_is_compiled_for_each_of_its_values(load, evaluate):
    implementation = load("def evaluate(x, factor):\n    return {'y': x if factor > 0 else -x}\n")
    for factor, expected in ((1.0, X), (-1.0, -X), (2.0, X)):
        assert np.array_equal(expected, evaluate(implementation, x=X, factor=factor).outputs["y"].array)


@pytest.mark.parametrize("mode", ["jit", "vmap"])
def test_cases_of_one_shape_share_a_program_and_others_do_not(mode, load, evaluate):
    code = (
        "SEEN = []\ndef evaluate(x, factor):\n    SEEN.append(x.shape)\n    return {'y': x * factor, 'n': len(SEEN)}\n"
    )
    implementation = load(code)
    for x, factor, traces in ((X, 2.0, 1), (2 * X, 3.0, 1), (X[:2], 2.0, 2), (X, 5.0, 1)):
        found = evaluate(implementation, mode, x=x, factor=factor).outputs
        assert np.array_equal(factor * x, found["y"].array)
        assert traces == found["n"].array


@pytest.mark.parametrize("mode", MODES)
def test_a_traced_branch_on_an_array_is_told_with_a_hint_and_its_line(mode, load, evaluate):
    implementation = load("def evaluate(x, factor):\n    if x[0] > 0:\n        return {'y': x}\n    return {'y': -x}\n")
    if mode == "eager":
        assert np.array_equal(X, evaluate(implementation, mode).outputs["y"].array)
        return
    with pytest.raises(ImplementationFault) as caught:
        evaluate(implementation, mode)
    assert [
        f"evaluating scaled (cpu-{mode}): raised TracerBoolConversionError: "
        "Attempted boolean conversion of traced array with shape bool[].",
        "  hint: a Python branch on a traced value: use jnp.where or lax.cond",
        "  at jax_impl/scaled.py:2 in evaluate: if x[0] > 0:",
    ] == str(caught.value).splitlines()


@pytest.mark.parametrize(
    ("used", "hint"),
    [
        ("float(x[0])", "became a Python number"),
        ("numpy.sin(x)", "was handed to NumPy"),
        ("[1, 2][x[0].astype(int)]", "became a Python index"),
        ("x[x > 0]", "a Boolean mask that is traced"),
    ],
)
def test_each_way_to_leave_a_trace_has_its_own_hint(used, hint, load, evaluate):
    with pytest.raises(ImplementationFault, match=f"hint: .*{hint}"):
        evaluate(load(f"import numpy\ndef evaluate(x, factor):\n    return {used}\n"), "jit")


@pytest.mark.parametrize("mode", MODES)
def test_static_values_and_keys_reach_the_function_as_declared(mode, load, evaluate):
    code = """
    import jax

    def evaluate(x, options, key):
        assert options["power"] == 2 and options["name"] == "square"
        return {"y": x ** options["power"], "noise": jax.random.normal(key, (2,))}
    """
    inputs = {"x": "float32[N]", "options": {"power": "static int", "name": "static str"}, "key": "key"}
    found = evaluate(load(code, inputs=inputs), mode, x=X, options={"power": 2, "name": "square"}, key=7).outputs
    import jax

    assert np.array_equal(X**2, found["y"].array)
    assert np.array_equal(jax.random.normal(jax.random.key(7), (2,)), found["noise"].array)


@pytest.mark.parametrize("mode", MODES)
def test_nested_inputs_arrive_in_their_own_containers(mode, load, evaluate):
    code = "def evaluate(a, b):\n    assert type(a) is list and type(b) is tuple\n    return a[0]['w'] + b[1] * b[0]\n"
    inputs = {"a": [{"w": "float32[N]"}], "b": {"tuple": ["float", "float32[]"]}}
    found = evaluate(load(code, inputs=inputs), mode, a=[{"w": X}], b=(2.0, np.float32(3.0)))
    assert np.array_equal(X + 6, found.outputs.array)
    assert {"b.0"} == set(found.arguments)


@pytest.mark.parametrize("mode", MODES)
def test_a_problem_without_arrays_is_evaluated_too(mode, load, evaluate):
    code = "def evaluate(a):\n    import jax.numpy as jnp\n    return jnp.sin(a)\n"
    assert np.float32(np.sin(0.5)) == pytest.approx(
        evaluate(load(code, inputs={"a": "float"}), mode, a=0.5).outputs.array
    )


def test_a_batch_that_mixes_its_rows_is_seen_in_the_own_row(load, evaluate):
    code = "import jax\ndef evaluate(x):\n    return jax.numpy.sum(x)\n"
    found = evaluate(load(code, **SUMMED), "vmap", x=X).outputs
    assert (np.float32(7.0), ()) == (found.array, found.shape)


@pytest.mark.parametrize("mode", MODES)
def test_64_bit_types_stay_off_though_an_implementation_asks_for_them(mode, load, evaluate):
    import jax

    implementation = load("import jax\njax.config.update('jax_enable_x64', True)\n" + SCALED)
    try:
        assert "float32" == evaluate(implementation, mode).outputs["y"].dtype
    finally:
        jax.config.update("jax_enable_x64", False)


def test_the_placements_matmul_precision_is_in_force_where_the_function_is_traced(load, evaluate):
    code = "import jax\ndef evaluate(x, factor):\n    return {'y': x, jax.config.jax_default_matmul_precision: x}\n"
    assert ["highest", "y"] == sorted(evaluate(load(code), "jit").outputs)
