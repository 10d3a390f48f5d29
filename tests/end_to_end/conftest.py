"""What the end-to-end tests share."""

from __future__ import annotations

import command_line
import pytest


@pytest.fixture
def conformance() -> command_line.Command:
    """A function that calls the command line, by default in the repository."""
    return command_line.call
