"""Writing a file whole: it holds what it held before, or all that is new, never a part."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from conformance.errors import UsageError
from conformance.files.document import show

BYTE_ORDER_MARK = b"\xef\xbb\xbf"


def replace_text(file: Path, text: bytes) -> None:
    """Nothing; `file` holds `text`, which is UTF-8, behind the byte order mark that it had, if it had one.

    Raises:
        UsageError: it cannot be written.
    """
    marked = file.exists() and file.read_bytes().startswith(BYTE_ORDER_MARK)
    replace_file(file, BYTE_ORDER_MARK + text if marked else text)


def replace_file(file: Path, data: bytes) -> None:
    """Nothing; `file`, which may be new, holds `data`.

    Raises:
        UsageError: it cannot be written.
    """
    mode = file.stat().st_mode & 0o7777 if file.exists() else None
    temporary: Path | None = None
    try:
        with tempfile.NamedTemporaryFile(dir=file.parent, prefix=f".{file.name}.", delete=False) as opened:
            temporary = Path(opened.name)
            opened.write(data)
        temporary.chmod(0o666 & ~_umask() if mode is None else mode)
        temporary.replace(file)
    except BaseException as error:
        if temporary is not None:
            temporary.unlink(missing_ok=True)
        if not isinstance(error, OSError):
            raise
        raise UsageError(f"writing {show(file)}: {error.strerror}; make room, or allow writing there") from None


def _umask() -> int:
    """The process's mask; it can be read only by being set."""
    mask = os.umask(0)
    os.umask(mask)
    return mask
