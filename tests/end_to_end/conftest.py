"""What the end-to-end tests share."""

from __future__ import annotations

from pathlib import Path

import command_line
import pytest

collect_ignore = ["problems"]
"""Their case files are copied to a root of their own first."""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A copy of the shipped problems."""
    return command_line.copy_root(tmp_path)


@pytest.fixture
def conformance() -> command_line.Command:
    """A function that calls the command line, by default in the repository."""
    return command_line.call
