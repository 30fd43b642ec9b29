"""A stdout that knows no UTF-8, is full, or is closed: an answer or one clear line, no crash."""

from __future__ import annotations

import json
import os
import subprocess
import sys

PROGRAM = (
    "import typer\n"
    "from evalstab.cli.common import answer_json, verb\n"
    "def command() -> None:\n"
    "    answer_json({'said': '\\u2212 \\u4f60 \\U0001f600'})\n"
    "typer.run(verb(command))\n"
)


def answered(redirection: str, **environment: str) -> subprocess.CompletedProcess[bytes]:
    """The program with its stdout led where the shell says."""
    command = f'exec "$0" -c "$1" {redirection}'
    return subprocess.run(
        ["sh", "-c", command, sys.executable, PROGRAM],
        capture_output=True,
        env=os.environ | environment,
        check=False,
    )


def test_the_answer_is_utf_8_whatever_the_locale() -> None:
    done = answered("", LC_ALL="C", PYTHONIOENCODING="ascii", PYTHONUTF8="0")
    assert done.returncode == 0
    assert json.loads(done.stdout.decode("utf-8")) == {"said": "\u2212 \u4f60 \U0001f600"}


def test_a_full_or_closed_stdout_is_one_clear_line() -> None:
    for redirection in (">/dev/full", ">&-"):
        done = answered(redirection)
        assert done.returncode == 3
        assert b"error: stdout" in done.stderr
        assert b"Traceback" not in done.stderr
        assert done.stderr.count(b"error: ") == 1
