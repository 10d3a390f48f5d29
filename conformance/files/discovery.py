"""Which case files a command is about, and in which root."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from conformance.errors import NotProven, UsageError
from conformance.files.case_file import load_case_files
from conformance.files.document import show
from conformance.files.problem_file import FILE, ProblemFolder
from conformance.files.schemas import sample
from conformance.values.case import Case

_NODE = re.compile(r"(?P<file>.+\.json)::(?P<name>[^\[\]]+)(?P<placement>\[[^\[\]]*\])?")
_ID = re.compile(r"(?P<problem>[a-z][a-z0-9_]*)/(?P<group>[^/]+)/(?P<name>[^/]+)")


@dataclass(frozen=True, slots=True)
class Selection:
    """Cases, by the argument that makes pytest collect them: a file, or ``file::name``."""

    chosen: tuple[tuple[str, tuple[Case, ...]], ...]

    @property
    def cases(self) -> tuple[Case, ...]:
        """All selected cases, in order."""
        return tuple(case for _, cases in self.chosen for case in cases)

    @property
    def pytest_arguments(self) -> list[str]:
        """What pytest is given to collect them."""
        return [argument for argument, _ in self.chosen]

    def of_problem(self, name: str) -> Selection:
        """The selected cases of one problem."""
        return Selection(tuple((argument, cases) for argument, cases in self.chosen if cases[0].problem.name == name))


def find_root(root: Path | None = None, paths: Sequence[str] = ()) -> Path:
    """The given `root`, or the nearest one upward from the first of `paths` that exists, or from the current directory.

    A root is a folder with problems in it: ``cases/*/problem.json``.

    Raises:
        UsageError: there is none.
    """
    if root is not None:
        if not _is_root(root):
            raise UsageError(
                f"reading --root {root}: found no cases/*/{FILE} there; wanted a folder with problems in it"
            )
        return root.resolve()
    here = Path.cwd()
    starts = [path for path in (Path(text.split("::")[0]) for text in paths) if path.exists()]
    for start in (*starts[:1], here):
        for folder in (start.resolve(), *start.resolve().parents):
            if _is_root(folder):
                return folder
    raise UsageError(
        f"looking for a root: found no cases/*/{FILE} in {here} or above; wanted a folder with problems in it. "
        "Change to it, or name it with --root DIR."
    )


def find_case_files(root: Path, paths: Sequence[str | Path] = ()) -> list[Path]:
    """The case files of the root, or those that `paths` (files and folders, inside the root or not) name; sorted.

    Raises:
        UsageError: a path does not exist, or is a file that cannot be a case file.
        NotProven: a folder has no case file in it.
    """
    files: dict[Path, None] = {}
    for path in [Path(path) for path in paths] or [root / "cases"]:
        if path.is_dir():
            inside = _files_in(path, root)
            if not inside:
                raise NotProven(
                    f"looking for case files in {show(path)}: found none, wanted *.json; nothing was verified"
                )
            files.update(dict.fromkeys(inside))
        elif not path.exists():
            raise UsageError(
                f"looking for case files: {show(path)} does not exist; wanted a file, a folder or a case id"
            )
        else:
            files[path.resolve()] = None
    return sorted(files)


def find_selection(root: Path, arguments: Sequence[str] = ()) -> Selection:
    """The cases that `arguments` name: files, folders, case ids ``problem/group/name`` and pytest node ids.

    Raises:
        UsageError: an argument names nothing that exists.
        InputFault: a file is wrong; the faults of all files are told.
        NotProven: a folder has no case file in it.
    """
    chosen: dict[Path, dict[str, None] | None] = {}
    for argument in arguments or [str(root / "cases")]:
        single = _find_single(root, argument)
        if single is None:
            chosen.update(dict.fromkeys(find_case_files(root, [argument])))
        else:
            file, name = single
            names = chosen.setdefault(file, {})
            if names is not None:
                names[name] = None
    cases = load_case_files(sorted(chosen), ProblemFolder(root))
    selected: list[tuple[str, tuple[Case, ...]]] = []
    for file in sorted(chosen):
        inside = [case for case in cases if case.file == file]
        names = chosen[file]
        if names is None:
            selected.append((str(file), tuple(inside)))
            continue
        for name in names:
            bare = name.split("[")[0]
            fitting = tuple(case for case in inside if case.name == bare)
            if not fitting:
                known = sample([case.name for case in inside], bare)
                raise UsageError(
                    f"looking for the case {bare!r} in {show(file)}: it is not there; wanted one of {known}"
                )
            selected.append((f"{file}::{name}", fitting))
    return Selection(tuple(selected))


def _find_single(root: Path, argument: str) -> tuple[Path, str] | None:
    """File and name of the one case that a node id or case id names; None for a file or folder."""
    node = _NODE.fullmatch(argument)
    if node:
        for file in (Path(node["file"]), root / node["file"]):
            if file.is_file():
                return file.resolve(), node["name"] + (node["placement"] or "")
        raise UsageError(f"looking for the case {argument}: {node['file']} does not exist; wanted a case file")
    identifier = _ID.fullmatch(argument)
    if identifier and not Path(argument).exists():
        file = root / "cases" / identifier["problem"] / f"{identifier['group']}.json"
        if file.is_file():
            return file.resolve(), identifier["name"]
    return None


def _is_root(folder: Path) -> bool:
    return any((folder / "cases").glob(f"*/{FILE}"))


def _files_in(folder: Path, root: Path) -> list[Path]:
    schemas = (root / "cases" / "schema").absolute()
    return sorted(
        _resolve(file)
        for file in folder.absolute().rglob("*.json")
        if file.name != FILE
        and not (schemas in file.parents and file.name.endswith(".schema.json"))
        and not file.is_dir()
    )


def _resolve(file: Path) -> Path:
    """The file that a link leads to; the link itself where it leads nowhere, so that it is told and not passed over."""
    try:
        return file.resolve(strict=True)
    except (OSError, RuntimeError):
        return file
