"""Documented values."""

import numpy as np
import pytest

from conformance.judging.documented import differs
from conformance.values.case import Rounding


@pytest.mark.parametrize(
    ("value", "documented", "rounding", "stale"),
    [
        (0.6791668, 0.679167, Rounding("decimals", 6), False),
        (0.6791664, 0.679167, Rounding("decimals", 6), True),
        (0.6791675, 0.679167, Rounding("decimals", 6), False),
        (0.67916751, 0.679167, Rounding("decimals", 6), True),
        (123456.4, 123456.0, Rounding("significant", 6), False),
        (123456.6, 123456.0, Rounding("significant", 6), True),
        (0.0, 0.0, Rounding("significant", 6), False),
        (1e-300, 0.0, Rounding("significant", 6), False),  # float32 holds no other number for it
        (1e-44, 0.0, Rounding("significant", 6), True),
        (0.999996, 1.0, Rounding("significant", 6), True),
        (0.9999996, 1.0, Rounding("significant", 6), False),
        (1.000004, 1.0, Rounding("significant", 6), False),
        (np.nan, 0.0, Rounding("decimals", 6), True),
    ],
)
def test_a_documented_value_is_met_to_half_a_unit_of_its_last_digit(
    value: float, documented: float, rounding: Rounding, stale: bool
):
    assert stale == bool(differs(np.asarray(value), np.asarray(documented), rounding))


def test_integers_are_met_exactly():
    assert [False, True] == differs(np.array([1, 2]), np.array([1, 3]), Rounding("decimals", 0)).tolist()
