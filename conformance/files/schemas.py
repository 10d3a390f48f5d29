"""The formats' JSON Schemas, and what they find wrong in plain words."""

from __future__ import annotations

import difflib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from jsonschema_rs import Draft202012Validator, ValidationError

from conformance.errors import FileFault, InputFault
from conformance.files.document import Document, describe, printable, too_deep
from conformance.files.positions import JsonPath

_SHOWN = 6
"""So many of a long list of names are told."""
_TYPES = {
    "number": "a number",
    "integer": "an integer",
    "string": "a string",
    "boolean": "true or false",
    "array": "an array",
    "object": "an object",
    "null": "null",
}


@dataclass(frozen=True, eq=False, slots=True)
class Schema:
    """A JSON Schema, ready to check documents."""

    node: Mapping[str, Any]
    validator: Draft202012Validator

    def check(self, document: Document) -> list[FileFault]:
        """All that is wrong in the document's structure; nothing where a fault of the document itself stands.

        Raises:
            InputFault: the document nests too deep to be checked.
        """
        try:
            if self.validator.is_valid(document.value):
                return []
            errors = list(self.validator.iter_errors(document.value))
        except ValueError:
            # The validator has a limit of its own, well above what any case needs.
            raise InputFault(too_deep(document.file)) from None
        return list(dict.fromkeys(fault for error in errors for fault in self._faults(document, error)))

    def _faults(self, document: Document, error: ValidationError) -> list[FileFault]:
        path: JsonPath = tuple(error.instance_path)
        if _is_refused(document.value, path):
            return []
        where: Any = self.node
        for step in error.schema_path[:-1]:
            where = where[step]
        details: Mapping[str, Any] = error.kind.as_dict()
        name = error.kind.name
        if name == "additionalProperties":
            known = list(where["properties"])
            return [document.key_fault((*path, key), unknown_key(key, known)) for key in details["unexpected"]]
        if name == "propertyNames":
            key = details["error"].instance
            return [
                document.key_fault(
                    (*path, key), f"found the key {json.dumps(key)}, wanted {_wanted_name(self.node, where)}"
                )
            ]
        return [document.fault(path, _message(name, details, where, error.instance))]


def _is_refused(node: Any, path: JsonPath) -> bool:
    """Whether the value at `path` stands for a number that the document refused already."""
    for step in path:
        node = node[step]
    return isinstance(node, float) and math.isnan(node)


def create_schema(node: Mapping[str, Any]) -> Schema:
    """The schema that `node` describes."""
    return Schema(node, Draft202012Validator(dict(node)))


@cache
def load_schema(name: str) -> Schema:
    """The shipped schema of a format: ``case`` or ``problem``."""
    return create_schema(json.loads((files("conformance") / "schema" / f"{name}.schema.json").read_text("utf-8")))


def unknown_key(key: str, known: Sequence[str]) -> str:
    """What is said of a key that no format knows, with the nearest known one."""
    return f"found the unknown key {json.dumps(key)}, wanted {choice(known)}{suggest(key, known)}"


def choice(names: Sequence[object]) -> str:
    """The names, as one of which one is to be chosen."""
    words = [name if isinstance(name, str) else json.dumps(name) for name in names]
    return " or ".join(filter(None, (", ".join(words[:-1]), words[-1]))) if words else "none"


def sample(names: Sequence[str], name: str = "") -> str:
    """A few of many names, those first that are nearest to `name`, and how many more there are."""
    near = difflib.get_close_matches(name, names, _SHOWN) if name else []
    shown = list(dict.fromkeys([*near, *names]))[:_SHOWN]
    more = len(names) - len(shown)
    return ", ".join(shown) + (f" and {more} more" if more > 0 else "")


def suggest(name: str, known: Sequence[str]) -> str:
    """The nearest known name as a question, or nothing where none is near."""
    near = difflib.get_close_matches(name, known, 1)
    return f"; did you mean {near[0]}?" if near else ""


def _wanted_name(root: Mapping[str, Any], where: Mapping[str, Any]) -> str:
    return str(where.get("description") or root["$defs"]["name"]["description"])


def _message(name: str, details: Mapping[str, Any], where: Mapping[str, Any], found: Any) -> str:
    described = str(where.get("description", ""))
    if name == "required":
        missing = details["property"]
        return (
            f"found no key {json.dumps(missing)}, wanted it beside {printable(choice(list(found)))}"
            if found
            else f"found no key {json.dumps(missing)}, wanted it"
        )
    if name == "type":
        types: list[str] = details["types"]
        wanted = where.get("wanted") or choice([_TYPES[name] for name in types])
        return f"found {describe(found)}, wanted {wanted}"
    if name == "enum":
        near = suggest(found, where["enum"]) if isinstance(found, str) else ""
        return f"found {describe(found)}, wanted {choice(where['enum'])}{near}"
    wanted = {
        "const": lambda: json.dumps(where["const"]),
        "pattern": lambda: described,
        "not": lambda: described,
        "minLength": lambda: "a text that is not empty",
        "uniqueItems": lambda: "each item once",
        "minimum": lambda: f"at least {where['minimum']}",
        "exclusiveMinimum": lambda: f"more than {where['exclusiveMinimum']}",
        "maximum": lambda: f"at most {where['maximum']}",
        "minItems": lambda: f"at least {where['minItems']}",
        "maxItems": lambda: f"at most {where['maxItems']}",
        "minProperties": lambda: f"at least {where['minProperties']} key",
        "maxProperties": lambda: f"at most {where['maxProperties']} key",
    }[name]()
    return f"found {describe(found)}, wanted {wanted}"
