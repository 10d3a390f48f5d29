"""One side's part of a stand-alone script."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Source:
    """The text of a module or package, and the file that it came from."""

    text: str
    file: str
    is_package: bool = False


@dataclass(frozen=True, slots=True)
class ScriptPart:
    """Python code that defines a function, and the sources by name that it imports."""

    code: str
    sources: Mapping[str, Source] = field(default_factory=dict[str, Source])
