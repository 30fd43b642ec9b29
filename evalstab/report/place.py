"""How a series folder is named in a command that is to be pasted."""

from __future__ import annotations

import shlex
from pathlib import Path

from evalstab.report import labels

REPORTS = "reports"
"""The folder into which series go where no other is named; commands are pasted beside it."""

_RUNG_DEPTH = 2


def named(root: Path) -> str:
    """For a page, the same wherever it is made: from ``reports/`` on where the folder lies there.

    A rung keeps its ladder: ``reports/LADDER/16k``. Elsewhere it is the folder's name alone.
    """
    whole = root.absolute()
    for depth, above in enumerate(whole.parents):
        if depth < _RUNG_DEPTH and above.name == REPORTS:
            return _quoted(str(whole.relative_to(above.parent)))
    return _quoted(whole.name)


def here(root: Path) -> str:
    """For a terminal: relative to the current folder, absolute where it lies elsewhere."""
    whole, current = root.absolute(), Path.cwd()
    return _quoted(str(whole.relative_to(current) if whole.is_relative_to(current) else whole))


def _quoted(path: str) -> str:
    return shlex.quote(labels.visible(path))
