"""What the simulated model writes when its agent shortens the conversation, and reads back then.

Agents ask for a summary and go on with nothing else. The summary repeats the task word for word,
for some agents keep no other copy of it, and says what was done and in which trial.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

HEADING = "## Progress so far"
_TASK = "## The task, word for word"
_DONE = re.compile(r"- (to read|read|written): `([^`\n]{1,300})`")
_TRIAL = re.compile(r"- trial: (\d{1,7})")
_MOST = 1000


@dataclass(frozen=True, slots=True)
class Progress:
    """What a summary says was done: files still to be read, read, and written."""

    unread: tuple[str, ...]
    read: tuple[str, ...]
    written: tuple[str, ...]


def summary(task: str, progress: Progress, trial: int) -> str:
    """The summary of a trial; ``task`` may be an earlier one, with what an agent put around it."""
    asked = task.rpartition(f"{_TASK}\n")[2].split(f"\n{HEADING}\n", maxsplit=1)[0].strip()
    lines = [_TASK, "", asked, "", HEADING, "", f"- trial: {trial}"]
    lines += [f"- to read: `{path}`" for path in progress.unread]
    lines += [f"- read: `{path}`" for path in progress.read]
    lines += [f"- written: `{path}`" for path in progress.written]
    return "\n".join([*lines, ""])


def _told(text: str) -> str:
    return text.rpartition(f"\n{HEADING}\n")[2] if f"\n{HEADING}\n" in text else ""


def progress_in(text: str) -> Progress | None:
    """What the last summary in a text says was done, ``None`` where there is none."""
    told = _told(text)
    if not told:
        return None
    lines = [found for line in told.splitlines()[:_MOST] if (found := _DONE.fullmatch(line))]
    unread, read, written = (
        tuple(found[2] for found in lines if found[1] == kind)
        for kind in ("to read", "read", "written")
    )
    return Progress(unread, read, written)


def trial_in(text: str) -> int | None:
    """The trial that the last summary in a text belongs to."""
    found = _TRIAL.search(_told(text)[:200])
    return int(found[1]) if found else None
