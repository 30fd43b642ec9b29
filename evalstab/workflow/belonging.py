"""Which of the sessions in a store worked on the task that is named for them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

import msgspec

from evalstab.intake.session import Session
from evalstab.task.model import Task
from evalstab.workflow.request import Announce

HEAD = 120
"""Characters of a prompt by which it is known again; agents wrap it, and may add to its end."""
TOLD = 20
"""Sessions that are named one by one; of more the rest is counted."""
FEWEST = 3
"""Sessions from which on more than half of them can show what the others are not."""

_NUMBER = re.compile(r"\d+")


def of_task(sessions: Sequence[Session], task: Task | None, announce: Announce) -> list[Session]:
    """The sessions that carry the task's prompt; each other one is told of and left out.

    Where none carries it (people say it in words of their own), those that begin as more than
    half of all do, numbers aside; where there is no such half, or no task, all of them.
    """
    if task is None:
        return list(sessions)
    prompt = _plain(task.prompt_text)[:HEAD]
    fits = [prompt in _asked(session) for session in sessions]
    why = f"it does not carry the prompt of {task.name}"
    if not prompt or not any(fits):
        usual = _usual(sessions)
        fits = [usual is None or _beginning(session) == usual for session in sessions]
        why = "it begins with another prompt than most"
    for line in _told([one for one, fit in zip(sessions, fits, strict=True) if not fit], why):
        announce(line)
    return [one for one, fit in zip(sessions, fits, strict=True) if fit]


def _told(others: Sequence[Session], why: str) -> Iterator[str]:
    mend = "choose sessions with --group-by, --group-by '^' keeps all"
    for session in others[:TOLD]:
        answers = f"{len(session.steps)} answer{'' if len(session.steps) == 1 else 's'}"
        yield f"session {session.id[:80]!r} ({answers}) was left out: {why}; {mend}"
    if len(others) > TOLD:
        yield f"{len(others) - TOLD} more sessions were left out for the same reason; {mend}"


def _usual(sessions: Sequence[Session]) -> str | None:
    """The beginning that more than half of the sessions share, None where there is none."""
    if len(sessions) < FEWEST:
        return None
    beginning, count = Counter(map(_beginning, sessions)).most_common(1)[0]
    return beginning if beginning and 2 * count > len(sessions) else None


def _beginning(session: Session) -> str:
    return _NUMBER.sub("", _asked(session))[:HEAD]


def _asked(session: Session) -> str:
    """All that was said to the model before its first answer."""
    messages = (msgspec.json.decode(message) for message in session.started.messages)
    said = [m for m in messages if isinstance(m, dict) and m.get("role") == "user"]
    return _plain("\n".join(text for m in said for text in _texts(m.get("content"))))


def _texts(content: object) -> Iterator[str]:
    if isinstance(content, str):
        yield content
    elif isinstance(content, list):
        parts = (part.get("text") for part in content if isinstance(part, dict))
        yield from (text for text in parts if isinstance(text, str))


def _plain(text: str) -> str:
    return " ".join(text.split())
