"""Whether a folder holds what it says itself: no links out of it, no pipes, nothing outsized.

Reports may lie in folders that somebody else packed. A link in one could show a file of the
reader's own under a name of a series, a pipe would never end.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

from evalstab.errors import FolderError
from evalstab.report.shape import MOST_BYTES
from evalstab.trial.record import COMPRESSED, opened

MOST_RECORD = 512 << 20
_PART = 1 << 20
_DEPTH = 3
_NOT_READ = frozenset({"workspace", "task", "plots", "shared", "calibration"})
"""Folders in which no page reads."""


def require_own(folder: Path, root: Path) -> None:
    """FolderError where something that a page of ``folder`` reads is not its own.

    ``root`` is the folder that is shown, resolved: links may lead to where they stay inside it.
    """
    for entry in _entries(folder, _DEPTH):
        path = Path(entry.path)
        if entry.is_symlink() and not _inside(path, root):
            raise FolderError(f"{path} leads out of {root}: what is behind it is not shown")
        try:
            known = entry.stat()
        except OSError:
            continue
        if stat.S_ISDIR(known.st_mode):
            continue
        if not stat.S_ISREG(known.st_mode):
            raise FolderError(f"{path} is no file: it is not read")
        if folder == path.parent and known.st_size > MOST_BYTES:
            raise FolderError(f"{path} is larger than {MOST_BYTES >> 20} MB: it is not read")


def require_bounded(folder: Path) -> None:
    """FolderError where a record is larger than any of ours, be it only after unpacking."""
    for path in sorted((folder / "trials").glob("*/events.jsonl*")):
        size = 0 if path.suffix == COMPRESSED else path.stat().st_size
        if path.suffix == COMPRESSED:
            with opened(path) as file:
                while size <= MOST_RECORD and (part := file.read(_PART)):
                    size += len(part)
        if size > MOST_RECORD:
            raise FolderError(f"{path} holds more than {MOST_RECORD >> 20} MB: it is not read")


def _entries(folder: Path, depth: int) -> Iterator[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as found:
            entries = list(found)
    except OSError:
        return
    for entry in entries:
        if entry.name in _NOT_READ:
            continue
        yield entry
        if depth > 1 and entry.is_dir():
            yield from _entries(Path(entry.path), depth - 1)


def _inside(path: Path, root: Path) -> bool:
    try:
        return path.resolve(strict=False).is_relative_to(root)
    except (OSError, RuntimeError):
        return False
