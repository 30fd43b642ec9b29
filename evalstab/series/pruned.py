"""A series whose raw records were taken away: its scores are all that is left, and they stay."""

from __future__ import annotations

from pathlib import Path

from evalstab.errors import FolderError

PRUNED = "pruned.json"


def require_records(root: Path) -> None:
    """FolderError where the records of a series are gone: what needs them cannot be done."""
    if (root / PRUNED).is_file():
        raise FolderError(
            f"{root}: its records were pruned; scores.json and the reports are what is left of it"
        )
