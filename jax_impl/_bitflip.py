"""A single bit, flipped in one element of one intermediate: what a faulty machine does."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.extend import core

from ._interpreter import Hook, apply, interpret

_BITS = 32


@dataclass(frozen=True, slots=True)
class Site:
    """A float32 result of an equation: the equation's number, the result's place, the primitive's name and the size."""

    equation: int
    result: int
    primitive: str
    size: int


@dataclass(frozen=True, slots=True)
class Flip:
    """One bit, 0 the lowest of the significand and 31 the sign, of one element of a site."""

    site: Site
    element: int
    bit: int


def find_sites(function: Callable[..., Any], *inputs: Any) -> list[Site]:
    """The float32 results of all equations of the function, which is traced and not run."""
    sites: list[Site] = []

    def note(number: int, equation: core.JaxprEqn, operands: list[Any]) -> list[Any]:
        for place, variable in enumerate(equation.outvars):
            result: Any = variable.aval
            if result.dtype == jnp.float32 and result.size:
                sites.append(Site(number, place, equation.primitive.name, result.size))
        return apply(equation, operands)

    jax.make_jaxpr(lambda: interpret(function, note)(*inputs))()
    return sites


def choose_flip(sites: Sequence[Site], generator: np.random.Generator) -> Flip:
    """A random bit of a random element of a random site."""
    site = sites[int(generator.integers(len(sites)))]
    return Flip(site, int(generator.integers(site.size)), int(generator.integers(_BITS)))


def flip_bit(function: Callable[..., Any], flip: Flip) -> Callable[..., Any]:
    """The function, with that bit flipped whenever it runs."""
    return interpret(function, flipping(flip))


def flipping(flip: Flip) -> Hook:
    """The hook that flips that bit, and leaves every other result as it is."""

    def compute(number: int, equation: core.JaxprEqn, operands: list[Any]) -> list[Any]:
        results = apply(equation, operands)
        if number == flip.site.equation:
            results[flip.site.result] = _flip(results[flip.site.result], flip)
        return results

    return compute


def _flip(value: Any, flip: Flip) -> Any:
    bits = lax.bitcast_convert_type(value, jnp.uint32).reshape(-1)
    changed = bits.at[flip.element].set(bits[flip.element] ^ np.uint32(1 << flip.bit))
    return lax.bitcast_convert_type(changed.reshape(value.shape), jnp.float32)
