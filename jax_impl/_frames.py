"""What a user's function raised, told by the user's own lines."""

from __future__ import annotations

import sysconfig
import textwrap
import traceback
from dataclasses import dataclass
from pathlib import Path

import jax

from conformance.errors import ImplementationFault

_ENGINE = Path(__file__).resolve().parent
_LIBRARIES = tuple({Path(sysconfig.get_path(name)).resolve() for name in ("stdlib", "platstdlib")})
_INSTALLED = frozenset(("site-packages", "dist-packages"))
_FRAMES = 6
_TEXT = 2000

_BRANCH = "a Python branch on a traced value: use jnp.where or lax.cond"
_NUMBER = "a traced value became a Python number: keep it an array, with jax.numpy"
_INDEX = "a traced value became a Python index or a shape: use lax.dynamic_slice, or a size known before tracing"
_NUMPY = "a traced value was handed to NumPy: use jax.numpy instead"
_MASK = "a Boolean mask that is traced: its result has no fixed shape; use jnp.where"


@dataclass(frozen=True, slots=True)
class UserCode:
    """Which files are a user's: those in `folder`, and all that are neither Python's, installed nor the engine's.

    Paths are told relative to `root` where they are in it.
    """

    folder: Path
    root: Path

    def frames(self, error: BaseException) -> list[str]:
        """The user's own frames of an exception, as ``file:line in function``, outermost first."""
        own = [frame for frame in traceback.extract_tb(error.__traceback__) if self.is_own(frame.filename)]
        told = [f"{self.relative(frame.filename)}:{frame.lineno} in {frame.name}" for frame in own]
        if isinstance(error, SyntaxError) and error.filename:
            told.append(f"{self.relative(error.filename)}:{error.lineno}")
        if own and own[-1].line:
            told[-1] += f": {own[-1].line}"
        return told[-_FRAMES:]

    def relative(self, filename: str) -> str:
        """The path of a file as it is told."""
        path = Path(filename)
        return str(path.relative_to(self.root)) if path.is_relative_to(self.root) else filename

    def fault(self, doing: str, error: BaseException) -> ImplementationFault:
        """The fault that says what was being done, what was raised there, and where in the user's code."""
        lines = [f"{doing}: raised {_describe(error)}"]
        if hint := find_hint(error):
            lines.append(f"  hint: {hint}")
        lines += [f"  at {frame}" for frame in self.frames(error)]
        return ImplementationFault("\n".join(lines))

    def is_own(self, filename: str) -> bool:
        """Whether a file is the user's."""
        if filename.startswith("<"):
            return False
        path = Path(filename).resolve()
        if path.parent == _ENGINE and path.name.startswith("_"):
            return False
        if path.is_relative_to(self.folder):
            return _INSTALLED.isdisjoint(path.relative_to(self.folder).parts)
        return _INSTALLED.isdisjoint(path.parts) and not any(path.is_relative_to(library) for library in _LIBRARIES)


def find_hint(error: BaseException) -> str | None:
    """What to do about an error of tracing, or None for any other."""
    hints = (
        (jax.errors.TracerBoolConversionError, _BRANCH),
        (jax.errors.TracerArrayConversionError, _NUMPY),
        (jax.errors.TracerIntegerConversionError, _INDEX),
        (jax.errors.NonConcreteBooleanIndexError, _MASK),
        (jax.errors.ConcretizationTypeError, _NUMBER),
    )
    return next((hint for kind, hint in hints if isinstance(error, kind)), None)


def _describe(error: BaseException) -> str:
    """Type and text; of an error of tracing the first line alone, since the rest tells of our own call."""
    try:
        text = str(error).strip()
    except Exception as fault:  # the author's own class of exceptions
        text = f"(its text raised {type(fault).__name__})"
    if isinstance(error, SystemExit):
        text = f"exit code {error.code}"
    if find_hint(error):
        text = text.partition("\n")[0]
    return f"{type(error).__name__}: {textwrap.shorten(text, _TEXT) if len(text) > _TEXT else text}".rstrip(": ")
