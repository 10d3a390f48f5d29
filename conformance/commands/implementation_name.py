"""What ``--impl`` names: a file or a dotted module, with the function's name behind a colon."""

from __future__ import annotations

import ast
import re
from pathlib import Path

from conformance.errors import UsageError
from conformance.files.discovery import Selection

DEFAULT = "evaluate"
_MODULE = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*")


def split_name(implementation: str) -> tuple[str, str]:
    """The file or module, and the function's name: ``my.py:loss`` is ``("my.py", "loss")``."""
    source, colon, name = implementation.rpartition(":")
    return (source, name) if colon and name.isidentifier() else (implementation, DEFAULT)


def resolve_implementation(implementation: str) -> str:
    """The same implementation, a file's path made absolute.

    Raises:
        UsageError: it is neither a file that exists nor the name of a module.
    """
    source, name = split_name(implementation)
    path = Path(source)
    if path.is_file():
        return f"{path.resolve()}:{name}"
    package = not path.is_dir() or (path / "__init__.py").is_file()
    if path.suffix != ".py" and package and _MODULE.fullmatch(source):
        return f"{source}:{name}"
    what = "is a folder" if path.is_dir() else "does not exist"
    raise UsageError(
        f"reading --impl {implementation}: {source} {what}; wanted a Python file, such as my.py or my.py:loss, "
        "or a dotted module, such as mypkg.mod:loss"
    )


def repeat_options(root: Path | None, implementation: str | None, returns: str | None) -> list[str]:
    """The options that a command needs to run a case again as it was run."""
    given = (("--root", root), ("--impl", implementation), ("--returns", returns))
    return [part for name, value in given if value for part in (name, str(value))]


def choose_problem(selection: Selection, implementation: str) -> Selection:
    """The selection's cases of the one problem that `implementation` is for.

    Where cases of several problems are selected, it is the one whose inputs are the function's parameters, by name and
    order, or whose name is the file's.

    Raises:
        UsageError: that leaves none, or more than one.
    """
    problems = {case.problem.name: case.problem for case in selection.cases}
    if len(problems) <= 1:
        return selection
    source, name = split_name(implementation)
    parameters = _parameters(Path(source), name)
    fitting = [problem for problem in problems if problem == Path(source).stem] or [
        problem for problem, declared in problems.items() if list(declared.inputs) == parameters
    ]
    if len(fitting) == 1:
        return selection.of_problem(fitting[0])
    raise UsageError(
        f"choosing cases for --impl {implementation}: cases of {len(problems)} problems are selected "
        f"({', '.join(problems)}), and the function is for one; name its cases, such as cases/{next(iter(problems))}"
    )


def _parameters(path: Path, name: str) -> list[str] | None:
    """The names of a function's parameters, read from its file without running it."""
    try:
        tree = ast.parse(path.read_text(encoding="utf-8"))
    except (OSError, SyntaxError, ValueError):
        return None
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and node.name == name:
            return [argument.arg for argument in (*node.args.posonlyargs, *node.args.args)]
    return None
