"""Generated case files: their cases, from the recipe that the file holds."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from conformance.errors import FileFault, InputFault
from conformance.files.case_writer import render_cases
from conformance.files.document import Document, describe
from conformance.files.positions import JsonPath
from conformance.generation.drawing import RecipeFault
from conformance.generation.recipe import expand
from conformance.values.kinds import is_dict, is_list
from conformance.values.problem import Problem

RECIPE: JsonPath = ("origin", "recipe")
_TOLD = 3
"""Of a recipe's faults, which are often all alike."""
MOST_BYTES = 256 * 1024
"""A file that would be larger than this keeps its recipe alone."""


def is_generated(document: Document) -> bool:
    """Whether the file says that its cases are generated, and how."""
    node = document.value
    origin = node.get("origin") if is_dict(node) else None
    return is_dict(origin) and origin.get("kind") == "generated" and is_dict(origin.get("recipe"))


def expand_document(document: Document, problem: Problem) -> Document:
    """The document with the cases of its recipe, which has the form that the schema demands.

    Raises:
        InputFault: the problem cannot carry the recipe out.
    """
    text = _expand(document, problem)
    filled = _with_cases(document, text).decode()
    return Document(document.file, filled, {**document.value, "cases": json.loads(text)})


def fill_in(document: Document, problem: Problem) -> bytes:
    """The document's bytes with the cases of its recipe in place of its own; all else stays as it is written.

    Raises:
        InputFault: the problem cannot carry the recipe out.
    """
    return _with_cases(document, _expand(document, problem))


def leave_out(document: Document) -> bytes:
    """The document's bytes without its cases."""
    data = document.text.encode()
    if "cases" not in document.value:
        return data
    names = list(document.value)
    start, end = document.key_span(("cases",))
    index = names.index("cases")
    if index + 1 < len(names):
        return data[:start] + data[document.key_span((names[index + 1],))[0] :]
    return data[: document.key_span((names[index - 1],))[1]] + data[end:]


def blame_recipe(document: Document, faults: Iterable[FileFault]) -> Iterator[FileFault]:
    """Faults of cases that the file does not hold, as faults of the recipe that they come from."""
    told = list(faults)
    for fault in told[:_TOLD]:
        yield document.fault(RECIPE, f"makes a case with a fault: {fault.path}: {fault.message}")
    if len(told) > _TOLD:
        yield document.fault(RECIPE, f"makes cases with {len(told) - _TOLD} faults more")


def check_regenerated(document: Document, problem: Problem) -> Iterator[FileFault]:
    """Where the cases that the file holds differ from those of its recipe.

    Raises:
        InputFault: the problem cannot carry the recipe out.
    """
    wanted = json.loads(_expand(document, problem))
    if "cases" in document.value:
        yield from _differences(document, ("cases",), document.value["cases"], wanted)


def _expand(document: Document, problem: Problem) -> str:
    try:
        return render_cases(expand(problem, document.value["origin"]["recipe"]))
    except RecipeFault as error:
        raise InputFault(document.fault((*RECIPE, *error.path), error.message)) from None


def _differences(document: Document, path: JsonPath, found: Any, wanted: Any) -> Iterator[FileFault]:
    if is_dict(found) and is_dict(wanted) and found.keys() == wanted.keys():
        for name, child in found.items():
            yield from _differences(document, (*path, name), child, wanted[name])
    elif is_list(found) and is_list(wanted) and len(found) == len(wanted):
        for index, child in enumerate(found):
            yield from _differences(document, (*path, index), child, wanted[index])
    elif _spell(found) != _spell(wanted):
        yield document.fault(path, f"found {describe(found)}, wanted {describe(wanted)}, which the recipe gives")


def _spell(node: Any) -> str:
    """The value so that 1 and 1.0 are alike, and 0.0 and -0.0 are not, nor 1 and true."""
    if isinstance(node, float) and node.is_integer() and repr(node) != "-0.0":
        return repr(int(node))
    return repr(node)


def _with_cases(document: Document, text: str) -> bytes:
    data = document.text.encode()
    if b"\r\n" in data:
        text = text.replace("\n", "\r\n")
    if "cases" in document.value:
        start, end = document.span(("cases",))
        return data[:start] + text.encode() + data[end:]
    _, end = document.key_span((list(document.value)[-1],))
    newline = "\r\n" if b"\r\n" in data else "\n"
    return data[:end] + f',{newline}  "cases": {text}'.encode() + data[end:]
