"""Which requests belong to one session: by path, by the agents' own marks, else by what is said."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from evalstab.chat import Json
from evalstab.intake.exchange import common, turns_of

MOST_REMEMBERED = 200
LONGEST_NAME = 100
_LOOKED_AT = 4
_LONGEST_MARK = 2000

_PREFIX = re.compile(r"^/s/([^/]{1,200})(/.*|$)")
_UNSAFE = re.compile(r"[^A-Za-z0-9_.-]+")
_HEADERS = (
    "x-session-id", "x-session-affinity", "x-claude-code-session-id", "session-id", "session_id",
    "thread-id",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Route:
    """A request's path without the session's part of it, and the session that it names."""

    path: str
    session: str | None


def route(path: str) -> Route:
    """``/s/NAME/v1/…`` names its session; every other path is passed on as it is."""
    found = _PREFIX.match(path)
    if found is None:
        return Route(path, None)
    return Route(found[2] or "/", safe_name(found[1]))


def safe_name(name: str) -> str:
    """A session's name as a folder's name."""
    clean = _UNSAFE.sub("-", name).strip(".-")[:LONGEST_NAME]
    return clean or "session"


def named_session(headers: Mapping[str, str], body: Any) -> str | None:
    """The session that an agent itself names, in its headers or in its request."""
    for name in _HEADERS:
        if value := headers.get(name):
            return safe_name(value)
    if not isinstance(body, dict):
        return None
    metadata = body.get("metadata")
    inner = metadata.get("session_id") if isinstance(metadata, dict) else None
    user = metadata.get("user_id") if isinstance(metadata, dict) else None
    for value in (body.get("prompt_cache_key"), inner, user, body.get("user")):
        if isinstance(value, str) and value:
            return safe_name(value)
    return None


@dataclass(slots=True)
class _Talk:
    """``said`` is what tells the last answer again in the next request: ids of calls, or text."""

    name: str
    turns: list[Any]
    failed: bool = False
    said: tuple[bytes, ...] = ()

    def heard_in(self, turns: Sequence[Any]) -> bool:
        """Whether a conversation goes on with this one's own answer."""
        after = msgspec.json.encode(turns[len(self.turns) : len(self.turns) + _LOOKED_AT])
        return any(mark in after for mark in self.said)


@dataclass(slots=True)
class Grouping:
    """Sessions told by what they say: a request belongs to the one whose turns it goes on with.

    A request that says again what a session opened with begins a new one, unless the last answer
    of that session failed: then it is the same asked again. One that goes on where a session
    stands is that session's before one that leaves its path. Where two agents say the same at
    once, their answers tell them apart.
    """

    _talks: list[_Talk] = field(default_factory=list)
    _count: int = 0

    def session(self, body: Any) -> str:
        """The session of a request that names none."""
        turns = turns_of(body)
        talk = self._known(turns) if turns else None
        if talk is None:
            self._count += 1
            talk = _Talk(f"session-{self._count:03d}", turns)
        else:
            self._talks.remove(talk)
            talk.turns = turns
        self._talks.append(talk)
        del self._talks[:-MOST_REMEMBERED]
        return talk.name

    def ended(self, name: str, *, failed: bool, said: Json | None = None) -> None:
        """How the last exchange of a session ended; ``said`` is its answer, put together."""
        for talk in self._talks:
            if talk.name == name:
                talk.failed = failed
                talk.said = _marks(said)

    def _known(self, turns: Sequence[Any]) -> _Talk | None:
        best: _Talk | None = None
        closest = (False, False, False, 0)
        for talk in reversed(self._talks):
            shared = common(turns, talk.turns)
            same = shared == len(turns) == len(talk.turns)
            if same and talk.failed:
                return talk
            opens = _opening(talk.turns)
            if same and opens == len(turns):
                continue
            follows = shared == len(talk.turns) and not same
            if not follows and not same and (shared < opens or len(turns) <= shared):
                continue
            if (close := (talk.heard_in(turns), follows, same, shared)) > closest:
                best, closest = talk, close
        return best


def _marks(said: Json | None) -> tuple[bytes, ...]:
    """What of an answer stands in the request that follows it, as JSON."""
    answer = said or {}
    calls = answer.get("tool_calls") or ()
    texts = [call.get("id") for call in calls] or [answer.get("content")]
    kept = [text[:_LONGEST_MARK] for text in texts if isinstance(text, str) and text]
    return tuple(msgspec.json.encode(text)[1:-1] for text in kept)


def _opening(turns: Sequence[Any]) -> int:
    """How many turns come before the first answer, at least one."""
    for number, turn in enumerate(turns):
        if isinstance(turn, dict) and turn.get("role") == "assistant":
            return max(number, 1)
    return max(len(turns), 1)
