"""The JAX side: starts the framework, and loads the implementations under test."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ._platform import start_platform

if TYPE_CHECKING:
    from conformance.sides import Implementation
    from conformance.values.problem import Problem


class JaxSide:
    """The side of the implementations under test, on JAX."""

    array_kind = "jax.Array"

    def start(self, platform: str) -> Mapping[str, Any]:
        """Versions and devices, after JAX has been started on `platform`; safe to call again.

        Raises:
            SideUnavailable: JAX is missing, or is already running on another platform.
            DeviceUnavailable: it has no device of that platform.
        """
        return start_platform(platform)

    def load(self, problem: Problem, source: str | None, returns: Sequence[str] | None) -> Implementation:
        """The implementation of `problem`: the root's own, or that of `source`.

        Raises:
            LoadError: there is no such file, module or function.
            ImplementationFault: its module raised while it was loaded, or it does not take the problem's inputs.
        """
        if "jax" not in sys.modules:
            self.start("cpu")
        from ._evaluation import JaxImplementation
        from ._loading import find_early, load_function
        from ._watching import made, watchable

        before = frozenset(sys.modules)
        count = made["value_and_grad"]
        with watchable():
            loaded = load_function(problem, source)
        made_at_load = made["value_and_grad"] > count
        named = tuple(returns) if returns else None
        return JaxImplementation(problem, loaded, named, find_early(loaded, before), made_at_load=made_at_load)
