"""Nights in a folder: their configuration, records and comparable scores."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.cli.program import environment

SERIES = '{ task = "three-notes", endpoint = "sim:drifting", repeats = 3 }'


def write_config(folder: Path, series: Sequence[str] = (SERIES,), more: str = "") -> None:
    """An evalstab.toml with these lines in [nightly]."""
    lines = ",\n".join(series)
    text = f'{more}\n[nightly]\nbudget = "30m"\nseries = [\n{lines}\n]\n'
    (folder / "evalstab.toml").write_text(text)


def series_in(folder: Path) -> list[Path]:
    """Series folders below reports/, in order of name."""
    return sorted(p.parent for p in folder.glob("reports/*/series.json"))


def events(series: Path) -> list[dict[str, Any]]:
    """All whole events on disk, spoilt attempts left out."""
    found = []
    for record in sorted(series.glob("trials/[0-9][0-9][0-9]/events.jsonl")):
        for line in record.read_bytes().split(b"\n")[:-1]:
            found.append({"trial": record.parent.name, **json.loads(line)})
    return found


def begin(
    folder: Path, *arguments: str, env: Mapping[str, str] | None = None
) -> subprocess.Popen[bytes]:
    """A command of evalstab, running on its own."""
    return subprocess.Popen(
        [sys.executable, "-m", "evalstab", *arguments],
        cwd=folder,
        env=environment(env),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        stdin=subprocess.DEVNULL,
        start_new_session=True,
    )


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@contextmanager
def serving(port: int, *options: str) -> Iterator[subprocess.Popen[str]]:
    """A simulated endpoint on a fixed port, in a process of its own."""
    server = subprocess.Popen(
        [sys.executable, "-m", "evalstab", "sim", "--port", str(port), *options],
        stdout=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
        text=True,
        env=environment(),
        start_new_session=True,
    )
    assert server.stdout is not None
    try:
        assert server.stdout.readline().startswith("ready")
        yield server
    finally:
        if server.poll() is None:
            os.kill(server.pid, signal.SIGKILL)
        server.wait()
        server.stdout.close()


def wait_until(met: Any, process: subprocess.Popen[bytes], seconds: float = 120) -> None:
    """Wait for a condition, the end of a process, or the time to be up."""
    deadline = time.monotonic() + seconds
    while process.poll() is None and time.monotonic() < deadline and not met():
        time.sleep(0.002)
