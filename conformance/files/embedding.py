"""A module's source with those of the modules beside it that it imports, so that one file can carry all of them."""

from __future__ import annotations

import ast
import tokenize
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from conformance.values.script import Source


def collect_sources(
    name: str, file: Path, folders: Sequence[Path], given: Mapping[str, Path] | None = None
) -> dict[str, Source]:
    """By name: the module `name`, which is `file`, its packages, and what it imports of its author's own.

    Relative imports are looked for beside the file, or in `given` by their bare names; absolute ones in `folders`, the
    first that has them. Anything else is installed, and is left to be imported.

    Raises:
        OSError: a source cannot be read.
        SyntaxError: one is no Python, or is encoded in another way than it says.
    """
    sources: dict[str, Source] = {}
    waiting = [(name, file), *_find_packages(name, file)]
    while waiting:
        found, path = waiting.pop()
        if found in sources:
            continue
        if path is None:
            sources[found] = Source("", "", is_package=True)
            continue
        with tokenize.open(path) as opened:  # heeds a declared encoding, and a mark of UTF-8
            text = opened.read()
        is_package = path.name == "__init__.py"
        sources[found] = Source(text, str(path), is_package)
        for level, module in _imports(text, str(path)):
            if level:
                waiting += _find_relative(found, path, is_package, level, module, given or {})
            else:
                waiting += _find_absolute(module, folders)
    return sources


def find_top(module: str, file: Path) -> Path:
    """The folder that holds the outermost package of a dotted module, whose file is `file`."""
    depth = module.count(".") + (file.name == "__init__.py")
    return file.parents[depth]


def _find_packages(module: str, file: Path) -> Iterator[tuple[str, Path | None]]:
    """The packages around a module, each with its ``__init__.py`` where the folders have the packages' names."""
    folder = file.parent.parent if file.name == "__init__.py" else file.parent
    while "." in module:
        module = module.rpartition(".")[0]
        own = folder / "__init__.py"
        yield module, own if folder.name == module.rpartition(".")[2] and own.is_file() else None
        folder = folder.parent


def _find_relative(
    importer: str, file: Path, is_package: bool, level: int, module: str, given: Mapping[str, Path]
) -> Iterator[tuple[str, Path | None]]:
    package = importer if is_package else importer.rpartition(".")[0]
    for _ in range(level - 1):
        package = package.rpartition(".")[0]
    folder = file.parents[level - 1]
    path = given.get(module) or _find(folder, module)
    if package and path is not None:
        yield f"{package}.{module}", path
        parts = module.split(".")
        for length in range(1, len(parts)):
            inner = ".".join(parts[:length])
            yield f"{package}.{inner}", _find(folder, inner)


def _imports(text: str, file: str) -> Iterator[tuple[int, str]]:
    """The level and the name of every module that could be imported: of ``from a import b`` both a and a.b."""
    for node in ast.walk(ast.parse(text, file)):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield 0, alias.name
        elif isinstance(node, ast.ImportFrom):
            head = node.module or ""
            if head:
                yield node.level, head
            for alias in node.names:
                yield node.level, f"{head}.{alias.name}" if head else alias.name


def _find(folder: Path, module: str) -> Path | None:
    path = folder.joinpath(*module.split("."))
    return next((file for file in (path.with_name(f"{path.name}.py"), path / "__init__.py") if file.is_file()), None)


def _find_absolute(module: str, folders: Sequence[Path]) -> Iterator[tuple[str, Path | None]]:
    """The module and the packages that it is in, from the first folder that has it."""
    parts = module.split(".")
    for folder in folders:
        if _find(folder, module):
            for length in range(1, len(parts) + 1):
                name = ".".join(parts[:length])
                yield name, _find(folder, name)
            return
