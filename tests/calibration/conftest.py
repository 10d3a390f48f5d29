"""What the calibrations share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest


@pytest.fixture
def report(record_property: Callable[[str, object], None]) -> Callable[..., None]:
    """A function that adds the tallies of a problem to the table that is printed at the end."""

    def report(problem: str, arithmetic: str, cases: int, tallies: dict[str, Any]) -> None:
        for name, tally in tallies.items():
            figures = f"{cases:6} {tally.elements:8} {tally.largest:9.2f} {tally.rms:6.2f}"
            record_property("calibration", f"{problem:24} {arithmetic:14} {name:10} {figures}")

    return report
