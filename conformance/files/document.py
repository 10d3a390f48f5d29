"""A JSON file, read strictly: what standard JSON leaves open is refused, with its place."""

from __future__ import annotations

import json
import math
import re
import stat
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from conformance.errors import FileFault, InputFault
from conformance.files.positions import JsonPath, Positions, line_and_column, open_path, render_path
from conformance.values.kinds import is_dict, is_list

MAX_DEPTH = 100
_MAX_DIGITS = 308  # an integer of more digits is beyond float64, and int() itself has a limit
_NOT_ZERO = re.compile("[-0.]*[1-9]")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
_WANTED = {
    "Expecting value": "a value",
    "Expecting ',' delimiter": "',' or the end of the array or object",
    "Expecting ':' delimiter": "':'",
    "Expecting property name": "a key in double quotes",
    "Extra data": "the end of the file",
    "Unterminated string": "a string with a closing quote",
    "Invalid control character": "an escape such as \\n in place of a control character",
    "Invalid \\escape": "one of the escapes that JSON has",
    "Invalid \\uXXXX escape": "four hexadecimal digits after \\u",
    "Illegal trailing comma": "no comma before a closing bracket",
}


@dataclass(frozen=True, eq=False)
class Document:
    """A file's JSON value, the text that it was read from, and faults that leave the rest readable.

    Where a number was refused, `value` holds NaN; where a key is repeated, its last value.
    """

    file: Path
    text: str
    value: Any
    faults: tuple[FileFault, ...] = ()

    @cached_property
    def _positions(self) -> Positions:
        return Positions(self.text)

    def locate(self, path: JsonPath) -> tuple[int, int]:
        """Line and column of the value at `path`, counted from 1, columns in characters.

        Raises:
            InputFault: it lies deeper than this engine reads.
        """
        if len(path) > MAX_DEPTH:
            raise InputFault(too_deep(self.file))
        return self._positions.of_value(path)

    def fault(self, path: JsonPath, message: str) -> FileFault:
        """A fault of the value at `path`."""
        return FileFault(show(self.file), *self.locate(path), render_path(path), message)

    def key_fault(self, path: JsonPath, message: str) -> FileFault:
        """A fault of the key that is the last step of `path`."""
        if len(path) > MAX_DEPTH:
            raise InputFault(too_deep(self.file))
        return FileFault(show(self.file), *self._positions.of_key(path), render_path(path), message)

    def span(self, path: JsonPath) -> tuple[int, int]:
        """Where the value at `path` begins and ends, in bytes of the text in UTF-8."""
        return self._positions.span(path)

    def key_span(self, path: JsonPath) -> tuple[int, int]:
        """Where the last key on the way to `path` begins, and where its value ends, in bytes of the text in UTF-8."""
        return self._positions.key_span(path)

    def literal(self, path: JsonPath) -> str:
        """The value at `path` as it is written."""
        return self._positions.literal(path)

    def line_of_first(self, path: JsonPath) -> int:
        """The line of the first key of that name, where `path` ends in a repeated key."""
        return self._positions.of_key(path, 0)[0]


class _Hooks:
    """What ``json.loads`` calls; keeps what must be told later."""

    def __init__(self) -> None:
        self.refused = False
        self.repeated: list[tuple[dict[str, Any], str]] = []

    def pairs(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        node = dict(pairs)
        if len(node) != len(pairs):
            counts = Counter(name for name, _ in pairs)
            self.repeated += [(node, name) for name, count in counts.items() if count > 1]
        return node

    def constant(self, _text: str) -> float:
        self.refused = True
        return math.nan

    def float(self, text: str) -> float:
        number = float(text)
        lost = number == 0.0 and _NOT_ZERO.match(text)
        return self.constant(text) if lost or not math.isfinite(number) else number

    def int(self, text: str) -> int | float:
        if text == "-0":
            return -0.0
        return int(text) if len(text) <= _MAX_DIGITS else self.constant(text)


def show(file: Path) -> str:
    """A file's path as a person would write it: relative to the current directory where it lies below it."""
    for where in (file.absolute(), _resolve(file)):
        if where.is_relative_to(Path.cwd()):
            return printable(str(where.relative_to(Path.cwd())))
    return printable(str(file))


def printable(text: str) -> str:
    """The text with what would break or colour a line, or is no Unicode, as escapes."""
    escaped = _CONTROL.sub(lambda match: f"\\x{ord(match[0]):02x}", text)
    return escaped.encode("utf-8", "backslashreplace").decode()


def _resolve(file: Path) -> Path:
    try:
        return file.resolve()
    except (OSError, RuntimeError):  # a loop of links
        return file


def describe(value: object) -> str:
    """A JSON value in a few words."""
    if isinstance(value, str):
        return f"{_shorten(json.dumps(value, ensure_ascii=False))} (a string)"
    if isinstance(value, bool):
        return f"{json.dumps(value)} (a boolean)"
    if is_list(value):
        return f"an array of {len(value)}"
    if is_dict(value):
        return f"an object with the keys {printable(', '.join(map(str, value)))}" if value else "an empty object"
    return _shorten(json.dumps(value))


def load_document(file: Path) -> Document:
    """The document in `file`.

    Raises:
        InputFault: the file cannot be read, or is no JSON in UTF-8.
    """
    try:
        if not stat.S_ISREG(file.stat().st_mode):
            raise InputFault(FileFault(show(file), 1, 1, "$", "found a pipe, device or folder, wanted a regular file"))
        data = file.read_bytes()
    except OSError as error:
        message = f"found a file that cannot be read ({error.strerror}), wanted a JSON file"
        raise InputFault(FileFault(show(file), 1, 1, "$", message)) from None
    text = _decode(file, data)
    hooks = _Hooks()
    try:
        value = json.loads(
            text,
            object_pairs_hook=hooks.pairs,
            parse_constant=hooks.constant,
            parse_float=hooks.float,
            parse_int=hooks.int,
        )
    except json.JSONDecodeError as error:
        raise InputFault(_syntax_fault(file, text, error)) from None
    except RecursionError:
        raise InputFault(too_deep(file)) from None
    document = Document(file, text, value)
    if not (hooks.refused or hooks.repeated or _SURROGATE.search(text)):
        return document
    found, fatal = _faults(document, hooks)
    if fatal:
        raise InputFault(*found)
    return Document(file, text, value, tuple(found))


def too_deep(file: Path) -> FileFault:
    """The fault of a file that nests deeper than this engine reads."""
    return FileFault(
        show(file), 1, 1, "$", f"found arrays and objects nested too deep, wanted at most {MAX_DEPTH} levels"
    )


def _decode(file: Path, data: bytes) -> str:
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
            raise InputFault(FileFault(show(file), 1, 1, "$", "found UTF-16 or UTF-32, wanted UTF-8")) from None
        # The position counts from behind a byte order mark, as the decoder does not hand it back.
        before = error.object[: error.start].decode("utf-8", "replace")
        place = line_and_column(before, len(before))
        message = f"found the byte 0x{error.object[error.start]:02x}, which is no UTF-8; wanted a file in UTF-8"
        raise InputFault(FileFault(show(file), *place, "$", message)) from None
    if text[:1] == "\ufeff":
        raise InputFault(FileFault(show(file), 1, 1, "$", "found a second byte order mark, wanted a JSON object"))
    if "\0" in text[:4]:
        raise InputFault(FileFault(show(file), 1, 1, "$", "found UTF-16 or UTF-32, wanted UTF-8"))
    if not text.strip():
        raise InputFault(FileFault(show(file), 1, 1, "$", "found an empty file, wanted a JSON object"))
    return text


def _syntax_fault(file: Path, text: str, error: json.JSONDecodeError) -> FileFault:
    offset = error.pos
    wanted = next((words for start, words in _WANTED.items() if error.msg.startswith(start)), error.msg)
    before = text[:offset].rstrip()
    if text[offset : offset + 1] in ("]", "}") and before.endswith(","):
        # Python before 3.13 points behind a trailing comma.
        offset, wanted = len(before) - 1, _WANTED["Illegal trailing comma"]
    found = repr(text[offset]) if offset < len(text) else "the end of the file"
    place = line_and_column(text, offset)
    path = render_path(open_path(text, offset))
    return FileFault(show(file), *place, path, f"found {found}, wanted {wanted}")


def _faults(document: Document, hooks: _Hooks) -> tuple[list[FileFault], bool]:
    """The faults of a document that parsed, in the order of the text, and whether they leave it unreadable."""
    repeated: dict[int, list[str]] = {}
    for node, name in hooks.repeated:
        repeated.setdefault(id(node), []).append(name)
    found: list[FileFault] = []
    fatal = False
    for path, value in _walk(document.value):
        if len(path) >= MAX_DEPTH:
            raise InputFault(too_deep(document.file))
        if is_dict(value):
            for name in repeated.get(id(value), ()):
                first = document.line_of_first((*path, name))
                found.append(
                    document.key_fault((*path, name), f"found this key again, wanted it once (see line {first})")
                )
        if isinstance(value, float) and math.isnan(value):
            literal = document.literal(path)
            wanted = "0 or a number that float64 holds" if _NOT_ZERO.match(literal) and "e-" in literal.lower() else ""
            found.append(document.fault(path, f"found {_shorten(literal)}, wanted {wanted or 'a finite number'}"))
        for text in (path[-1] if path else "", value):
            if isinstance(text, str) and not _is_unicode(text):
                place = document.locate(path[:-1] if text is not value else path)
                fatal = True
                message = "found half of a surrogate pair in a string, wanted characters that UTF-8 can hold"
                found.append(FileFault(show(document.file), *place, "$", message))
    return sorted(found), fatal


def _walk(value: Any) -> Iterator[tuple[JsonPath, Any]]:
    stack: list[tuple[JsonPath, Any]] = [((), value)]
    while stack:
        path, node = stack.pop()
        yield path, node
        if is_dict(node):
            stack += [((*path, name), child) for name, child in node.items()]
        elif is_list(node):
            stack += [((*path, index), child) for index, child in enumerate(node)]


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _shorten(literal: str) -> str:
    return literal if len(literal) <= 40 else f"{literal[:20]}... ({len(literal)} characters)"
