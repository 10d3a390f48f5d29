"""What a stand-alone script carries along: it is copied into the script, and needs NumPy and Python's own library."""

from __future__ import annotations

import base64
import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import sys
import types
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

LARGE = 64


def array(text: str, dtype: str, *shape: int) -> Any:
    """The array whose bytes are `text` in base64."""
    return np.frombuffer(base64.b64decode(text), dtype).reshape(shape).copy()


def is_array(value: object) -> bool:
    """Whether a leaf is an array."""
    return isinstance(value, np.ndarray)


def named_leaves(node: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """The leaves of dicts, lists and tuples, each with its path."""
    if isinstance(node, dict):
        parts: Any = node.items()  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType] - of any kind
    elif type(node) in (list, tuple):
        parts = enumerate(node)
    else:
        yield path or "output", node
        return
    for name, part in parts:
        yield from named_leaves(part, f"{path}.{name}" if path else str(name))


def rebuild(node: Any, values: Iterator[Any]) -> Any:
    """The same containers with the next of `values` for each leaf."""
    if isinstance(node, dict):
        parts: Any = node  # pyright: ignore[reportUnknownVariableType] - of any kind
        return {name: rebuild(parts[name], values) for name in parts}
    if type(node) in (list, tuple):
        return type(node)(rebuild(part, values) for part in node)
    return next(values)


class Sources(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Imports modules whose source stands in the script: by name a file, whether it is a package, and the text."""

    def __init__(self, sources: Mapping[str, tuple[str, bool, str]]) -> None:
        """The importer of `sources`."""
        self.sources = sources

    def find_spec(self, fullname: str, path: object, target: object = None) -> importlib.machinery.ModuleSpec | None:  # noqa: ARG002 - the protocol's
        """Where a module is, if it is one of these."""
        if fullname not in self.sources:
            return None
        return importlib.util.spec_from_loader(fullname, self, is_package=self.sources[fullname][1])

    def exec_module(self, module: types.ModuleType) -> None:
        """Runs a module's source."""
        file, _, text = self.sources[module.__name__]
        exec(compile(text, file or module.__name__, "exec"), vars(module))  # noqa: S102 - what the script is for


class _Anything:
    @classmethod
    def named(cls, name: str) -> _Anything:
        if name.startswith("__"):
            raise AttributeError(name)
        return cls()

    def __getitem__(self, _: object) -> type:
        return object


def provide_annotations() -> None:
    """Makes ``import jaxtyping`` work without it: shapes in annotations, by which nothing is checked here."""
    if importlib.util.find_spec("jaxtyping") is None:
        module = types.ModuleType("jaxtyping")
        module.__dict__["__getattr__"] = _Anything.named
        sys.modules["jaxtyping"] = module


def report(got: Mapping[str, Any], value: Mapping[str, Any], sigma: Mapping[str, Any], limit: float, note: str) -> int:
    """1 where an element's z is above the limit, else 0, after all were printed, of a large array the worst."""
    wrong = 0
    for quantity, expected in value.items():
        if quantity not in got or np.shape(got[quantity]) != np.shape(expected):
            print(f"{quantity}: nothing comparable was returned")
            wrong += 1
            continue
        spread = sigma.get(quantity, np.zeros(np.shape(expected)))
        with np.errstate(all="ignore"):
            error = np.abs(np.asarray(got[quantity], np.float64) - expected)
            z = np.where(error == 0, 0.0, error / spread)
        z = np.where(np.isnan(z), np.inf, z)
        wrong += int(np.sum(~(z <= limit)))
        worst = np.unravel_index(int(np.argmax(z)), z.shape)
        for index in np.ndindex(z.shape) if z.size <= LARGE else [tuple(map(int, worst))]:
            name = quantity + (f"[{','.join(map(str, index))}]" if index else "")
            print(
                f"{name:<16} got {got[quantity][index]:<16.9g} oracle {expected[index]!s:<24} "
                f"sigma {spread[index]:<10.3g} z {z[index]:.3g}"
            )
    print(f"{wrong} wrong (z above {limit:g})" if wrong else f"all agree (z up to {limit:g})")
    if note:
        print(note)
    return 1 if wrong else 0
