"""The command line: one small module a command, each parses, calls one verb, prints, exits."""

from __future__ import annotations


def main() -> None:
    """Entry point of ``evalstab``."""
    from evalstab.cli.app import app

    app(prog_name="evalstab")
