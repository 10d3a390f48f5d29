"""Compiled programs of a function: one per mode, shapes and static values."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

from conformance.values.placement import Placement
from conformance.values.problem import Problem

from ._inputs import Arguments, build_inputs
from ._outputs import check_transformable
from ._platform import describe_device

_KEPT = 512
"""Programs that are kept at most: a sweep over static floats makes a new one per case."""


@dataclass(frozen=True, slots=True)
class Program:
    """A compiled function of arrays and traced floats, and the paths of the floats that it was given as static."""

    compiled: jax.stages.Compiled
    static: tuple[str, ...]

    def run(self, arguments: Arguments) -> Any:
        """What the program returns."""
        traced = {path: value for path, value in arguments.floats.items() if path not in self.static}
        return self.compiled(*_example(arguments, traced))

    @property
    def executable(self) -> dict[str, Any]:
        """The platform and devices of the compiled program, as its own shardings name them."""
        shardings = jax.tree_util.tree_leaves((self.compiled.input_shardings, self.compiled.output_shardings))
        devices = {device for sharding in shardings for device in sharding.device_set}
        described = [describe_device(device) for device in sorted(devices, key=lambda device: device.id)]
        platforms = sorted({device["platform"] for device in described})
        return {"platform": ", ".join(platforms), "devices": described}


class Compiler:
    """Compiles its `function` when a program of the arguments' shapes is first asked for."""

    def __init__(self, problem: Problem, function: Callable[..., Any]) -> None:
        self._problem = problem
        self.function = function
        self._programs: dict[Any, Program] = {}
        self._choices: dict[Any, tuple[str, ...]] = {}

    def find(self, doing: str, arguments: Arguments, placement: Placement) -> Program:
        """The program for `arguments`, with as many of the floats traced as the function allows.

        Raises:
            Exception: whatever the function raises with all floats static.
        """
        outline = (placement, outline_of(arguments))
        choices = [self._choices[outline]] if outline in self._choices else choose_static(tuple(arguments.floats))
        for static in choices:
            chosen = {path: arguments.floats[path] for path in static}
            key = (outline, freeze(chosen))
            if key not in self._programs:
                try:
                    compiled = self._compile(doing, arguments, chosen, placement)
                except Exception:
                    # Not only errors of tracing: a type check refuses a traced float in its own words.
                    if len(static) == len(arguments.floats):
                        raise
                    continue
                if len(self._programs) >= _KEPT:
                    del self._programs[next(iter(self._programs))]
                self._programs[key] = Program(compiled, static)
            self._choices[outline] = static
            return self._programs[key]
        raise AssertionError("the last choice has every float static, and returns or raises")

    def _compile(
        self, doing: str, arguments: Arguments, chosen: dict[str, float], placement: Placement
    ) -> jax.stages.Compiled:
        def call(arrays: dict[str, Any], floats: dict[str, Any], _row: Any) -> Any:
            inputs = build_inputs(self._problem, {**arguments.static, **chosen, **arrays, **floats})
            outputs = self.function(*inputs)
            check_transformable(doing, outputs)
            return outputs

        traced = {path: value for path, value in arguments.floats.items() if path not in chosen}
        mapped = jax.vmap(call, in_axes=(0, None, 0)) if placement.mode == "vmap" else call
        return jax.jit(mapped).lower(*_example(arguments, traced)).compile()


def _example(
    arguments: Arguments, traced: dict[str, float]
) -> tuple[dict[str, jax.Array], dict[str, float], np.ndarray[Any, Any]]:
    """What a program is called with; the rows' numbers at the end give a batch its size where there is no array."""
    return arguments.arrays, traced, np.arange(arguments.rows, dtype=np.int32)


def choose_static(floats: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """Which floats to make static, from none over each alone to all."""
    yield ()
    if len(floats) > 1:
        yield from ((path,) for path in floats)
    if floats:
        yield floats


def outline_of(arguments: Arguments) -> Any:
    """What decides which program arguments need, but for floats: types, shapes and static values, as a key."""
    shapes = tuple((path, str(array.dtype), array.shape) for path, array in arguments.arrays.items())
    return shapes, freeze(arguments.static)


def freeze(values: dict[str, Any]) -> tuple[tuple[str, str], ...]:
    """The values as a key: their texts, since 0.0 equals -0.0, and 1 equals True."""
    return tuple((path, repr(value)) for path, value in values.items())
