"""``conformance new``: what it refuses; CONTRIBUTING's test walks the way of somebody who adds a case."""

from __future__ import annotations

from command_line import Command


def test_an_existing_case_file_and_an_unknown_problem_are_refused(conformance: Command):
    for arguments, message in (
        (("logistic_regression", "documented"), "documented.json exists; choose another name, or edit it"),
        (("logistic", "new"), "found the problem 'logistic', wanted logistic_regression or residual_mlp_block"),
        (("logistic_regression", "new", "--dims", "N"), "wanted sizes such as N=4,D=2"),
    ):
        done = conformance("new", *arguments)
        assert 2 == done.returncode, done.stdout + done.stderr
        assert message in done.stderr
