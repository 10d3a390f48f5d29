"""The numeric behaviour of a placement: the only place where an accuracy is written down.

The oracle derives every tolerance from these numbers; none of them is tuned for a problem.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

FLOAT32_ROUNDOFF = 2.0**-24
TF32_ROUNDOFF = 2.0**-11
BFLOAT16_ROUNDOFF = 2.0**-8
SMALLEST_NORMAL = 2.0**-126
ROUNDED_TO_ZERO = 2.0**-150
"""Half of float32's smallest number; what is not larger it rounds to 0."""


@dataclass(frozen=True, slots=True)
class Arithmetic:
    """How a placement rounds.

    `unit_roundoff` is the relative error of one operation; `operand_roundoff` that of a matrix product's operands
    before they are multiplied (0: none); `underflow` the absolute error of every result (a flushed subnormal);
    `accuracy` the error of elementary functions in ulps, by name: an entry of 4 multiplies the rounding error by 4 (one
    ulp is up to two unit roundoffs). A function that is missing there has no known accuracy, and the oracle refuses it
    by name.
    """

    name: str
    unit_roundoff: float = FLOAT32_ROUNDOFF
    operand_roundoff: float = 0.0
    underflow: float = SMALLEST_NORMAL
    accuracy: Mapping[str, float] = field(default_factory=dict[str, float])


CPU_ACCURACY: Mapping[str, float] = {
    "tanh": 5.0,
    "exp": 2.0,
    "log1p": 3.0,
    "sigmoid": 3.0,
    # JAX differentiates softplus as exp(z - softplus(z)): the rounding of softplus(z) for z just under 16 is 8
    # unit roundoffs in the result (8.4 measured).
    "softplus": 4.0,
    "softplus_backward": 16.0,
    # Each of these is the largest error of jax 0.10.2 against float64, eager and jit, at 400,000 random float32 points
    # a range, rounded up; the measured number stands beside it. exp2 is missing because XLA computes exp(x ln 2), and
    # the oracle does so too: the error grows with the argument, as it does there.
    "expm1": 6.0,  # 5.47 at 0.0019
    "log": 2.0,  # 1.02 at 0.74
    "log2": 3.0,  # 2.08 just under 1
    "log10": 3.0,  # 2.60 just under 1
    "pow": 1.0,  # 0.51
    "rsqrt": 2.0,  # 1.00
    "erf": 7.0,  # 6.71 at -3.8
    "erfc": 66.0,  # 65.8 at 8.9, near the smallest normal number; 10.0 up to 4
    "sin": 1.0,  # 0.56, arguments up to 1e5
    "cos": 1.0,  # 0.56, arguments up to 1e5
    "tan": 1.0,  # 0.85, arguments up to 100
    "asin": 3.0,  # 2.20 at 0.47
    "acos": 2.0,  # 1.93 at 0.97
    "atan": 1.0,  # 0.80
    "sinh": 25.0,  # 24.5 at 70.7: XLA adds log(1/2) to the argument first
    "cosh": 25.0,  # 24.5 at 70.7, likewise
    "asinh": 3.0,  # 2.65 at 0.41
    "acosh": 4.0,  # 3.67 at 1.08
    "atanh": 3.0,  # 2.86 at -0.43
}

CPU = Arithmetic("cpu-float32", accuracy=CPU_ACCURACY)
CPU_TF32 = replace(CPU, name="cpu-tf32", operand_roundoff=TF32_ROUNDOFF)
"""The CPU with matrix products' operands rounded to TF32: emulates an accelerator's default precision."""
CPU_BFLOAT16 = replace(CPU, name="cpu-bfloat16", operand_roundoff=BFLOAT16_ROUNDOFF)
"""The CPU with matrix products' operands rounded to bfloat16: emulates an accelerator's default precision."""

_BY_PLACEMENT: Mapping[tuple[str, str], Arithmetic] = {("cpu", "highest"): CPU}


def find_arithmetic(platform: str, precision: str) -> Arithmetic | None:
    """The arithmetic of a platform at a precision, or None where none has been established yet."""
    return _BY_PLACEMENT.get((platform, precision))
