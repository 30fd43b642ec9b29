"""The command line: one small module a command, each parses, calls one verb, prints, exits."""

from __future__ import annotations


def main() -> None:
    """Entry point of ``evalstab``."""
    import sys

    from evalstab.cli.app import app
    from evalstab.cli.common import crashed

    sys.excepthook = crashed
    app(prog_name="evalstab")
