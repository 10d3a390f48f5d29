"""``conformance doctor``: what is here, and what can be proven with it."""

from __future__ import annotations

import platform as machine
import sys
from importlib.metadata import PackageNotFoundError, version

import click

from conformance.errors import NotProven
from conformance.running.runner import Runner, Settings
from conformance.sides import load_implementation_side, load_oracle_side

_PACKAGES = ("conformance", "jax", "jaxlib", "torch", "numpy", "pytest", "pytest-xdist")


def execute(platform: str) -> int:
    """0 where runs on `platform` can be proven here, 3 where they cannot; told either way."""
    click.echo(f"Python {sys.version.split()[0]} on {machine.platform()}")
    for package in _PACKAGES:
        try:
            found = version(package)
        except PackageNotFoundError:
            found = "not installed"
        click.echo(f"  {package:<14}{found}")
    click.echo()
    try:
        runner = Runner(Settings(platform=platform), load_implementation_side(), load_oracle_side())
        header = runner.start()
    except NotProven as error:
        click.echo(f"{platform}: not available: {error}")
        return 3
    for device in header["implementation"]["devices"]:
        click.echo(f"device    {device['platform']} {device['id']}: {device['kind']}")
    arithmetic = runner.arithmetic
    click.echo(f"oracle    {', '.join(f'{name} {value}' for name, value in header['oracle'].items())}")
    click.echo(f"rounding  {arithmetic.name}: unit roundoff {arithmetic.unit_roundoff:.3g}, products' operands exact")
    click.echo(f"functions {', '.join(f'{name} {ulps:g}' for name, ulps in arithmetic.accuracy.items())} (ulps)")
    click.echo(f"contracts {header['implementation'].get('contracts', 'not judged')}")
    click.echo(f"\n{platform}: numbers and contracts can be verified here (eager, jit, vmap at precision highest)")
    return 0
