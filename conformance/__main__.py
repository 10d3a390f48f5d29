"""``python -m conformance``."""

from conformance.commands.cli import main

main()
