"""What stands in a folder that an agent, ours or somebody else's, has worked in."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field

from evalstab.task.paths import RESERVED_NAME

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_DEPTH = 32
_ENTRIES = 20_000


@dataclass(slots=True)
class Survey:
    """Files of a workspace: sizes in bytes, contents, and what was left out with the reason."""

    sizes: dict[str, int] = field(default_factory=dict)
    files: dict[str, bytes] = field(default_factory=dict)
    left_out: dict[str, str] = field(default_factory=dict)


def survey(root: int, max_files: int, max_bytes: int, max_total: int, *, contents: bool) -> Survey:
    """Look through the folder open as ``root``: regular files, bounded, never through a link.

    Without ``contents`` all regular files are listed; with them, those beyond the limits are left
    out and named. The order is that of the names' code points within each folder.
    """
    found = Survey()
    total = 0
    for path, folder, status in _regular_files(root, "", found, _Budget()):
        if not contents:
            found.sizes[path] = status.st_size
        elif status.st_size > max_bytes:
            found.left_out[path] = f"larger than {max_bytes} bytes"
        elif len(found.sizes) >= max_files or total + status.st_size > max_total:
            found.left_out[path] = "beyond the limits of the workspace"
        elif (data := _read(folder, path.rpartition("/")[2], max_bytes)) is None:
            found.left_out[path] = "cannot be read"
        else:
            found.sizes[path], found.files[path] = len(data), data
            total += len(data)
    return found


@dataclass(slots=True)
class _Budget:
    entries: int = _ENTRIES

    def spend(self) -> bool:
        self.entries -= 1
        return self.entries >= 0


def _regular_files(
    folder: int, prefix: str, found: Survey, budget: _Budget
) -> Iterator[tuple[str, int, os.stat_result]]:
    for name in sorted(os.listdir(folder)):
        path = prefix + name
        if not budget.spend():
            found.left_out["…"] = f"more than {_ENTRIES} entries"
            return
        try:
            status = os.stat(name, dir_fd=folder, follow_symlinks=False)
            named_well = not any("\ud800" <= character <= "\udfff" for character in name)
            if stat.S_ISDIR(status.st_mode) and named_well and path.count("/") < _DEPTH:
                below = os.open(name, _FOLDER, dir_fd=folder)
                try:
                    yield from _regular_files(below, path + "/", found, budget)
                finally:
                    os.close(below)
            elif not (stat.S_ISREG(status.st_mode) and named_well):
                found.left_out[ascii(path)[1:-1]] = "no regular file with a readable name"
            elif name != RESERVED_NAME:
                yield path, folder, status
        except OSError:
            found.left_out[ascii(path)[1:-1]] = "cannot be opened"


def _read(folder: int, name: str, max_bytes: int) -> bytes | None:
    try:
        descriptor = os.open(name, _READ, dir_fd=folder)
    except OSError:
        return None
    with os.fdopen(descriptor, "rb") as file:
        data = file.read(max_bytes + 1)
    return data if len(data) <= max_bytes else None
