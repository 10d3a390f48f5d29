"""Strategies: what they promise of the numbers that they make, whatever the recipe."""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from conformance.files.problem_file import ProblemFolder
from conformance.generation.bits import Bits
from conformance.generation.exact_sum import hit
from conformance.generation.recipe import GeneratedCase, expand, load_strategies
from conformance.values.problem import Problem
from conformance.values.signature import load_signature

ROOT = Path(__file__).resolve().parents[2]
GENERATION = ROOT / "conformance" / "generation"
TARGETS = [0, 1, 16, -16, 20, 88.7, -88.7, 103.9, -125, 0.1, 3e-6, 65504.5]
LOGISTIC = {"inputs": "x", "weights": "params.w", "bias": "params.b"}
BLOCK = {"inputs": "x", "weights": "params.w1", "bias": "params.b1"}


@pytest.fixture(scope="module")
def problems() -> ProblemFolder:
    return ProblemFolder(ROOT)


def around(targets: list[float]) -> set[float]:
    middle = np.array(targets, np.float32)
    sides = [np.nextafter(middle, np.float32(side)) for side in (-np.inf, np.inf)]
    return {float(number) for number in np.concatenate([middle, *sides])}


def terms(row: Any, weights: Any, bias: Any) -> list[Fraction]:
    return [Fraction(float(a)) * Fraction(float(b)) for a, b in zip(row, weights, strict=True)] + [
        Fraction(float(bias))
    ]


def assert_exact_in_any_order(parts: list[Fraction]) -> None:
    """No partial sum, of whichever terms, is rounded by float32."""
    for count in range(1, len(parts) + 1):
        for chosen in itertools.combinations(parts, count):
            total = sum(chosen, Fraction(0))
            assert Fraction(float(np.float32(float(total)))) == total


@pytest.mark.parametrize("seed", range(5))
def test_rows_hit_their_targets_exactly_in_any_order(problems: ProblemFolder, seed: int):
    dims = [{"N": 1, "D": 1}, {"N": 8, "D": 4}, {"N": 3, "D": 2}]
    recipe = {"strategy": "affine-targets", "seed": seed, "affine": LOGISTIC, "targets": TARGETS, "dims": dims}
    cases = expand(problems("logistic_regression"), {**recipe, "neighbours": True})
    hits: dict[tuple[int, ...], set[tuple[float, float]]] = {}
    for case in cases:
        x, params, y = case.inputs["x"], case.inputs["params"], case.inputs["y"]
        for row, label in zip(x, y, strict=True):
            parts = terms(row, params["w"], params["b"])
            assert_exact_in_any_order(parts)
            hits.setdefault(x.shape, set()).add((float(sum(parts)), float(label)))
    wanted = set(itertools.product(around(TARGETS), (0.0, 1.0)))
    assert [wanted] * 3 == list(hits.values())


@pytest.mark.parametrize("seed", range(5))
def test_units_hit_their_targets_exactly_in_one_of_their_rows(problems: ProblemFolder, seed: int):
    dims = [{"B": 1, "D": 1, "H": 1}, {"B": 3, "D": 4, "H": 8}, {"B": 5, "D": 2, "H": 3}]
    recipe = {
        "strategy": "affine-targets",
        "seed": seed,
        "affine": BLOCK,
        "targets": TARGETS,
        "dims": dims,
        "rounds": 2,
    }
    for case in expand(problems("residual_mlp_block"), recipe):
        x, params = case.inputs["x"], case.inputs["params"]
        for unit, bias in enumerate(params["b1"]):
            parts = terms(x[unit % len(x)], params["w1"][:, unit], bias)
            assert_exact_in_any_order(parts)
            assert float(sum(parts)) in {float(np.float32(target)) for target in TARGETS}


def test_a_bias_that_would_be_rounded_is_left_out():
    one = np.ones((1, 1))
    three_eighths = np.full((1, 1), 0.375)
    pivots = np.zeros(1, np.int64)
    for target, kept in ((4.0, True), (-float(np.nextafter(np.float32(1), np.float32(0))), False), (2.0**-149, False)):
        targets = np.full((1, 1), target)
        factors, bias = hit(targets, one[:, None], 0 * one[:, None], pivots, three_eighths)
        assert kept == bool(bias[0, 0])
        assert target == factors[0, 0, 0] + bias[0, 0]


def test_scales_are_kept_and_zeros_have_their_signs(problems: ProblemFolder):
    block = problems("residual_mlp_block")
    dims = [{"B": 3, "D": 2, "H": 4}]
    recipe = {"strategy": "scales", "seed": 1, "scales": [{"x": 1e-30}, {"x": 1e15, "y": 2.0}], "dims": dims}
    first, second = expand(block, recipe)
    for case, name, scale in ((first, "x", 1e-30), (second, "x", 1e15), (second, "y", 2.0)):
        size = np.abs(case.inputs[name])
        assert np.all((np.float32(scale) <= size) & (size <= np.float32(2 * scale)))
    zeros = expand(block, {"strategy": "zeros", "seed": 1, "leaves": [["x", "params.b1"]], "dims": dims})
    signs = [np.signbit([*case.inputs["x"].ravel(), *case.inputs["params"]["b1"]]) for case in zeros]
    assert [0, 10] == [int(found.sum()) for found in signs[:2]]
    assert 0 < signs[2].sum() < 10
    assert not any(np.any(case.inputs["x"]) for case in zeros)


def test_an_offset_is_taken_back_by_the_bias(problems: ProblemFolder):
    recipe = {"strategy": "common-offset", "seed": 1, "leaves": ["x"], "offsets": [4096.0], "affine": LOGISTIC}
    (case,) = expand(problems("logistic_regression"), {**recipe, "dims": [{"N": 8, "D": 4}]})
    params = case.inputs["params"]
    for row in case.inputs["x"]:
        assert np.all(np.abs(row - 4096.0) <= 1)
        assert abs(sum(terms(row, params["w"], params["b"]))) <= 8


def test_a_fit_is_exact_or_nudged(problems: ProblemFolder):
    recipe = {"strategy": "exact-fit", "seed": 1, "target": "y", "prediction": "x", "zero": ["params.w2", "params.b2"]}
    exact, near = expand(
        problems("residual_mlp_block"), {**recipe, "nudges": [0, 0.001], "dims": [{"B": 3, "D": 2, "H": 4}]}
    )
    assert np.array_equal(exact.inputs["x"], exact.inputs["y"])
    assert not np.any(exact.inputs["params"]["w2"])
    assert np.all(near.inputs["x"] != near.inputs["y"])
    assert np.array_equal(near.inputs["y"], (near.inputs["x"] * np.float64(1.001)).astype(np.float32))


EVERY_KIND = {
    "a": ["float32[N]", {"tuple": ["int32[N,2]", "bool[]"]}],
    "n": "static int",
    "flag": "static bool",
    "word": "static str",
    "rate": "float",
    "share": "static float",
    "key": "key",
}
DOMAIN = {
    "a.1.0": {"minimum": -3, "maximum": 4},
    "rate": {"minimum": 2, "maximum": 3},
    "n": {"minimum": 5, "maximum": 6},
}


def every_kind() -> Problem:
    inputs = {name: load_signature(node) for name, node in EVERY_KIND.items()}
    return Problem("any", "t", "s", inputs, load_signature("float32[N]"), DOMAIN, {}, ROOT)


def test_every_kind_of_leaf_is_drawn_in_its_domain():
    recipe = {"strategy": "moderate", "seed": 1, "count": 50, "dims": [{"N": 3}], "spread": {"a.0": 0.5}}
    cases = expand(every_kind(), {**recipe, "choices": {"word": ["up", "down"], "share": [0.25]}})
    integers = np.stack([case.inputs["a"][1][0] for case in cases])
    assert (np.dtype("int32"), -3, 4) == (integers.dtype, integers.min(), integers.max())
    assert {True, False} == {bool(case.inputs["a"][1][1]) for case in cases}
    assert {5, 6} == {case.inputs["n"] for case in cases}
    assert {"up", "down"} == {case.inputs["word"] for case in cases}
    assert {0.25} == {case.inputs["share"] for case in cases}
    assert all(2 <= case.inputs["rate"] <= 3 and 0 <= case.inputs["key"] < 2**31 for case in cases)
    assert np.max(np.abs(np.stack([case.inputs["a"][0] for case in cases]))) <= 0.5


@pytest.mark.parametrize(
    "limits",
    [
        {"minimum": 0},
        {"exclusiveMinimum": 0},
        {"exclusiveMinimum": 0, "maximum": 1},
        {"maximum": -2},
        {"minimum": 0.1, "maximum": 0.1},
        {"enum": [3, 7]},
    ],
    ids=str,
)
def test_numbers_stay_inside_the_limits(limits: dict[str, Any]):
    problem = Problem(
        "p", "", "", {"x": load_signature("float32[N]")}, load_signature("float32[N]"), {"x": limits}, {}, ROOT
    )
    (case,) = expand(problem, {"strategy": "moderate", "seed": 3, "count": 1, "dims": [{"N": 500}]})
    x = case.inputs["x"].astype(np.float64)
    low, high = limits.get("minimum", -np.inf), limits.get("maximum", np.inf)
    assert np.all((np.float32(low) <= x) & (x <= np.float32(high)) & (x > limits.get("exclusiveMinimum", -np.inf)))
    assert set(x.tolist()) <= set(limits.get("enum", x.tolist()))


def test_another_seed_gives_other_numbers_and_more_sizes_leave_the_first_alone(problems: ProblemFolder):
    logistic = problems("logistic_regression")
    recipe = {"strategy": "moderate", "seed": 1, "count": 2, "dims": [{"N": 2, "D": 2}]}
    more = {**recipe, "dims": [{"N": 2, "D": 2}, {"N": 1, "D": 1}]}
    first, again, other = (expand(logistic, node) for node in (recipe, more, {**recipe, "seed": 2}))
    assert repr(first) == repr(again[:2])
    assert repr(first) != repr(other)
    assert len(again) == len(names(again)) == 4


def names(cases: list[GeneratedCase]) -> set[str]:
    return {case.name for case in cases}


def test_random_numbers_have_the_range_and_the_spread_that_they_should():
    bits = Bits([1])
    for drawn, low, high, mean in (
        (bits.uniform((40_000,)), 0, 1, 0.5),
        (bits.symmetric((40_000,)), -1, 1, 0),
        (bits.signs((40_000,)), -1, 1, 0),
        (bits.steps(-2, 2, 0.5, (40_000,)), -1, 1, 0),
    ):
        assert low <= drawn.min() < drawn.max() <= high
        assert abs(drawn.mean() - mean) < 6 * (high - low) / 200
        assert np.array_equal(drawn, drawn.astype(np.float32))
    assert sorted(bits.order(100)) == list(range(100))


# What is exact, or correctly rounded by IEEE 754, or moves numbers without touching them; nothing else may be used.
EXACT = {
    *[
        "abs",
        "arange",
        "argsort",
        "array",
        "array_equal",
        "asarray",
        "broadcast_to",
        "concatenate",
        "full",
        "minimum",
        "maximum",
        "max",
        "ones",
    ],
    *[
        "resize",
        "signbit",
        "stack",
        "where",
        "zeros",
        "zeros_like",
        "nextafter",
        "frexp",
        "all",
        "errstate",
        "isfinite",
        "all",
        "errstate",
        "isfinite",
        "ldexp",
        "newaxis",
    ],
    *["float32", "float64", "int64", "uint64", "bool_", "inf", "ndarray", "random"],
    *["random.PCG64", "random.SeedSequence", "minimum.reduce"],
}
EXACT_MATH = {"inf", "prod", "isfinite", "floor", "ceil"}
INEXACT_METHODS = {"mean", "std", "var", "dot", "cumsum", "cumprod", "trace"}


def inexact(source: str) -> Iterator[str]:
    """The names of NumPy, math and random that a module uses, but for those that are exact."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Attribute):
            text = ast.unparse(node)
            if node.attr in INEXACT_METHODS:
                yield text
            if not re.fullmatch(r"[a-z_A-Z0-9.]+", text):
                continue
            if text.startswith("np.") and text.removeprefix("np.") not in EXACT:
                yield text
            if text.startswith("math.") and text.removeprefix("math.") not in EXACT_MATH:
                yield text
        if isinstance(node, ast.Import | ast.ImportFrom):
            modules = [node.module] if isinstance(node, ast.ImportFrom) else [name.name for name in node.names]
            yield from (str(module) for module in modules if module in ("random", "scipy", "secrets", "time"))


@pytest.mark.parametrize("module", sorted(GENERATION.rglob("*.py")), ids=lambda path: path.stem)
def test_generation_uses_exact_operations_alone(module: Path):
    assert [] == list(inexact(module.read_text("utf-8")))


@pytest.mark.parametrize(
    "line", ["np.exp(x)", "np.random.normal()", "np.linalg.norm(x)", "math.sqrt(2)", "import random", "x.mean()"]
)
def test_what_is_not_exact_is_found(line: str):
    assert list(inexact(line))


def test_every_strategy_is_described_in_the_documents():
    text = (ROOT / "docs" / "strategies.md").read_text("utf-8")
    found = {line.removeprefix("## `").removesuffix("`") for line in text.splitlines() if line.startswith("## `")}
    assert set(load_strategies()) == found
    for strategy in load_strategies().values():
        for parameter in strategy.describe(every_kind()):
            assert f"`{parameter}`" in text
