"""Calls of ``jax.value_and_grad`` and ``jax.grad``, seen while an implementation is traced.

The public functions are replaced by ones that hand everything through, while modules are loaded and contracts are
checked. What is called under `watch` is marked with ``jax.ad_checkpoint.checkpoint_name``: the marks stay in the traced
program, change no value, and vanish from what is compiled. Auxiliary outputs get no mark, or a hand-written gradient
could be handed out through them.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import itertools
import secrets
import sys
from collections import Counter
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.ad_checkpoint import checkpoint_name
from jax.core import Tracer
from jax.extend import core

VALUE, GRADIENT, OTHER = "value", "gradient", "other"
"""Kinds of marks; `OTHER` are the gradients that ``jax.grad`` gives."""
_PREFIX = f"conformance-{secrets.token_hex(8)}"
"""Marks cannot be written by hand: nobody knows this beforehand."""
_FRAMEWORK = frozenset(("jax", "jaxlib"))


@dataclass(frozen=True, slots=True)
class Call:
    """One call of a differentiated function.

    `program` is the function that is differentiated, what it captured from outside first among its inputs. `names` has
    the problem's input that each of them is, or an empty text. `differentiated` are the positions of the arguments that
    it is differentiated in; `failure` says why there is no program.
    """

    interface: str
    program: core.ClosedJaxpr | None
    names: tuple[str, ...] = ()
    differentiated: tuple[int, ...] = ()
    failure: str = ""


@dataclass(slots=True)
class Watch:
    """What was seen, calls by number.

    With `constants`, calls hand back random arrays instead of what they computed. `handed` has what they handed back
    outside of any trace, with the kind and the number of the call.
    """

    names: Mapping[int, str] = field(default_factory=dict[int, str])
    constants: np.random.Generator | None = None
    calls: dict[int, Call] = field(default_factory=dict[int, Call])
    handed: list[tuple[str, int, Any]] = field(default_factory=list)

    def take(self, interface: str, function: Any, inner: Any, bound: Mapping[str, Any], args: Any, kwargs: Any) -> Any:
        """What the call returns, marked and recorded."""
        number = next(_numbers)
        outputs = inner(*args, **kwargs)
        self.calls[number] = _trace(interface, function, bound, args, kwargs, self.names)
        if interface == "jax.grad":
            gradients, *aux = outputs if bound["has_aux"] else (outputs,)
            return (self._mark(gradients, OTHER, number), *aux) if aux else self._mark(gradients, OTHER, number)
        value, gradients = outputs
        gradients = self._mark(gradients, GRADIENT, number)
        if bound["has_aux"]:
            return (self._mark(value[0], VALUE, number), value[1]), gradients
        return self._mark(value, VALUE, number), gradients

    def _mark(self, tree: Any, kind: str, number: int) -> Any:
        def mark(leaf: Any) -> Any:
            if not jnp.issubdtype(jnp.result_type(leaf), jnp.inexact):
                return leaf
            if self.constants is None:
                if not isinstance(leaf, Tracer):
                    self.handed.append((kind, number, np.asarray(leaf)))
                return checkpoint_name(leaf, f"{_PREFIX}:{kind}:{number}")
            constant = jnp.asarray(self.constants.uniform(1.0, 2.0, jnp.shape(leaf)), jnp.result_type(leaf))
            self.handed.append((kind, number, np.asarray(constant)))
            return constant

        return jax.tree_util.tree_map(mark, tree)


def read_mark(equation: core.JaxprEqn) -> tuple[str, int] | None:
    """The kind of the mark that an equation is, and the number of its call; None for every other equation."""
    name = equation.params.get("name") if equation.primitive.name == "name" else None
    if not isinstance(name, str) or not name.startswith(f"{_PREFIX}:"):
        return None
    _, kind, number = name.split(":")
    return kind, int(number)


made: Counter[str] = Counter()
"""How often each function was called while it was replaced, to make another one."""
_watches: list[Watch] = []
_numbers = itertools.count()
"""Calls are numbered across all watches, so that a program which JAX kept from an earlier one is told by its marks."""


def _trace(
    interface: str,
    function: Callable[..., Any],
    bound: Mapping[str, Any],
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    names: Mapping[int, str],
) -> Call:
    """The record of a call, with what is differentiated traced as a function of its own."""
    try:
        places = [place % len(args) for place in np.atleast_1d(bound["argnums"]).tolist()]
        leaves, structure = jax.tree_util.tree_flatten([args[place] for place in places])
    except Exception as error:  # a wrong call, which JAX itself tells of
        return Call(interface, None, failure=f"{type(error).__name__}: {error}")

    def differentiated(*leaves: Any) -> Any:
        full = list(args)
        for place, part in zip(places, jax.tree_util.tree_unflatten(structure, leaves), strict=True):
            full[place] = part
        outputs = function(*full, **kwargs)
        return outputs[0] if bound["has_aux"] else outputs

    watches = list(_watches)
    _watches.clear()  # calls inside are part of this one here, and are seen when the real one runs
    try:
        traced = jax.make_jaxpr(differentiated)(*leaves)
    except Exception as error:
        return Call(interface, None, failure=f"{type(error).__name__}: {str(error).partition(chr(10))[0]}")
    finally:
        _watches[:] = watches
    captured = list(traced.consts)
    jaxpr = traced.jaxpr.replace(constvars=[], invars=[*traced.jaxpr.constvars, *traced.jaxpr.invars])
    return Call(
        interface,
        core.ClosedJaxpr(jaxpr, []),
        tuple(names.get(id(value), "") for value in (*captured, *leaves)),
        tuple(range(len(captured), len(captured) + len(leaves))),
    )


def _watched(name: str) -> Callable[..., Any]:
    original = getattr(jax, name)
    signature = inspect.signature(original)

    @functools.wraps(original)
    def transform(*args: Any, **kwargs: Any) -> Any:
        made[name] += 1
        inner = original(*args, **kwargs)
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        function = bound.arguments["fun"]

        @functools.wraps(inner)
        def call(*args: Any, **kwargs: Any) -> Any:
            if not _watches:
                return inner(*args, **kwargs)
            return _watches[-1].take(f"jax.{name}", function, inner, bound.arguments, args, kwargs)

        return call

    return transform


_ORIGINALS = {name: getattr(jax, name) for name in ("value_and_grad", "grad")}
_REPLACEMENTS = {name: _watched(name) for name in _ORIGINALS}


@contextlib.contextmanager
def watchable() -> Generator[None]:
    """A context in which ``jax.value_and_grad`` and ``jax.grad`` give functions that can be watched, then and later.

    A module that had imported one of them by name before has it replaced there meanwhile.
    """
    modules: list[Any] = list(sys.modules.values())
    rebound = [
        (module, attribute, name)
        for module in modules
        if issubclass(type(module), ModuleType)
        for scope in [ModuleType.__getattribute__(module, "__dict__")]  # a lazy module stays unloaded
        if scope.get("__name__") != __name__ and str(scope.get("__name__")).partition(".")[0] not in _FRAMEWORK
        for name, original in _ORIGINALS.items()
        for attribute, value in list(scope.items())
        if value is original
    ]
    rebound += [(jax, name, name) for name in _ORIGINALS]
    for module, attribute, name in rebound:
        setattr(module, attribute, _REPLACEMENTS[name])
    try:
        yield
    finally:
        for module, attribute, name in rebound:
            setattr(module, attribute, _ORIGINALS[name])


@contextlib.contextmanager
def watch(names: Mapping[int, str], constants: np.random.Generator | None = None) -> Generator[Watch]:
    """What is seen of the calls made meanwhile; `names` has the problem's inputs by the identity of their tracers."""
    seen = Watch(names, constants)
    _watches.append(seen)
    try:
        with watchable():
            yield seen
    finally:
        _watches.remove(seen)
