"""Folders that only their owner may enter."""

from __future__ import annotations

from pathlib import Path


def private_folder(path: Path) -> None:
    """Create a folder and the parents that are missing, each with mode 0700.

    One that is there already stays as it is. OSError where something else stands in the way.
    """
    missing = []
    for folder in path.parents:
        if folder.exists():
            break
        missing.append(folder)
    for folder in reversed(missing):
        folder.mkdir(mode=0o700, exist_ok=True)
    path.mkdir(mode=0o700, exist_ok=True)
