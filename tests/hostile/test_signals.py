"""The terminal goes away in the middle of a series: it ends as an interruption does."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

PROGRAM = """
import asyncio, signal, sys
from evalstab.errors import Interrupted
from evalstab.workflow.loop import on_a_loop
if sys.argv[1] == "nohup":
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
async def work():
    print("ready", flush=True)
    await asyncio.sleep(0.5 if sys.argv[1] == "nohup" else 60)
try:
    on_a_loop(work())
except Interrupted as error:
    sys.exit(error.exit_code)
"""


@pytest.mark.parametrize(("how", "code"), [("terminal", 130), ("nohup", 0)])
def test_a_lost_terminal_interrupts_unless_it_was_to_be_ignored(how: str, code: int) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM, how], stdout=subprocess.PIPE, text=True
    ) as running:
        assert running.stdout is not None
        assert running.stdout.readline() == "ready\n"
        os.kill(running.pid, signal.SIGHUP)
        assert running.wait(60) == code


IDLE = """
import sys, time
from evalstab.cli.common import verb
from evalstab.workflow.loop import on_a_loop
import asyncio
@verb
def command():
    if sys.argv[1] == "after":
        on_a_loop(asyncio.sleep(0))
    print("ready", flush=True)
    time.sleep(60)
import typer
typer.run(command)
"""


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_termination_outside_the_loop_interrupts_too(when: str) -> None:
    program = IDLE.replace("sys.argv[1]", repr(when))
    with subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as running:
        assert running.stdout is not None
        assert running.stdout.readline() == "ready\n"
        os.kill(running.pid, signal.SIGTERM)
        told = running.communicate(timeout=60)[1]
        assert (running.returncode, told) == (130, "interrupted\n")
