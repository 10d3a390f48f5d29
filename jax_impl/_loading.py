"""Functions under test, loaded from a root's folder, a file or a dotted module."""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import inspect
import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from conformance.errors import ImplementationFault, LoadError
from conformance.values.problem import Problem

from ._frames import UserCode
from ._script import Origin
from ._search_path import put_first

_FOLDER = "jax_impl"
_DEFAULT = "evaluate"
_LOADED: set[str] = set()
"""The modules that a load of ours has imported: their calls can be watched."""


@dataclass(frozen=True, slots=True)
class Loaded:
    """A function under test, which files are its author's, and where it came from."""

    function: Callable[..., Any]
    user: UserCode
    origin: Origin


def load_function(problem: Problem, source: str | None) -> Loaded:
    """The function that implements `problem`.

    Raises:
        LoadError: there is no such file, module or function.
        ImplementationFault: the module raised while it was loaded, or the function does not take the problem's inputs.
    """
    name, path = _DEFAULT, problem.root / _FOLDER / f"{problem.name}.py"
    doing = f"loading the implementation of {problem.name}"
    if source is not None:
        doing = f"{doing} from {source}"
        head, colon, tail = source.rpartition(":")
        module_name, name = (head, tail) if colon and tail.isidentifier() else (source, _DEFAULT)
        path = Path(module_name)
        if path.suffix != ".py" and "/" not in module_name and not path.is_file():
            put_first(problem.root)
            module, user = _import_dotted(module_name, problem, doing)
            function = _find(module, name, problem, user, doing)
            return Loaded(function, user, Origin(Path(str(module.__file__)), module_name, name))
    if not path.is_file():
        raise LoadError(
            f"{doing}: {path} is not there; wanted a module with a function {name}({', '.join(problem.inputs)}). "
            "Add it, or correct the path."
        )
    path = path.resolve()
    put_first(problem.root, *([path.parent] if source is not None else []))
    user = UserCode(path.parent, problem.root.resolve())
    return Loaded(_find(_execute(path, user, doing), name, problem, user, doing), user, Origin(path, None, name))


def find_early(loaded: Loaded, before: frozenset[str]) -> tuple[str, ...]:
    """The modules of the author that a loaded function uses and that were imported `before` it was, not by a load."""
    _LOADED.update(set(sys.modules) - before)
    scope: dict[str, Any] = getattr(inspect.unwrap(loaded.function), "__globals__", {})
    used = {_module_of(value) for value in (loaded.function, *scope.values())}
    early = [name for name in used if name in before and name not in _LOADED]
    files = {name: _scope_of(sys.modules[name]).get("__file__") for name in early}
    return tuple(sorted(name for name, file in files.items() if file and loaded.user.is_own(str(file))))


def _module_of(value: Any) -> str:
    """The name of a module, or of that in which a value was defined; a lazy module stays unloaded."""
    if issubclass(type(value), ModuleType):
        return str(_scope_of(value).get("__name__"))
    try:
        return str(getattr(value, "__module__", None))
    except Exception:  # an object of the author's that answers in its own way
        return ""


def _scope_of(module: ModuleType) -> dict[str, Any]:
    return ModuleType.__getattribute__(module, "__dict__")


def _execute(path: Path, user: UserCode, doing: str) -> ModuleType:
    """The module of a file, run afresh under a private name, in a private package that has its siblings."""
    package = f"_conformance_implementation_{hashlib.sha256(str(path.parent).encode()).hexdigest()[:16]}"
    if package not in sys.modules:
        parent = ModuleType(package)
        parent.__path__ = [str(path.parent)]
        sys.modules[package] = parent
    name = f"{package}.{path.stem.replace('.', '_')}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise LoadError(f"{doing}: Python cannot import {path}; wanted a Python file, such as my.py. Rename it.")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("default")
            spec.loader.exec_module(module)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        del sys.modules[name]
        raise user.fault(doing, error) from error
    return module


def _import_dotted(name: str, problem: Problem, doing: str) -> tuple[ModuleType, UserCode]:
    top = name.partition(".")[0]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("default")
            module = importlib.import_module(name)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        missing = error.name if isinstance(error, ModuleNotFoundError) else None
        if missing and f"{name}.".startswith(f"{missing}."):
            raise LoadError(
                f"{doing}: there is no module {missing} in {problem.root}, the current directory or what is installed; "
                "wanted a Python file, such as my.py, or a dotted module, such as mypkg.mod:loss. Correct the name."
            ) from error
        raise _author_of(top, problem).fault(doing, error) from error
    return module, _author_of(top, problem)


def _author_of(package: str, problem: Problem) -> UserCode:
    """Whoever wrote `package`; the root's author where it could not be imported."""
    file = getattr(sys.modules.get(package), "__file__", None)
    root = problem.root.resolve()
    return UserCode(Path(file).resolve().parent if file else root, root)


def _find(module: ModuleType, name: str, problem: Problem, user: UserCode, doing: str) -> Callable[..., Any]:
    where = user.relative(str(module.__file__))
    wanted = f"{name}({', '.join(problem.inputs)})"
    function = getattr(module, name, None)
    if function is None:
        found = [
            other
            for other, value in vars(module).items()
            if callable(value) and not other.startswith("_") and getattr(value, "__module__", "") == module.__name__
        ]
        raise LoadError(
            f"{doing}: {where} has no {name}; found the functions {', '.join(found) or 'none'}; wanted {wanted}. "
            "Define it, or name another one behind a colon."
        )
    if not callable(function):
        raise LoadError(
            f"{doing}: {name} in {where} is of type {type(function).__name__}; wanted a function {wanted}. "
            "Correct it there."
        )
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # a callable written in C has none
        return function
    try:
        signature.bind(*problem.inputs)
    except TypeError as error:
        raise ImplementationFault(
            f"{doing}: {where} has {name}{signature}, which cannot take the {len(problem.inputs)} inputs in order "
            f"({error}); wanted {wanted}. Correct its parameters."
        ) from error
    return function
