"""Where a user's imports are looked for: in their own folders before anything that is installed."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType

_PACKAGES = ("jax_impl", "torch_oracle")


class RootFinder:
    """Finds the packages of the root in use.

    The engine is installed with packages of the same names, and Python prefers a package that has an ``__init__.py``,
    wherever it is on the path, to a folder that has none.
    """

    def __init__(self, root: Path) -> None:
        self.root = root

    def find_spec(
        self, name: str, _path: Sequence[str] | None = None, _target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The root's own package called `name`, or None for every other module."""
        folder = self.root / name
        if name not in _PACKAGES or not folder.is_dir():
            return None
        if (folder / "__init__.py").is_file():
            return importlib.util.spec_from_file_location(
                name, folder / "__init__.py", submodule_search_locations=[str(folder)]
            )
        spec = ModuleSpec(name, None, is_package=True)
        spec.submodule_search_locations = [str(folder)]
        return spec


def put_first(root: Path, *folders: Path) -> None:
    """Make the packages of `root`, and modules in it and in `folders`, importable before all others.

    This holds for as long as the process lives, since a function may import when it is called.
    """
    root = root.resolve()
    wanted = list(dict.fromkeys([*(str(folder.resolve()) for folder in folders), str(root), str(Path.cwd())]))
    sys.path[:] = wanted + [entry for entry in sys.path if entry not in wanted]
    others = [finder for finder in sys.meta_path if not isinstance(finder, RootFinder)]
    sys.meta_path[:] = [RootFinder(root), *others]
    for package in _PACKAGES:
        if package in sys.modules and list(getattr(sys.modules[package], "__path__", [])) != [str(root / package)]:
            _forget(package)
    importlib.invalidate_caches()


def _forget(package: str) -> None:
    """Have a package of another root found anew; who has imported it keeps it."""
    for name in [name for name in sys.modules if f"{name}.".startswith(f"{package}.")]:
        del sys.modules[name]
