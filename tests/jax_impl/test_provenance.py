"""The clause ``differentiated_with``: what comes from ``jax.value_and_grad``, and what gets past it."""

from __future__ import annotations

import importlib
import sys
import textwrap
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from conformance.values.contract import Finding, Status
from conformance.values.placement import Placement

PROBLEM = {
    "inputs": {"w": "float32[D]", "x": "float32[N,D]", "scale": "float"},
    "outputs": {"loss": "float32[]", "grad": "float32[D]"},
    "contract": {"differentiated_with": "jax.value_and_grad"},
}
INPUTS = {"w": np.float32([0.5, -1.0]), "x": np.float32([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]), "scale": 0.5}
HEAD = """
    import jax, jax.numpy as jnp
    def f(w, x, scale):
        return scale * jnp.mean((x @ w) ** 2)
    def evaluate(w, x, scale):
"""
Check = Callable[..., Finding]


@pytest.fixture
def check(load: Any) -> Check:
    """A function that gives the finding for the body of `evaluate`."""

    def check(body: str, **problem: Any) -> Finding:
        code = textwrap.dedent(HEAD) + textwrap.indent(textwrap.dedent(body), "    ")
        implementation = load(code, **{**PROBLEM, **problem})
        return implementation.check_contract(INPUTS, Placement("cpu", "jit"))["differentiated_with"]

    return check


KEPT = {
    "plain": """
        v, g = jax.value_and_grad(f)(w, x, scale)
        return {"loss": v, "grad": g}
    """,
    "jitted": """
        v, g = jax.jit(jax.value_and_grad(f))(w, x, scale)
        return {"loss": v, "grad": g}
    """,
    "cast and sum over a loop": """
        v, g = 0.0, jnp.zeros_like(w)
        for row in range(3):
            a, b = jax.value_and_grad(f)(w, x[row:row + 1], scale)
            v, g = v + a / 3, g + b.astype(jnp.float32) / 3
        return {"loss": v, "grad": g}
    """,
    "fori_loop": """
        def body(i, state):
            a, b = jax.value_and_grad(f)(w, jax.lax.dynamic_slice_in_dim(x, i, 1), scale)
            return state[0] + a / 3, state[1] + b / 3
        v, g = jax.lax.fori_loop(0, 3, body, (jnp.float32(0), jnp.zeros_like(w)))
        return {"loss": v, "grad": g}
    """,
    "while with a counter": """
        def body(state):
            a, b = jax.value_and_grad(f)(w, x, scale)
            return state[0] + 1, a, b
        _, v, g = jax.lax.while_loop(lambda s: s[0] < 1, body, (0, jnp.float32(0), jnp.zeros_like(w)))
        return {"loss": v, "grad": g}
    """,
    "cond on a constant": """
        call = lambda: jax.value_and_grad(f)(w, x, scale)
        v, g = jax.lax.cond(jnp.asarray(True), call, call)
        return {"loss": v, "grad": g}
    """,
    "scanned over rows": """
        def body(state, row):
            a, b = jax.value_and_grad(f)(w, row[None], scale)
            return (state[0] + a / 3, state[1] + b / 3), None
        (v, g), _ = jax.lax.scan(body, (jnp.float32(0), jnp.zeros_like(w)), x)
        return {"loss": v, "grad": g}
    """,
    "stacked by scan": """
        _, (v, g) = jax.lax.scan(lambda s, row: (s, jax.value_and_grad(f)(w, row[None], scale)), 0, x)
        return {"loss": v.mean(), "grad": g.mean(0)}
    """,
    "mapped over rows": """
        v, g = jax.vmap(jax.value_and_grad(f), (None, 0, None))(w, x[:, None], scale)
        return {"loss": v.mean(), "grad": g.mean(0)}
    """,
    "inside a checkpoint": """
        v, g = jax.checkpoint(jax.value_and_grad(f))(w, x, scale)
        return {"loss": v, "grad": g}
    """,
    "keyword arguments": """
        v, g = jax.value_and_grad(fun=f, argnums=-2)(w, x, scale=scale)
        return {"loss": v, "grad": g}
    """,
    "a dict among the arguments": """
        v, g = jax.value_and_grad(lambda p, n: f(p["w"], x, scale) if n == "a" else 0.0)({"w": w}, "a")
        return {"loss": v, "grad": g["w"]}
    """,
    "loss scaled inside and unscaled outside": """
        v, g = jax.value_and_grad(lambda w: 1024 * f(w, x, scale))(w)
        return {"loss": v / 1024, "grad": g / 1024}
    """,
    "the value of one with aux": """
        (v, aux), g = jax.value_and_grad(lambda w: (f(w, x, scale), x), has_aux=True)(w)
        return {"loss": v, "grad": g}
    """,
    "a custom derivative": """
        @jax.custom_vjp
        def square(z): return z * z
        square.defvjp(lambda z: (z * z, z), lambda z, c: (2 * z * c,))
        v, g = jax.value_and_grad(lambda w: scale * jnp.mean(square(x @ w)))(w)
        return {"loss": v, "grad": g}
    """,
    "a float that cannot be traced": """
        v, g = jax.value_and_grad(f)(w, x, float(scale))
        return {"loss": v, "grad": g}
    """,
    "a value that goes through Python": """
        v, g = jax.value_and_grad(f)(w, x, scale)
        return {"loss": jnp.float32(float(v)), "grad": jnp.asarray(g.tolist(), jnp.float32)}
    """,
    "a gradient of a gradient": """
        inner = lambda w: jnp.sum(jax.value_and_grad(f)(w, x, scale)[1])
        v, g = jax.value_and_grad(inner)(w)
        return {"loss": v, "grad": g}
    """,
    "a branch on an input between functions": """
        one, two = (lambda: jax.value_and_grad(lambda w: k * f(w, x, scale))(w) for k in (1, 2))
        v, g = jax.lax.cond(x[0, 0] > 0, one, two)
        return {"loss": v, "grad": g}
    """,
    "an accumulator of zeros from an input": """
        zero = jax.tree.map(lambda p: p * 0, w)
        v, g = jax.value_and_grad(f)(w, x, scale)
        return {"loss": v, "grad": zero + g}
    """,
    "one call per parameter": """
        (v, g) = jax.value_and_grad(lambda a: f(jnp.stack([a, w[1]]), x, scale))(w[0])
        _, h = jax.value_and_grad(lambda b: f(jnp.stack([w[0], b]), x, scale))(w[1])
        return {"loss": v, "grad": jnp.stack([g, h])}
    """,
    "argnums of another integer type": """
        import numpy as np
        v, g = jax.value_and_grad(f, argnums=np.int64(0))(w, x, scale)
        return {"loss": v, "grad": g}
    """,
    "a closure that can be called once": """
        once = iter([x])
        v, g = jax.value_and_grad(lambda w: f(w, next(once), scale))(w)
        return {"loss": v, "grad": g}
    """,
    "a name of the author's own": """
        from jax.ad_checkpoint import checkpoint_name
        v, g = jax.value_and_grad(f)(w, x, scale)
        return {"loss": checkpoint_name(v, "conformance:weights"), "grad": checkpoint_name(g, "conformance:a:1")}
    """,
    "a key that was not asked for": """
        v, g = jax.value_and_grad(f)(w, x, scale)
        return {"loss": v, "grad": g, "rows": x.sum()}
    """,
}


@pytest.mark.parametrize("name", KEPT)
def test_what_comes_from_value_and_grad_is_kept(check: Check, name: str):
    found = check(KEPT[name])
    assert (Status.KEPT, ()) == (found.status, tuple(found.messages))


BROKEN = {
    "by hand": (
        'return {"loss": f(w, x, scale), "grad": 2 * scale * x.T @ (x @ w) / 3}',
        "grad, loss: jax.value_and_grad is never called",
    ),
    "a constant": (
        'return {"loss": jax.value_and_grad(f)(w, x, scale)[0], "grad": jnp.zeros(2)}',
        "grad: does not come from jax.value_and_grad",
    ),
    "the value in place of the gradient": (
        """
        v, g = jax.value_and_grad(f)(w, x, scale)
        return {"loss": v, "grad": jnp.full(2, v)}
        """,
        "grad: comes from the value that jax.value_and_grad gave, not from its gradients",
    ),
    "an input by a predicate": (
        """
        v, g = jax.value_and_grad(f)(w, x, scale)
        return {"loss": v, "grad": jnp.where(w > 0, g, g)}
        """,
        "grad: an input gets past jax.value_and_grad",
    ),
    "an input by the predicate of a cond": (
        """
        v, g = jax.value_and_grad(f)(w, x, scale)
        return {"loss": v, "grad": jax.lax.cond(x[0, 0] > 0, lambda: g, lambda: jnp.zeros(2))}
        """,
        "grad: an input gets past jax.value_and_grad",
    ),
    "an input by a loop's length": (
        """
        v, g = jax.value_and_grad(f)(w, x, scale)
        g = jax.lax.while_loop(lambda s: s[0] < x[0, 0], lambda s: (s[0] + 1, 2 * s[1]), (0.0, g))[1]
        return {"loss": v, "grad": g}
        """,
        "grad: an input gets past jax.value_and_grad",
    ),
    "an input that a scan carries": (
        """
        v, g = jax.value_and_grad(f)(w, x, scale)
        (_, g), _ = jax.lax.scan(lambda s, r: ((s[1] + 0 * s[0], s[0]), None), (w, g), None, length=2)
        return {"loss": v, "grad": g}
        """,
        "grad: an input gets past jax.value_and_grad",
    ),
    "by hand after Python": (
        """
        v, g = jax.value_and_grad(f)(w, x, scale)
        return {"loss": jnp.float32(float(v)), "grad": jnp.asarray((2 * x.T @ (x @ w)).tolist())}
        """,
        "grad: does not come from jax.value_and_grad",
    ),
    "a forged mark": (
        """
        from jax.ad_checkpoint import checkpoint_name
        v, g = jax.value_and_grad(f)(w, x, scale)
        return {"loss": v, "grad": checkpoint_name(2 * scale * x.T @ (x @ w) / 3, "conformance:gradient:999")}
        """,
        "grad: does not come from jax.value_and_grad",
    ),
    "by hand where the values are real": (
        """
        import numpy as np
        v, g = jax.value_and_grad(f)(w, x, scale)
        h = 2.00001 * scale * x.T @ (x @ w) / 3
        return {"loss": v, "grad": h if np.allclose(g, h, 1e-4) else g}
        """,
        "grad: does not come from jax.value_and_grad",
    ),
    "jax.grad": (
        'return {"loss": jax.value_and_grad(f)(w, x, scale)[0], "grad": jax.grad(f)(w, x, scale)}',
        "grad: comes from jax.grad; wanted jax.value_and_grad",
    ),
}


@pytest.mark.parametrize("name", BROKEN)
def test_what_gets_past_value_and_grad_is_broken(check: Check, name: str):
    body, message = BROKEN[name]
    found = check(body)
    assert Status.BROKEN == found.status, found
    assert any(message in text for text in found.messages), found.messages


UNJUDGED = {
    "shard_map": (
        """
        from jax.sharding import Mesh, PartitionSpec as P
        mesh = Mesh(jax.devices()[:1], ("i",))
        call = jax.shard_map(jax.value_and_grad(f), mesh=mesh, in_specs=(P(), P(), P()), out_specs=(P(), P()))
        v, g = call(w, x, scale)
        return {"loss": v, "grad": g}
        """,
        "jax.value_and_grad is called inside shard_map",
    ),
    "scaled by the data": (
        """
        count = jnp.isfinite(x).sum()
        v, g = jax.value_and_grad(lambda w: jnp.sum((x @ w) ** 2))(w)
        return {"loss": v / count, "grad": g / count}
        """,
        "grad, loss: what jax.value_and_grad gave is scaled by something that depends on the inputs",
    ),
    "the gradient of a surrogate": (
        """
        v, _ = jax.value_and_grad(f)(w, x, scale)
        h = 2 * scale * x.T @ (x @ w) / 3
        _, g = jax.value_and_grad(lambda w: jnp.vdot(h, w))(w)
        return {"loss": v, "grad": g}
        """,
        "grad: is the gradient of another function than the one whose value is returned",
    ),
    "hand gradients as values": (
        """
        v, g = jax.value_and_grad(f)(w, x, scale)
        h = [jax.value_and_grad(lambda w: (2 * scale * x.T @ (x @ w) / 3)[i])(w)[0] for i in range(2)]
        return {"loss": v, "grad": jnp.stack(h) + 0.5 * g - 0.5 * g}
        """,
        "grad: the value that jax.value_and_grad gave is mixed into a gradient",
    ),
    "arithmetic in Python": (
        """
        v, g = jax.value_and_grad(f)(w, x, scale)
        return {"loss": jnp.float32(float(v) * 2), "grad": g}
        """,
        "arithmetic on loss in a function that cannot be traced",
    ),
}


@pytest.mark.parametrize("name", UNJUDGED)
def test_what_cannot_be_judged_is_named(check: Check, name: str):
    body, message = UNJUDGED[name]
    found = check(body)
    assert Status.NOT_PROVEN == found.status, found
    assert any(message in text for text in found.messages), found.messages


def test_a_jitted_function_that_was_called_while_its_module_was_loaded_is_still_seen(load: Any):
    code = """
        import jax, jax.numpy as jnp
        g = jax.jit(jax.value_and_grad(lambda w, x, scale: scale * jnp.mean((x @ w) ** 2)))
        g(jnp.ones(2), jnp.ones((3, 2)), 0.5)
        def evaluate(w, x, scale):
            return dict(zip(("loss", "grad"), g(w, x, scale)))
    """
    implementation = load(code, **PROBLEM)
    for _ in range(2):
        found = implementation.check_contract(INPUTS, Placement("cpu", "jit"))["differentiated_with"]
        assert Status.KEPT == found.status, found


def test_a_program_that_was_compiled_while_its_module_was_loaded_is_never_blamed(load: Any):
    code = """
        import jax, jax.numpy as jnp
        g = jax.jit(jax.value_and_grad(lambda w, x: 0.5 * jnp.mean((x @ w) ** 2)))
        compiled = g.lower(jnp.ones(2), jnp.ones((3, 2))).compile()
        def evaluate(w, x, scale):
            return dict(zip(("loss", "grad"), compiled(w, x)))
    """
    found = load(code, **PROBLEM).check_contract(INPUTS, Placement("cpu", "eager"))["differentiated_with"]
    assert Status.NOT_PROVEN == found.status, found
    assert "jax.value_and_grad was called while the module was loaded" in found.messages[0]


def load_module(
    side: Any, make_problem: Any, tmp_path: Path, monkeypatch: Any, *, early: bool
) -> Mapping[str, Finding]:
    """The findings for a dotted module that was, or was not, imported before the side loads it."""
    (tmp_path / "authors_package.py").write_text(
        textwrap.dedent("""
            import jax, jax.numpy as jnp
            g = jax.jit(jax.value_and_grad(lambda w, x, scale: scale * jnp.mean((x @ w) ** 2)))
            def evaluate(w, x, scale):
                return dict(zip(("loss", "grad"), g(w, x, scale)))
        """)
    )
    monkeypatch.syspath_prepend(tmp_path)
    problem = make_problem(**PROBLEM)
    if early:
        importlib.import_module("authors_package")
    try:
        implementation = side.load(problem, "authors_package", None)
        return implementation.check_contract(INPUTS, Placement("cpu", "jit"))
    finally:
        sys.modules.pop("authors_package", None)


def test_a_module_that_was_imported_too_early_is_never_blamed(side: Any, make_problem: Any, tmp_path, monkeypatch):
    found = load_module(side, make_problem, tmp_path, monkeypatch, early=True)["differentiated_with"]
    assert Status.NOT_PROVEN == found.status
    assert "authors_package was imported before jax.value_and_grad could be watched" in found.messages[0]


def test_a_dotted_module_that_is_loaded_here_is_judged(side: Any, make_problem: Any, tmp_path, monkeypatch):
    found = load_module(side, make_problem, tmp_path, monkeypatch, early=False)["differentiated_with"]
    assert Status.KEPT == found.status, found


def test_jax_is_left_as_it_was(check: Check):
    import jax

    before = jax.value_and_grad, jax.grad
    check(KEPT["plain"])
    assert before == (jax.value_and_grad, jax.grad)
    assert "conformance" not in before[0].__module__


def test_a_name_that_was_imported_before_is_replaced_while_contracts_are_checked(check: Check):
    import jax

    module = type(sys)("imported_before")
    module.value_and_grad = jax.value_and_grad
    sys.modules["imported_before"] = module
    try:
        found = check("""
            import imported_before
            v, g = imported_before.value_and_grad(f)(w, x, scale)
            return {"loss": v, "grad": g}
        """)
    finally:
        del sys.modules["imported_before"]
    assert Status.KEPT == found.status, found
    assert module.value_and_grad is jax.value_and_grad


def test_an_unknown_jax_leaves_every_probe_unproven(check: Check, monkeypatch):
    import jax

    monkeypatch.setattr(jax, "__version_info__", (0, 99, 0))
    monkeypatch.setattr(jax, "__version__", "0.99.0")
    found = check(KEPT["plain"])
    assert Status.NOT_PROVEN == found.status
    assert ["this check is known to be right on jax 0.10 to 0.12; found 0.99.0"] == list(found.messages)


def test_a_fault_of_the_check_itself_is_not_the_implementations(check: Check, monkeypatch):
    from _conformance_jax_impl import _contract

    monkeypatch.setattr(_contract, "judge_origins", lambda *_: 1 / 0)
    found = check(KEPT["plain"])
    assert Status.NOT_PROVEN == found.status
    assert "the check itself failed, please report it (ZeroDivisionError: division by zero)" == found.messages[0]


def test_each_branch_on_a_static_float_is_checked(load: Any):
    code = """
        import jax, jax.numpy as jnp
        def evaluate(w, x, scale):
            if scale > 1:
                return {"loss": jnp.sum(w), "grad": jnp.ones(2)}
            v, g = jax.value_and_grad(lambda w: scale * jnp.mean((x @ w) ** 2))(w)
            return {"loss": v, "grad": g}
    """
    implementation = load(code, **PROBLEM)
    found = {
        scale: implementation.check_contract({**INPUTS, "scale": scale}, Placement("cpu", "jit"))["differentiated_with"]
        for scale in (0.5, 2.0)
    }
    assert {0.5: Status.KEPT, 2.0: Status.BROKEN} == {scale: finding.status for scale, finding in found.items()}
