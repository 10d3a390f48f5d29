"""The command line: what ``conformance --help`` lists."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from conformance.commands.passthrough import PassThroughCommand
from conformance.errors import ConformanceError
from conformance.values.placement import MODES, PLATFORMS, PRECISIONS

Command = TypeVar("Command", bound=Callable[..., Any])

_ROOT = click.option(
    "--root",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="The folder of cases/, jax_impl/ and torch_oracle/; by default the nearest one upward. Its code is run.",
)


def _name_platform(_context: click.Context, _parameter: click.Parameter, platform: str) -> str:
    return "gpu" if platform == "cuda" else platform


_PLATFORM = click.option(
    "--platform",
    type=click.Choice([*PLATFORMS, "cuda"], case_sensitive=False),
    default="cpu",
    show_default=True,
    callback=_name_platform,
)
_DATA_ROOT = click.option(
    "--root",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="The folder that holds cases/; by default the nearest one upward.",
)
_IMPL = click.option(
    "--impl",
    metavar="FILE|MODULE[:NAME]",
    help="Verify this implementation in place of the root's; its code is run. [default NAME: evaluate]",
)
_RETURNS = click.option("--returns", metavar="A,B", help="Names of the parts of the tuple that it returns.")


def _timeout(seconds: float, text: str) -> Callable[[Command], Command]:
    limit = click.FloatRange(min=0, min_open=True)
    return click.option("--timeout", type=limit, default=seconds, show_default=True, metavar="SECONDS", help=text)


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="conformance", message="conformance %(version)s")
def cli() -> None:
    """Prove that a differentiable program is right on every device.

    JSON case files run through JAX implementations and an independent PyTorch oracle, which derives the tolerance.

    Exit codes: 0 all agree; 1 a disagreement, broken contract or error; 2 bad usage or bad input; 3 not proven.
    """


@cli.command(cls=PassThroughCommand, short_help="Verify cases: the main job.")
@click.argument("paths", nargs=-1, metavar="[PATH|CASE]...")
@_PLATFORM
@click.option("--precision", type=click.Choice(PRECISIONS), default="highest", show_default=True)
@click.option(
    "--mode",
    "modes",
    type=click.Choice(MODES),
    multiple=True,
    help="May repeat. [default: all for documented, else jit]",
)
@_IMPL
@_RETURNS
@_timeout(300.0, "What one case may take; then its process is ended.")
@click.option(
    "--results", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE", help="Write results as JSON lines."
)
@_ROOT
@click.pass_context
def run(context: click.Context, **options: Any) -> None:
    """Verify cases: all below cases/, or those of each PATH (file or folder) or CASE (problem/group/name).

    Many cases of a file that agree share a row of the table; with -v each has its own. Options that are not listed here
    go to pytest: -k EXPRESSION, -n WORKERS, -x, -v, --pdb, --durations=N ...
    """
    from conformance.commands.run import RunOptions, execute

    context.exit(execute(RunOptions(**options, pytest_arguments=tuple(context.meta[PassThroughCommand.KEY]))))


@cli.command(short_help="Tell everything about one case.")
@click.argument("case", metavar="CASE")
@_PLATFORM
@click.option("--precision", type=click.Choice(PRECISIONS), default="highest", show_default=True)
@click.option("--mode", type=click.Choice(MODES), help="[default: the one in a test id, else jit]")
@_IMPL
@_RETURNS
@click.option(
    "--script",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Write a script that reproduces the case with jax and torch alone.",
)
@click.option("--shrink", is_flag=True, help="Make a failing case small, and print it as a case file.")
@_timeout(600.0, "What it may take in all; then its process is ended.")
@_ROOT
@click.pass_context
def explain(context: click.Context, **options: Any) -> None:
    """Run one CASE (problem/group/name, or a test id), and tell everything about it.

    Inputs, every element with its z, the contract with its evidence, what both sides keep for the backward pass, and a
    second opinion on the oracle.
    """
    from conformance.commands.explain import ExplainOptions, execute

    context.exit(execute(ExplainOptions(**options)))


@cli.command(short_help="Check case files and problem files.")
@click.argument("paths", nargs=-1, metavar="[PATH]...")
@click.option("--values", is_flag=True, help="Compute generated cases and expected values again; runs the oracles.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "github"]),
    default="text",
    show_default=True,
    help="How faults are told: github for annotations in a workflow.",
)
@_DATA_ROOT
@click.pass_context
def validate(context: click.Context, paths: tuple[str, ...], root: Path | None, *, values: bool, form: str) -> None:
    """Check case files and problem files: a line per fault, exit 2 if there is any. Runs no code without --values."""
    from conformance.commands.validate import execute

    context.exit(execute(paths, root, values=values, form=form))


@cli.command(short_help="Fill in the cases of generated files.")
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@_DATA_ROOT
@click.pass_context
def generate(context: click.Context, paths: tuple[str, ...], root: Path | None) -> None:
    """Write the cases of generated files from the recipe that each holds in `origin`. Runs no code.

    The same recipe gives the same bytes on every machine. A file that would pass 256 KB keeps the recipe alone.
    """
    from conformance.commands.generate import execute

    context.exit(execute(paths, root))


@cli.command(short_help="Write the JSON Schemas for editors.")
@_DATA_ROOT
@click.pass_context
def schema(context: click.Context, root: Path | None) -> None:
    """Write cases/schema/*.schema.json, with which an editor completes and checks case files. Runs no code."""
    from conformance.commands.schema import execute

    context.exit(execute(root))


@cli.command(short_help="Write a case file to begin with.")
@click.argument("problem", metavar="PROBLEM")
@click.argument("name", metavar="NAME")
@click.option("--dims", default="", metavar="N=4,D=2", help="Sizes of its dimensions. [default: 2, where allowed]")
@_DATA_ROOT
@click.pass_context
def new(context: click.Context, problem: str, name: str, dims: str, root: Path | None) -> None:
    """Write cases/PROBLEM/NAME.json: one valid case whose numbers wait to be replaced. Runs no code."""
    from conformance.commands.new import execute

    context.exit(execute(problem, name, dims, root))


@cli.command(short_help="Fill in expected values from the oracle.")
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@click.option("--force", is_flag=True, help="Change documented and reported values too.")
@_ROOT
@click.pass_context
def bless(context: click.Context, paths: tuple[str, ...], root: Path | None, *, force: bool) -> None:
    """Fill in, or refresh, `expected` of each case from the oracle's float64 value at the file's rounding.

    Nothing else in a file changes. The root's oracles are run. Exit 1 where a documented value differs and was left.
    """
    from conformance.commands.bless import execute

    context.exit(execute(paths, root, force=force))


@cli.command()
@click.argument("results", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="RESULTS...")
@click.option("-v", "--verbose", "whole", is_flag=True, help="A row for every case.")
@click.pass_context
def compare(context: click.Context, results: tuple[Path, ...], *, whole: bool) -> None:
    """Show the run of a results file again."""
    from conformance.commands.compare import execute

    context.exit(execute(results, whole=whole))


@cli.command()
@_PLATFORM
@click.pass_context
def doctor(context: click.Context, platform: str) -> None:
    """Tell versions, devices, and what can be proven here."""
    from conformance.commands.doctor import execute

    context.exit(execute(platform))


def main() -> None:
    """The console script; exits with the command's code, and tells a user's mistake in words."""
    try:
        code = cli.main(standalone_mode=False)
    except ConformanceError as error:
        click.echo(f"conformance: {error}", err=True)
        sys.exit(error.exit_code)
    except click.ClickException as error:
        error.show()
        sys.exit(2)
    except BrokenPipeError:
        # Whoever read the output has gone; Python would complain once more while it ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(3)
    except click.Abort:
        click.echo("conformance: interrupted", err=True)
        sys.exit(3)
    except Exception:
        # Exit code 1 would say that an implementation is wrong.
        click.echo(f"conformance: a fault of its own, please report it:\n{traceback.format_exc()}", err=True)
        sys.exit(3)
    sys.exit(code or 0)
