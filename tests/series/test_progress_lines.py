"""Without a terminal: a line for each trial, and one when a server is waited for."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from evalstab.sim.open import running
from tests.cli.program import environment, evalstab


def test_a_line_for_each_finished_trial_unless_quiet(tmp_path: Path) -> None:
    given = ["run", "three-notes", "--endpoint", "sim:perfect", "--repeats", "2"]
    lines = evalstab(*given, cwd=tmp_path).stderr.splitlines()
    told = [line for line in lines if line.startswith("trial ")]
    assert [line.split(" after ")[0] for line in told] == [
        "trial 1 of 2: completed",
        "trial 2 of 2: completed",
    ]
    assert evalstab(*given, "--quiet", cwd=tmp_path).stderr == ""


def test_a_server_that_is_gone_is_told_once(tmp_path: Path) -> None:
    with running(["--persona", "slowing"]) as url:
        options = ["--base-url", f"{url}/v1", "--repeats", "1", "--out", "out"]
        command = [sys.executable, "-m", "evalstab", "run", "three-notes", *options]
        process = subprocess.Popen(
            command, cwd=tmp_path, env=environment(), stderr=subprocess.PIPE, text=True
        )
        begun = tmp_path / "out/trials/001/events.jsonl"
        end = time.monotonic() + 120
        while not begun.exists() and time.monotonic() < end:
            time.sleep(0.05)
    assert process.stderr is not None
    told: list[str] = []
    for line in process.stderr:
        told.append(line)
        if "waiting up to" in line:
            break
    os.kill(process.pid, signal.SIGTERM)
    told += process.communicate(timeout=60)[1].splitlines()
    assert process.returncode == 130
    waited = [line for line in told if "waiting up to" in line]
    assert len(waited) == 1, told
    assert waited[0].startswith("trial 1: no answer from the server (")
    assert "`evalstab resume out`" in told[-1]
