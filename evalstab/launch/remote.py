"""A process of another machine, its few files under /proc fetched into a folder here."""

from __future__ import annotations

import base64
import binascii
import re
import tempfile
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from evalstab.reach import Reach

FILES = ("cmdline", "environ", "cgroup", "comm", "stat")
_PID = re.compile(r"pid=(\d+)")
_FETCH = (
    'for f in cmdline environ cgroup comm stat; do printf "%s " "$f"; '
    'base64 -w0 "/proc/$1/$f" 2>/dev/null; echo; done'
)


def remote_listener(port: int, reach: Reach) -> int | None:
    """The pid that listens on a port there; None where ss does not show it (another user's)."""
    ran = reach.run(["ss", "-H", "-ltnp", f"sport = :{port}"])
    found = _PID.search(ran.out) if ran.well else None
    return int(found[1]) if found else None


def fetched_process(pid: int, reach: Reach) -> AbstractContextManager[Path] | None:
    """A folder like /proc with one process in it; None where nothing could be read."""
    ran = reach.run(["sh", "-c", _FETCH, "sh", str(pid)])
    contents: dict[str, bytes] = {}
    for line in ran.out.splitlines() if ran.well else ():
        name, _, text = line.partition(" ")
        if name in FILES and text:
            try:
                contents[name] = base64.b64decode(text)
            except binascii.Error:
                continue
    return _as_folder(pid, contents) if contents else None


@contextmanager
def _as_folder(pid: int, contents: dict[str, bytes]) -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="evalstab-proc-") as place:
        folder = Path(place, str(pid))
        folder.mkdir(mode=0o700)
        for name, data in contents.items():
            (folder / name).write_bytes(data)
        yield Path(place)
