"""A module's source with those of the modules beside it that it imports, so that one file can carry all of them."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from conformance.values.script import Source


def collect_sources(
    entry: Path, package: str, folders: Sequence[Path], given: Mapping[str, Path] | None = None
) -> dict[str, Source]:
    """By name: `entry` as a module of `package`, and what it imports from its own folder or from `folders`.

    Relative imports are looked for beside the file, or in `given` by their bare names; absolute ones in `folders`.
    Anything else is installed, and is left to be imported.
    """
    sources: dict[str, Source] = {package: Source("", "", is_package=True)}
    waiting = [(f"{package}.{entry.stem}", entry, entry.parent)]
    while waiting:
        name, file, home = waiting.pop()
        if name in sources and sources[name].text:
            continue
        text = file.read_text(encoding="utf-8")
        is_package = file.name == "__init__.py"
        sources[name] = Source(text, str(file), is_package)
        parent = name if is_package else name.rpartition(".")[0]
        for level, module in _imports(text, str(file)):
            if level:
                within = _climb(parent, level)
                base = file.parent if level == 1 else home.parent
                relative = (given or {}).get(module) or _find(base, module)
                found = [(f"{within}.{module}", relative)] if relative else []
            else:
                found = list(_find_absolute(module, folders))
            waiting += [(found_name, path, path.parent) for found_name, path in found]
    return sources


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


def _climb(package: str, level: int) -> str:
    for _ in range(level - 1):
        package = package.rpartition(".")[0]
    return package


def _find(folder: Path, module: str) -> Path | None:
    path = folder.joinpath(*module.split("."))
    return next((file for file in (path.with_name(f"{path.name}.py"), path / "__init__.py") if file.is_file()), None)


def _find_absolute(module: str, folders: Sequence[Path]) -> Iterator[tuple[str, Path]]:
    """The module and the packages that it is in, from the first folder that has it."""
    parts = module.split(".")
    for folder in folders:
        if _find(folder, module):
            for length in range(1, len(parts) + 1):
                name = ".".join(parts[:length])
                file = _find(folder, name)
                if file:
                    yield name, file
            return
