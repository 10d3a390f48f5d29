"""Line and column of a value in JSON text; only needed once there is something wrong to tell."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from tree_sitter import Node

JsonPath: TypeAlias = tuple[str | int, ...]

_PLAIN = re.compile(r"[A-Za-z_$][A-Za-z0-9_$-]*")
_STRING = r'"(?:[^"\\]|\\.)*"'
_UNKNOWN_NUMBER = re.compile(rf"{_STRING}|NaN|Infinity|[eE]\+(?=[0-9])".encode(), re.DOTALL)
_BETWEEN = re.compile(r"[ \t\n\r,:]*")
_TOKEN = re.compile(rf"{_STRING}|[\[\]{{}},:]", re.DOTALL)


def render_path(path: JsonPath) -> str:
    """The path as people write it: ``$.cases[2].inputs.x[1][0]``."""
    text = "$"
    for step in path:
        if isinstance(step, int):
            text += f"[{step}]"
        else:
            text += f".{step}" if _PLAIN.fullmatch(step) else f"[{json.dumps(step)}]"
    return text


def line_and_column(text: str, offset: int) -> tuple[int, int]:
    """Line and column of a character of `text`, both counted from 1."""
    return text.count("\n", 0, offset) + 1, offset - text.rfind("\n", 0, offset)


def open_path(text: str, offset: int) -> JsonPath:
    """The path of what is being written at `offset`, in text that need not be JSON from there on."""
    stack: list[str | int | None] = []
    last = ""
    for match in _TOKEN.finditer(text, 0, offset):
        mark = match[0]
        inner = stack[-1] if stack else None
        if mark in "[{":
            stack.append(0 if mark == "[" else None)
        elif mark in "]}":
            del stack[-1:]
        elif mark == "," and stack:
            stack[-1] = inner + 1 if isinstance(inner, int) else None
        elif mark == ":" and stack and not isinstance(inner, int):
            stack[-1] = last[1:-1]
        elif mark[0] == '"':
            last = mark
    return tuple(step for step in stack if step is not None)


def element_offsets(text: str, key: str) -> list[int]:
    """Where each element of the array under a top-level `key` begins, in text that is known to be JSON."""
    decode = json.JSONDecoder().raw_decode
    at = _next(text, text.index("{") + 1)
    while text[at] != "}":
        name, at = decode(text, at)
        at = _next(text, at)
        if name != key or text[at] != "[":
            at = _next(text, decode(text, at)[1])
            continue
        offsets: list[int] = []
        at = _next(text, at + 1)
        while text[at] != "]":
            offsets.append(at)
            at = _next(text, decode(text, at)[1])
        return offsets
    return []


def _next(text: str, at: int) -> int:
    """The offset of the next value, key or closing bracket from `at` on."""
    match = _BETWEEN.match(text, at)
    return match.end() if match else at


class Positions:
    """Where the values and keys of a JSON text stand."""

    def __init__(self, text: str) -> None:
        """The positions in `text`, which `json.loads` has accepted."""
        # Imported here: only a file with a fault needs a syntax tree.
        from tree_sitter import Language, Parser
        from tree_sitter_json import language

        self._data = text.encode()
        self._ascii = self._data.isascii()
        self._tree = Parser(Language(language())).parse(_UNKNOWN_NUMBER.sub(_known_number, self._data))
        self._nodes: dict[JsonPath, Node] = {(): self._tree.root_node.named_children[0]}
        self._arrays: dict[JsonPath, list[Node]] = {}
        self._objects: dict[JsonPath, dict[str, list[Node]]] = {}

    def of_value(self, path: JsonPath) -> tuple[int, int]:
        """Line and column of the value at `path`."""
        return self._start(self._node(path))

    def of_key(self, path: JsonPath, occurrence: int = -1) -> tuple[int, int]:
        """Line and column of the last key, or another `occurrence` of it, on the way to `path`."""
        pairs = self._pairs(path[:-1])[str(path[-1])]
        return self._start(pairs[occurrence])

    def literal(self, path: JsonPath) -> str:
        """The value at `path` as it is written."""
        node = self._node(path)
        return self._data[node.start_byte : node.end_byte].decode()

    def span(self, path: JsonPath) -> tuple[int, int]:
        """Where the value at `path` begins and ends, in bytes of the text in UTF-8."""
        node = self._node(path)
        return node.start_byte, node.end_byte

    def key_span(self, path: JsonPath) -> tuple[int, int]:
        """Where the last key on the way to `path` begins, and where its value ends, in bytes of the text in UTF-8."""
        pair = self._pairs(path[:-1])[str(path[-1])][-1]
        return pair.start_byte, pair.end_byte

    def _start(self, node: Node) -> tuple[int, int]:
        row, width = node.start_point
        if self._ascii:
            return row + 1, width + 1
        return row + 1, len(self._data[node.start_byte - width : node.start_byte].decode()) + 1

    def _node(self, path: JsonPath) -> Node:
        if path not in self._nodes:
            step = path[-1]
            if isinstance(step, int):
                self._nodes[path] = self._elements(path[:-1])[step]
            else:
                self._nodes[path] = self._pairs(path[:-1])[step][-1].named_children[-1]
        return self._nodes[path]

    def _elements(self, path: JsonPath) -> list[Node]:
        if path not in self._arrays:
            self._arrays[path] = self._node(path).named_children
        return self._arrays[path]

    def _pairs(self, path: JsonPath) -> dict[str, list[Node]]:
        if path not in self._objects:
            pairs: dict[str, list[Node]] = {}
            for pair in self._node(path).named_children:
                key = pair.named_children[0]
                pairs.setdefault(json.loads(self._data[key.start_byte : key.end_byte]), []).append(pair)
            self._objects[path] = pairs
        return self._objects[path]


def _known_number(match: re.Match[bytes]) -> bytes:
    """Text of the same length that the grammar knows: NaN and Infinity are no JSON, and 1e+5 it takes for an error."""
    found = match[0]
    if found[:1] == b'"':
        return found
    return found[:1] + b"0" if found[1:] == b"+" else b"1" * len(found)
