"""The PyTorch side: starts the framework and loads oracles by file path, under private names."""

from __future__ import annotations

import contextlib
import hashlib
import importlib
import importlib.util
import sys
import traceback
from collections.abc import Generator, Mapping
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from conformance.errors import ConformanceError, LoadError, OracleFault, SideUnavailable

if TYPE_CHECKING:
    from conformance.sides import Oracle
    from conformance.values.problem import Problem

_FOLDER = "torch_oracle"
_ENGINE_MODULES = ("_checkpoint",)
"""The engine's modules that every root's oracle can import as siblings."""


class TorchSide:
    """The side of the oracles, on PyTorch."""

    def start(self, threads: int) -> Mapping[str, Any]:
        """Versions and settings, after PyTorch has been started with `threads` threads; safe to call again.

        Raises:
            SideUnavailable: PyTorch is missing.
        """
        try:
            import torch
        except ImportError as error:
            raise SideUnavailable(
                f"starting the oracle's side: importing torch failed ({error}); wanted torch 2.9 or later. "
                "Install it, for example: pip install torch --index-url https://download.pytorch.org/whl/cpu"
            ) from error
        torch.set_num_threads(threads)
        # PyTorch allows this once, before any parallel work; an earlier caller's setting changes speed, not values.
        with contextlib.suppress(RuntimeError):
            if torch.get_num_interop_threads() != threads:
                torch.set_num_interop_threads(threads)
        torch.set_autocast_enabled("cpu", False)  # noqa: FBT003
        torch.set_float32_matmul_precision("highest")
        return {
            "torch": str(torch.__version__),
            "cuda": torch.version.cuda,
            "threads": torch.get_num_threads(),
            "float32_matmul_precision": torch.get_float32_matmul_precision(),
        }

    def load(self, problem: Problem) -> Oracle:
        """The root's oracle of `problem`, read from ``<root>/torch_oracle/<problem>.py``.

        Raises:
            LoadError: there is no such file, or it has no `evaluate`.
            OracleFault: its module raised while it was loaded.
        """
        if "torch" not in sys.modules:
            self.start(1)
        from ._oracle import TorchOracle

        path = problem.root / _FOLDER / f"{problem.name}.py"
        if not path.is_file():
            raise LoadError(
                f"loading the oracle of {problem.name}: {path} is not there; wanted a module with a function "
                "evaluate(...) that takes the problem's inputs in order. Add it, or correct the root."
            )
        module = _load_module(path, problem.name)
        evaluate = getattr(module, "evaluate", None)
        if not callable(evaluate):
            found = "no evaluate" if evaluate is None else f"evaluate of type {type(evaluate).__name__}"
            raise LoadError(
                f"loading the oracle of {problem.name}: {path} has {found}; wanted a function evaluate("
                f"{', '.join(problem.inputs)}). Define it there."
            )
        return TorchOracle(problem, evaluate, path)


def _private_package(folder: Path) -> str:
    """The name of the private package of `folder`, created when it is first asked for."""
    name = f"_conformance_problem_{hashlib.sha256(str(folder.resolve()).encode()).hexdigest()[:16]}"
    if name not in sys.modules:
        package = ModuleType(name)
        package.__path__ = [str(folder)]
        sys.modules[name] = package
        for own in _ENGINE_MODULES:
            module = importlib.import_module(f".{own}", __package__)
            sys.modules[f"{name}.{own}"] = module
            setattr(package, own, module)
    return name


@contextlib.contextmanager
def _first_on_path(root: Path) -> Generator[None]:
    entry = str(root)
    sys.path.insert(0, entry)
    try:
        yield
    finally:
        with contextlib.suppress(ValueError):
            sys.path.remove(entry)


def _load_module(path: Path, problem: str) -> ModuleType:
    from ._observation import observable_checkpoints

    name = f"{_private_package(path.parent)}.{problem}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise LoadError(f"loading the oracle of {problem}: Python cannot import {path}; wanted a Python module there.")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        with _first_on_path(path.parent.parent), observable_checkpoints():
            spec.loader.exec_module(module)
    except ConformanceError:
        del sys.modules[name]
        raise
    except Exception as error:
        del sys.modules[name]
        frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(path)]
        line = frames[-1].lineno if frames else getattr(error, "lineno", None) or 1
        raise OracleFault(
            f"loading the oracle of {problem}: {path}:{line} raised {type(error).__name__}: {error}; wanted a module "
            "that can be imported. Correct it there."
        ) from error
    return module
