"""Opens a simulated endpoint in a process of its own, so that the client's clock is undisturbed."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from evalstab.errors import ConfigError

_PACKAGE = Path(__file__).resolve().parent.parent
_PATIENCE = 10.0


@contextmanager
def open_sim(
    persona: str,
    *,
    seed: int | None = None,
    dialect: str = "vllm",
    truth: Path | None = None,
    time_scale: float = 1.0,
    task_truth: Path | None = None,
) -> Iterator[str]:
    """A simulated endpoint's address (without ``/v1``) for as long as the context lasts.

    ``seed`` ``None`` takes the persona's own. ``truth`` is written by the server; ``task_truth``
    is read by it. ``time_scale`` is the number of simulated seconds in a real one. Raises
    ConfigError where the server cannot start.
    """
    options = ["--persona", persona, "--dialect", dialect, "--time-scale", str(time_scale)]
    if seed is not None:
        options += ["--seed", str(seed)]
    if truth is not None:
        options += ["--truth", str(truth)]
    if task_truth is not None:
        options += ["--task-truth", str(task_truth)]
    with running(options) as url:
        yield url


@contextmanager
def running(options: Sequence[str]) -> Iterator[str]:
    """The address of a server started with these command line options; stopped at the end."""
    command = [sys.executable, "-m", "evalstab.sim", "--port", "0", "--with-parent", *options]
    # The child must find this very package, wherever we were imported from.
    places = [str(_PACKAGE.parent), *filter(None, [os.environ.get("PYTHONPATH")])]
    with tempfile.TemporaryFile("w+") as complaints:
        process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=complaints,
            text=True,
            # Ctrl-C is for the client, which then stops the server itself.
            start_new_session=True,
            env=os.environ | {"PYTHONPATH": os.pathsep.join(places)},
        )
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            if not line.startswith("ready "):
                process.wait(_PATIENCE)
                complaints.seek(0)
                reason = complaints.read().strip().splitlines()[-1:] or ["no reason given"]
                raise ConfigError(f"the simulated endpoint did not start: {reason[0]}")
            yield line.split()[1]
        finally:
            _stop(process)


def _stop(process: subprocess.Popen[str]) -> None:
    process.terminate()
    try:
        process.wait(_PATIENCE)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    for stream in (process.stdin, process.stdout):
        if stream is not None:
            stream.close()
