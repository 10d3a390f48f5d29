"""The standardised error."""

import math

import numpy as np
import pytest

from conformance.judging.standardised import LIMIT, standardise
from conformance.values.estimate import Estimate


def estimate(value: list[float], sigma: list[float] | None) -> Estimate:
    return Estimate(np.asarray(value), None if sigma is None else np.asarray(sigma))


def test_z_is_the_error_in_units_of_sigma():
    z = standardise(np.float32([1.0, 2.5]), estimate([1.0, 2.0], [0.25, 0.25]))
    assert (2.0, (1,), math.sqrt(2.0)) == (z.largest, z.where, z.rms)
    assert z.agrees


def test_no_error_is_zero_even_where_sigma_is_zero():
    assert 0.0 == standardise(np.float32([1.0]), estimate([1.0], [0.0])).largest


def test_an_error_where_sigma_is_zero_is_infinite():
    assert math.inf == standardise(np.float32([1.5]), estimate([1.0], [0.0])).largest


@pytest.mark.parametrize("got", [math.nan, math.inf, -math.inf])
def test_what_is_not_finite_never_agrees(got: float):
    z = standardise(np.float32([got, 1.0]), estimate([1.0, 1.0], [1.0, 1.0]))
    assert not z.agrees
    assert (math.inf, (0,)) == (z.largest, z.where)


@pytest.mark.parametrize(("error", "agrees"), [(LIMIT, True), (np.nextafter(LIMIT, 9), False)])
def test_the_limit_itself_agrees_and_nothing_above_it(error: float, agrees: bool):
    assert agrees == standardise(np.float64([error]), estimate([0.0], [1.0])).agrees


def test_errors_of_opposite_sign_do_not_cancel():
    assert not standardise(np.float32([2.0, -2.0]), estimate([1.0, -1.0], [0.1, 0.1])).agrees


def test_integers_compare_exactly():
    exact = Estimate(np.asarray([1, 2]), None)
    assert standardise(np.int32([1, 2]), exact).agrees
    assert not standardise(np.int32([1, 3]), exact).agrees


@pytest.mark.parametrize(
    ("value", "sigma", "digits"),
    [([10.0, 1.0], [0.001, 0.01], 3.0), ([0.0], [1e-9], 0.0), ([1.0], [2.0], 0.0), ([1.0], [0.0], math.inf)],
)
def test_digits_tell_how_much_a_quantity_can_tell(value: list[float], sigma: list[float], digits: float):
    assert digits == estimate(value, sigma).digits
