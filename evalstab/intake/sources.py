"""Where sessions are read from: one file a format, and this table.

A format is a function from a path to sessions, and a word on what its source cannot know. A further
one is one more file and one more line here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from evalstab.intake import claude_code, codex, opencode, proxied
from evalstab.intake.session import Session, Unknown


@dataclass(frozen=True, slots=True)
class Source:
    """A format: ``sessions`` reads all sessions at a path, in order, and writes nothing there."""

    name: str
    what: str
    sessions: Callable[[Path], Iterator[Session]]
    unknown: Unknown


SOURCES = {
    source.name: source
    for source in (
        Source("opencode", "OpenCode's store", opencode.sessions, opencode.UNKNOWN),
        Source("codex", "Codex's rollouts", codex.sessions, codex.UNKNOWN),
        Source(
            "claude-code",
            "Claude Code's transcripts",
            claude_code.sessions,
            claude_code.UNKNOWN,
        ),
        Source("proxy", "exchanges of `evalstab record`", proxied.sessions, proxied.UNKNOWN),
    )
}
