"""A function under test, traced while its calls of ``jax.value_and_grad`` are watched."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np
from jax.extend import core

from conformance.values.problem import Problem

from ._compilation import choose_static
from ._inputs import Arguments, build_inputs
from ._provenance import Labels, Unjudged, find_marks, follow_marks
from ._watching import Call, Watch, watch

TRACED = "traced"
_SEEDS = (1, 2)
"""Of the two sets of random constants that an untraceable function is handed."""


@dataclass(frozen=True, slots=True)
class Traced:
    """What a function does with its inputs: the labels of each output by path, and the calls that were seen.

    `static` are the floats that it could not be traced with. `how` says whether it was traced, or run with constants
    handed to it in place of what was differentiated.
    """

    origins: Mapping[str, Labels]
    calls: Mapping[int, Call]
    static: tuple[str, ...]
    how: str


@dataclass(frozen=True, slots=True)
class Subject:
    """A function under test.

    `early` names modules of its author that were imported before they could be watched; `made_at_load` tells that
    ``jax.value_and_grad`` was called while its module was loaded.
    """

    problem: Problem
    function: Callable[..., Any]
    early: tuple[str, ...] = ()
    made_at_load: bool = False


def trace_function(subject: Subject, arguments: Arguments) -> Traced:
    """What the function of `subject` does with inputs of the shapes of `arguments`.

    Raises:
        Unjudged: it can neither be traced nor run with constants, or has a construct that cannot be judged.
    """
    for static in choose_static(tuple(arguments.floats)):
        try:
            program, paths, calls = _trace_program(subject, arguments, static)
        except (Exception, SystemExit):  # noqa: S112 - the next choice has more floats static, and after the last it is run
            continue
        return Traced(dict(zip(paths, follow_marks(program), strict=True)), calls, static, TRACED)
    try:
        return _run_with_constants(subject, arguments)
    except Unjudged:
        raise
    except (Exception, SystemExit) as error:
        raise Unjudged(
            f"a function that can neither be traced nor run with constants in place of what was differentiated "
            f"({type(error).__name__})"
        ) from error


def _trace_program(
    subject: Subject, arguments: Arguments, static: tuple[str, ...]
) -> tuple[core.ClosedJaxpr, list[str], Mapping[int, Call]]:
    """The program of the function, the paths of its outputs, and the calls that were seen."""
    chosen = {path: arguments.floats[path] for path in static}
    floats = {path: value for path, value in arguments.floats.items() if path not in chosen}
    names: dict[int, str] = {}

    def call(arrays: dict[str, Any], floats: dict[str, Any]) -> Any:
        names.update((id(value), path) for path, value in {**arrays, **floats}.items())
        return subject.function(*build_inputs(subject.problem, {**arguments.static, **chosen, **arrays, **floats}))

    def trace() -> tuple[core.ClosedJaxpr, Any, Mapping[int, Call]]:
        names.clear()
        with watch(names) as seen:
            # A function of its own each time: JAX keeps what it traced.
            program, shapes = jax.make_jaxpr(lambda *inputs: call(*inputs), return_shape=True)(arguments.arrays, floats)
        return program, shapes, seen.calls

    program, shapes, calls = trace()
    marks = set(find_marks(program.jaxpr))
    if not marks or not marks <= set(calls):
        # A jitted function that was traced before is not called again, unless JAX forgets it.
        jax.clear_caches()
        program, shapes, calls = trace()
        if not set(find_marks(program.jaxpr)) <= set(calls):
            raise Unjudged("a trace that was kept from an earlier check")
    paths = [_name(path) for path, _ in jax.tree_util.tree_leaves_with_path(shapes)]
    return program, paths, calls


def _run_with_constants(subject: Subject, arguments: Arguments) -> Traced:
    """Where the outputs of a function that cannot be traced come from, by which of the constants they are."""
    runs: list[dict[str, np.ndarray[Any, Any]]] = []
    handed: list[list[tuple[str, int, Any]]] = []
    calls: Mapping[int, Call] = {}

    def run(constants: np.random.Generator | None) -> tuple[dict[str, np.ndarray[Any, Any]], Watch]:
        arrays = {path: value.copy() for path, value in arguments.arrays.items()}  # it may donate them
        inputs = build_inputs(subject.problem, {**arrays, **arguments.floats, **arguments.static})
        with watch({id(value): path for path, value in arrays.items()}, constants) as seen:
            return _flatten(subject.function(*inputs)), seen

    for seed in _SEEDS:
        outputs, seen = run(np.random.default_rng(seed))
        runs.append(outputs)
        handed.append(seen.handed)
        calls = seen.calls
    origins: dict[str, Labels] = {}
    real, seen = run(None)
    for path, leaf in runs[-1].items():
        same = [(kind, number) for kind, number, constant in handed[-1] if _same_bits(constant, leaf)]
        # A function that looks at the values may hand back something else where they are real.
        really = [kind for kind, _, value in seen.handed if path in real and _same_bits(value, real[path])]
        if same and same[0][0] not in really:
            origins[path] = frozenset()
        elif same:
            origins[path] = frozenset(same[:1])
        elif path in runs[0] and np.array_equal(runs[0][path], leaf):
            origins[path] = frozenset()
        else:
            raise Unjudged(f"arithmetic on {path} in a function that cannot be traced")
    return Traced(origins, calls, tuple(arguments.floats), "run with constants")


def _flatten(outputs: Any) -> dict[str, np.ndarray[Any, Any]]:
    return {_name(path): np.asarray(leaf) for path, leaf in jax.tree_util.tree_leaves_with_path(outputs)}


def _same_bits(constant: np.ndarray[Any, Any], leaf: np.ndarray[Any, Any]) -> bool:
    return constant.shape == leaf.shape and constant.tobytes() == leaf.astype(constant.dtype).tobytes()


def _name(path: Any) -> str:
    return jax.tree_util.keystr(path, simple=True, separator=".") or "output"
