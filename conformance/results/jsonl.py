"""JSON lines that several processes may append to at once, and that a reader may follow while they grow."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from conformance.results.encoding import encode_number
from conformance.values.kinds import is_mapping, is_sequence


def to_strict(node: Any) -> Any:
    """The node in JSON's own types, with numbers that are not finite as text."""
    if is_mapping(node):
        return {str(name): to_strict(child) for name, child in node.items()}
    if is_sequence(node):
        return [to_strict(child) for child in node]
    return encode_number(node) if isinstance(node, float) else node


def append_line(path: Path, node: Mapping[str, Any]) -> None:
    """Nothing; `node` is at the end of the file at `path` as one line, in one write, when this returns.

    Raises:
        OSError: the file cannot be written, or the disk is full.
    """
    line = (json.dumps(to_strict(node), allow_nan=False, separators=(",", ":")) + "\n").encode()
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    try:
        while line:
            line = line[os.write(descriptor, line) :]
    finally:
        os.close(descriptor)


class Follower:
    """Reads the whole lines of a growing file, each once."""

    def __init__(self, path: Path) -> None:
        """A reader at the beginning of the file at `path`, which need not exist yet."""
        self._path = path
        self._offset = 0

    def read(self) -> Iterator[dict[str, Any]]:
        """The lines that were completed since the last call."""
        if not self._path.exists():
            return
        with self._path.open("rb") as file:
            file.seek(self._offset)
            for line in file:
                if not line.endswith(b"\n"):
                    return
                self._offset += len(line)
                yield json.loads(line)
