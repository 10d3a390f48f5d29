"""Recipes that cannot be carried out: each fault with its place."""

from __future__ import annotations

from collections.abc import Callable

import pytest

FaultsOf = Callable[[str | bytes], list[str]]
TEXT = """{
  "version": 1,
  "problem": "logistic_regression",
  "origin": {"kind": "generated", "recipe":
    %s
  }
}
"""
SIZE = '"dims": [{"N": 1, "D": 1}]'
AFFINE = '"strategy": "affine-targets", "seed": 1, "targets": [1], "dims": [{"N": 1, "D": 1}]'
NAMES = "affine-targets, common-offset, exact-fit, moderate, scales or zeros"
R = "$.origin.recipe"


@pytest.mark.parametrize(
    ("recipe", "faults"),
    [
        ("5", [f"5:5: {R}: found 5, wanted an object"]),
        ("{}", [f'5:5: {R}: found no key "seed", wanted it', f'5:5: {R}: found no key "strategy", wanted it']),
        (
            '{"strategy": "zero", "seed": 1}',
            [f'5:18: {R}.strategy: found "zero" (a string), wanted {NAMES}; did you mean zeros?'],
        ),
        (
            '{"strategy": "zeros", "seed": 1}',
            [
                f'5:5: {R}: found no key "dims", wanted it beside strategy or seed',
                f'5:5: {R}: found no key "leaves", wanted it beside strategy or seed',
            ],
        ),
        (
            f'{{"strategy": "moderate", "seed": -1, "count": 1, {SIZE}}}',
            [f"5:38: {R}.seed: found -1, wanted at least 0"],
        ),
        (
            f'{{"strategy": "moderate", "seed": 1, "count": 1, "leaf": 1, {SIZE}}}',
            [f'5:53: {R}.leaf: found the unknown key "leaf", wanted strategy, seed, dims, choices, spread or count'],
        ),
        (
            f'{{"strategy": "zeros", "seed": 1, "leaves": [["z"]], {SIZE}}}',
            [f'5:50: {R}.leaves[0][0]: found "z" (a string), wanted params.w, params.b, x or y'],
        ),
        (
            '{"strategy": "moderate", "seed": 1, "count": 1, "dims": [{"N": 1}]}',
            [f'5:62: {R}.dims[0]: found no key "D", wanted it beside N'],
        ),
        (
            '{"strategy": "moderate", "seed": 1, "count": 1, "dims": [{"N": 1, "D": 5}]}',
            [f"5:76: {R}.dims[0].D: found 5, wanted at least 1 and at most 4, the domain of D"],
        ),
        (
            f'{{"strategy": "moderate", "seed": 1, "count": 9, {SIZE}, "choices": {{"y": [2]}}}}',
            [
                *(
                    f"5:5: {R}: makes a case with a fault: $.cases[{index}].inputs.y[0]: found 2.0, wanted 0 or 1, "
                    "the domain of y"
                    for index in range(3)
                ),
                f"5:5: {R}: makes cases with 6 faults more",
            ],
        ),
        (
            f'{{"strategy": "moderate", "seed": 1, "count": 6000, {SIZE[:-1]}, {SIZE[9:]}}}',
            [f"5:5: {R}: found a recipe of 12000 cases, wanted at most 10000; write several files"],
        ),
        (
            f'{{{AFFINE}, "affine": {{"inputs": "y", "weights": "params.w"}}}}',
            [f"5:112: {R}.affine.inputs: found float32[N], wanted a matrix with a row for each example"],
        ),
        (
            f'{{{AFFINE}, "affine": {{"inputs": "x", "weights": "y"}}}}',
            [
                f"5:128: {R}.affine.weights: found float32[N], wanted a vector or matrix whose first dimension is D, "
                "as x is float32[N,D]"
            ],
        ),
        (
            f'{{{AFFINE}, "affine": {{"inputs": "x", "weights": "params.w", "bias": "y"}}}}',
            [f"5:148: {R}.affine.bias: found float32[N], wanted float32[], one for each unit of float32[D]"],
        ),
        (
            f'{{"strategy": "exact-fit", "seed": 1, "target": "y", "prediction": "x", "nudges": [0], {SIZE}}}',
            [f"5:52: {R}.target: found float32[N], wanted float32[N,D] as x is"],
        ),
        (
            f'{{"strategy": "scales", "seed": 1, "scales": [{{"x": 0}}], {SIZE}}}',
            [f"5:56: {R}.scales[0].x: found 0, wanted at least 1e-45"],
        ),
    ],
)
def test_a_fault_of_a_recipe_is_told_with_its_place(faults_of: FaultsOf, recipe: str, faults: list[str]):
    assert faults == faults_of(TEXT % recipe)


def test_a_recipe_stands_in_generated_files_alone(faults_of: FaultsOf, good: str):
    recipe = good.replace('"written"', '"written", "recipe": {"strategy": "zeros"}')
    assert [
        "4:43: $.origin.recipe: found an object with the keys strategy, wanted a recipe only where origin.kind is "
        "generated"
    ] == faults_of(recipe)
    assert ['4:13: $.origin: found no key "recipe", wanted it beside kind'] == faults_of(
        good.replace('"written"', '"generated"').replace('"expected"', '"why": "", "expected"')
    )[:1]
