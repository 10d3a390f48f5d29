"""A command that hands the options that it does not know to pytest."""

from __future__ import annotations

import difflib
from collections.abc import Sequence

import click

from conformance.errors import UsageError

_TAKES_VALUE = frozenset(
    [
        "-k",
        "-m",
        "-n",
        "-p",
        "-W",
        "-o",
        "-r",
        "-c",
        "--tb",
        "--maxfail",
        "--durations",
        "--durations-min",
        "--junitxml",
        "--junit-xml",
        "--junit-prefix",
        "--verbosity",
        "--log-level",
        "--log-cli-level",
        "--log-file",
        "--dist",
        "--tx",
        "--numprocesses",
        "--maxprocesses",
        "--max-worker-restart",
        "--deselect",
        "--basetemp",
        "--color",
        "--capture",
        "--show-capture",
        "--override-ini",
        "--lfnf",
        "--last-failed-no-failures",
        "--pdbcls",
        "--debug",
        "--cov",
        "--cov-report",
        "--html",
    ]
)
"""pytest's options whose value may stand apart; any other is written ``--option=value``."""

_OURS = ("-c", "-o", "--rootdir", "--confcutdir", "--config-file", "--override-ini")
"""What a run sets itself, so that it is the same whatever project it is started in."""


class PassThroughCommand(click.Command):
    """A command whose unknown options are kept for pytest in ``context.meta[KEY]``; all after ``--`` goes there too."""

    KEY = "conformance.pytest_arguments"

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """The arguments that are left over once this command's own and pytest's are taken."""
        ours, theirs = self._split(ctx, args)
        ctx.meta[self.KEY] = theirs
        return super().parse_args(ctx, ours)

    def _split(self, ctx: click.Context, args: Sequence[str]) -> tuple[list[str], list[str]]:
        takes_value = {
            name: not getattr(parameter, "is_flag", False)
            for parameter in self.get_params(ctx)
            for name in parameter.opts
            if name.startswith("-")
        }
        ours: list[str] = []
        theirs: list[str] = []
        rest = iter(args)
        for argument in rest:
            if argument == "--":
                theirs.extend(rest)
            elif not argument.startswith("-") or argument == "-":
                ours.append(argument)
            elif argument.split("=", 1)[0] in takes_value:
                ours.append(argument)
                if "=" not in argument and takes_value[argument]:
                    ours.extend(value for value in [next(rest, None)] if value is not None)
            else:
                theirs.append(argument)
                if argument in _TAKES_VALUE:
                    theirs.extend(value for value in [next(rest, None)] if value is not None)
        for name in (argument.split("=", 1)[0] for argument in theirs):
            if name in _OURS:
                raise UsageError(f"reading the command line: {name} is set by conformance run itself; leave it out")
            near = difflib.get_close_matches(name, takes_value, 1, 0.8) if name.startswith("--") else []
            if near and name not in _TAKES_VALUE:
                raise UsageError(f"reading the command line: found {name}; did you mean {near[0]}?")
        return ours, theirs
