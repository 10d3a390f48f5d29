"""The cases of a file, checked against their problem."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from conformance.errors import FileFault, InputFault, UnknownProblem
from conformance.files.case_reader import CaseReader
from conformance.files.case_schema import load_case_schema
from conformance.files.content_hash import hash_content
from conformance.files.document import Document, load_document, show
from conformance.files.generated import RECIPE, blame_recipe, expand_document, is_generated
from conformance.files.positions import element_offsets
from conformance.files.schemas import load_schema
from conformance.files.stacks import read_contents
from conformance.values.case import Case, Rounding
from conformance.values.kinds import is_dict
from conformance.values.problem import Problem


def load_cases(file: Path, problem_of: Callable[[str], Problem]) -> list[Case]:
    """The cases in `file`, in its order; `problem_of` hands out the problem that the file names.

    Raises:
        InputFault: the file cannot be read, or is not what the format demands, or its problem is wrong; all is told.
    """
    document = load_document(file)
    problem = load_problem_of(document, problem_of)
    faults = [*document.faults, *load_case_schema(problem).check(document)]
    faults += _check_place(document, problem)
    if not faults and "cases" not in document.value:
        return read_expanded(document, problem)
    if not isinstance(document.value.get("cases"), list):
        raise InputFault(*sorted(faults))
    return _read_cases(document, problem, faults)


def read_expanded(document: Document, problem: Problem) -> list[Case]:
    """The cases of a document that holds a recipe alone; they stand where the recipe does.

    Raises:
        InputFault: the problem cannot carry the recipe out, or it makes cases that are wrong.
    """
    expanded = expand_document(document, problem)
    try:
        cases = _read_cases(expanded, problem, load_case_schema(problem).check(expanded))
    except InputFault as error:
        raise InputFault(*blame_recipe(document, error.faults)) from None
    line, _ = document.locate(RECIPE)
    return [replace(case, line=line) for case in cases]


def _read_cases(document: Document, problem: Problem, faults: list[FileFault]) -> list[Case]:
    """The cases of a document, of which `faults` are known."""
    node: Mapping[str, Any] = document.value
    reader = CaseReader(document, problem, faults)
    if faults:
        read = [reader.read(index, case) for index, case in enumerate(node["cases"])]
    else:
        read = read_contents(reader, problem, node["cases"])
    faults = [*faults, *reader.faults, *_check_names(document, node["cases"]), *_check_generated(document)]
    if faults:
        raise InputFault(*sorted(faults))
    rounding = _rounding(node)
    lines = _lines(document.text, element_offsets(document.text, "cases"))
    return [
        Case(
            name=case["name"],
            why=case.get("why", ""),
            problem=problem,
            group=document.file.stem,
            inputs=content.inputs,
            dims=content.dims,
            expected=content.expected,
            rounding=rounding if content.expected is not None else None,
            uninformative=frozenset(case.get("uninformative", ())),
            allow_ties="ties" in case,
            origin=node["origin"],
            content_hash=hash_content(problem.name, content, rounding, case),
            file=document.file,
            line=line,
        )
        for case, content, line in zip(node["cases"], read, lines, strict=True)
    ]


def load_case_files(files: Sequence[Path], problem_of: Callable[[str], Problem]) -> list[Case]:
    """The cases of several files, in order.

    Raises:
        InputFault: any of the files is wrong, or two cases have the same id; the faults of all files are told.
    """
    cases: list[Case] = []
    faults: dict[FileFault | str, None] = {}
    for file in files:
        try:
            cases += load_cases(file, problem_of)
        except InputFault as error:
            faults.update(dict.fromkeys(error.faults or (str(error),)))
    faults.update(dict.fromkeys(check_ids(cases)))
    if faults:
        raise InputFault(*faults)
    return cases


def check_ids(cases: Sequence[Case]) -> Iterator[FileFault]:
    """The cases whose id another file's case has too."""
    first: dict[str, Case] = {}
    for case in cases:
        other = first.setdefault(case.id, case)
        if other is not case:
            message = (
                f"found the case {case.id}, which {show(other.file)}:{other.line} has too; wanted another file name"
            )
            yield FileFault(show(case.file), case.line, 1, "$.cases", message)


def load_problem_of(document: Document, problem_of: Callable[[str], Problem]) -> Problem:
    """The problem that a case file names.

    Raises:
        InputFault: there is no such problem, or it is wrong itself, or the document is no case file at all.
    """
    node = document.value
    name = node.get("problem") if is_dict(node) else None
    faults = [*document.faults]
    if isinstance(name, str):
        try:
            return problem_of(name)
        except UnknownProblem as error:
            faults.append(document.fault(("problem",), str(error)))
    raise InputFault(*sorted([*faults, *load_schema("case").check(document)]))


def _check_place(document: Document, problem: Problem) -> Iterator[FileFault]:
    file, cases = document.file.resolve(), problem.root / "cases"
    if not set("[]").isdisjoint(file.name) or "::" in file.name:
        message = (
            f"found the file name {show(Path(file.name))}, wanted one without '::', '[' and ']': test ids have them"
        )
        yield document.fault((), message)
    if file.is_relative_to(cases) and file.parent != cases / problem.name:
        message = f"found {problem.name!r} in a file in {show(file.parent)}, wanted it in {show(cases / problem.name)}"
        yield document.fault(("problem",), message)


def _check_names(document: Document, cases: Sequence[Any]) -> Iterator[FileFault]:
    first: dict[str, int] = {}
    for index, case in enumerate(cases):
        name = case.get("name") if is_dict(case) else None
        if isinstance(name, str) and first.setdefault(name, index) != index:
            message = f"found {name!r} again, wanted a name of its own ($.cases[{first[name]}] has it)"
            yield document.fault(("cases", index, "name"), message)


def _check_generated(document: Document) -> Iterator[FileFault]:
    if not is_generated(document):
        return
    for index, case in enumerate(document.value["cases"]):
        if is_dict(case) and "expected" in case:
            message = "found expected values in a generated file, wanted none: the recipe gives inputs alone"
            yield document.key_fault(("cases", index, "expected"), message)


def _rounding(node: Mapping[str, Any]) -> Rounding | None:
    return next((Rounding(kind, int(count)) for kind, count in node.get("rounding", {}).items()), None)


def _lines(text: str, offsets: Sequence[int]) -> Iterator[int]:
    line, before = 1, 0
    for offset in offsets:
        line += text.count("\n", before, offset)
        before = offset
        yield line
