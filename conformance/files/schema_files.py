"""The JSON Schemas that editors use, in ``cases/schema``: written from the problems, and checked against them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from conformance.errors import FileFault, InputFault
from conformance.files.case_schema import create_case_schema
from conformance.files.document import show
from conformance.files.editor_schema import add_domain
from conformance.files.problem_file import SCHEMAS, ProblemFolder
from conformance.files.replacing import replace_file
from conformance.files.schemas import load_schema

CASE = "case.schema.json"
PROBLEM = "problem.schema.json"


def create_schema_files(problems: ProblemFolder) -> dict[str, str]:
    """The text of each schema by its file's name: one of problem files, one a problem, and one that chooses by problem.

    Raises:
        InputFault: a problem.json is wrong.
    """
    texts = {PROBLEM: _render(load_schema("problem").node)}
    branches: list[dict[str, Any]] = []
    for name in problems.names:
        problem = problems(name)
        schema = add_domain(create_case_schema(problem).node, problem)
        texts[f"{name}.schema.json"] = _render({**schema, "title": f"A case file of {name}"})
        chosen = {"properties": {"problem": {"const": name}}, "required": ["problem"]}
        branches.append({"if": chosen, "then": {"$ref": f"{name}.schema.json"}})
    frame = load_schema("case").node
    texts[CASE] = _render(
        {
            "$schema": frame["$schema"],
            "title": "A case file, of the problem that it names",
            "type": "object",
            "required": ["version", "problem", "origin"],
            "properties": {
                **{name: frame["properties"][name] for name in ("version",)},
                "problem": {"enum": problems.names, "description": "The name of a problem."},
            },
            "allOf": branches,
        }
    )
    return texts


def write_schema_files(problems: ProblemFolder) -> list[Path]:
    """The schemas that were not what the problems give, and now are.

    Raises:
        InputFault: a problem.json is wrong.
        UsageError: a file cannot be written.
    """
    folder = problems.root / "cases" / SCHEMAS
    folder.mkdir(exist_ok=True)
    changed: list[Path] = []
    for name, text in create_schema_files(problems).items():
        file = folder / name
        if not _holds(file, text):
            replace_file(file, text.encode())
            changed.append(file)
    return changed


def check_schema_files(problems: ProblemFolder) -> Iterator[FileFault]:
    """The schemas that exist, and are not what the problems give; nothing where a problem is wrong itself."""
    try:
        texts = create_schema_files(problems)
    except InputFault:
        return
    for name, text in texts.items():
        file = problems.root / "cases" / SCHEMAS / name
        if file.exists() and not _holds(file, text):
            message = "found a schema that the problems do not give, wanted it written again: conformance schema"
            yield FileFault(show(file), 1, 1, "$", message)


def _holds(file: Path, text: str) -> bool:
    return file.is_file() and file.read_bytes() == text.encode()


def _render(node: Mapping[str, Any]) -> str:
    return json.dumps(node, indent=2, ensure_ascii=False) + "\n"
