"""Arrays in results files."""

import json
import math

import numpy as np
import pytest

from conformance.results.encoding import LARGE, SAMPLES, decode_array, decode_number, encode_array, encode_number


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32, np.bool_])
def test_an_array_comes_back_bit_for_bit(dtype: type):
    array = np.arange(6).reshape(2, 3).astype(dtype)
    back = decode_array(json.loads(json.dumps(encode_array(array))))
    assert back is not None
    assert (array.dtype, array.shape, array.tobytes()) == (back.dtype, back.shape, back.tobytes())


def test_what_is_not_a_number_keeps_its_bits():
    array = np.array([np.nan, np.inf, -0.0], np.float32)
    back = decode_array(encode_array(array))
    assert back is not None
    assert array.tobytes() == back.tobytes()


def test_a_large_array_is_told_by_a_digest_and_a_sample():
    node = encode_array(np.zeros(LARGE + 1, np.float32))
    assert decode_array(node) is None
    assert 64 == len(node["sha256"])
    assert SAMPLES * 4 == len(__import__("base64").b64decode(node["sample"]))
    other = np.zeros(LARGE + 1, np.float32)
    other[LARGE // 3] = 1.0
    assert node["sha256"] != encode_array(other)["sha256"]


@pytest.mark.parametrize("number", [0.1, 1e300, math.inf, -math.inf])
def test_a_number_survives_strict_json(number: float):
    assert number == decode_number(json.loads(json.dumps(encode_number(number), allow_nan=False)))
