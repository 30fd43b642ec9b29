"""Sessions of OpenCode, of all three generations of its store, as records."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from evalstab.chat import Json
from evalstab.endpoint.base import Attempt
from evalstab.intake.opencode_stores import RawMessage, RawSession, raw_sessions
from evalstab.intake.outcome import AWAY, ended
from evalstab.intake.session import Draft, Session
from evalstab.intake.stored import (
    Stored,
    counts,
    dictionary,
    dropped,
    gone,
    overflowed,
    refused,
    texts,
    total,
)

SOURCE = "opencode"
UNKNOWN = {
    "times": "OpenCode stores when an answer began and ended, not when its tokens came",
    "sampling": "OpenCode does not store the sampling parameters that it sends",
    "tools": "OpenCode does not store which tools it offered",
    "retries": "retries of OpenCode that succeed leave no trace",
}
_FINISH = {"tool-calls": "tool_calls", "content-filter": "content_filter"}
_STORM = 3
"""Cut streams in a row from which on OpenCode asks again without end."""


def sessions(path: Path) -> Iterator[Session]:
    """All sessions of a store with at least one answer; sessions of subagents name a parent."""
    for raw in raw_sessions(path):
        made = session_of(raw)
        if made.steps:
            yield made


def session_of(raw: RawSession) -> Session:
    """One session of a store."""
    info = raw.info
    draft = Draft(
        source=SOURCE,
        id=str(info.get("id", "")),
        title=str(info.get("title") or ""),
        directory=str(info.get("directory") or ""),
        version=info.get("version"),
        parent=info.get("parent_id") or info.get("parentID"),
        unknown=UNKNOWN,
    )
    following = [*raw.messages[1:], None]
    for message, after in zip(raw.messages, following, strict=True):
        if message.data.get("role") == "assistant":
            _answer(draft, message, after)
        else:
            _said(draft, message)
    return _ended(draft)


def _ended(draft: Draft) -> Session:
    session = ended(draft)
    row = 0
    for step in reversed(session.steps):
        if not any(f.code == "stream.dropped" for a in step.attempts for f in a.findings):
            break
        row += 1
    if row < _STORM:
        return session
    reason = (
        f"the stream was cut {row} times in a row, and OpenCode asks again at once without end: "
        "mend the endpoint before you let it run overnight"
    )
    return draft.session("failed", "endpoint", reason)


def _said(draft: Draft, message: RawMessage) -> None:
    """What a user (or OpenCode itself, in the user's name) said."""
    draft.seen(_seconds(message.data, "created"))
    if any(part.get("type") == "compaction" for part in message.parts):
        draft.compacted()
    said = texts([p.get("text") for p in message.parts if p.get("type") == "text"])
    if said:
        draft.message({"role": "user", "content": "\n".join(said)})


def _answer(draft: Draft, message: RawMessage, after: RawMessage | None) -> None:
    data = message.data
    draft.model = draft.model or data.get("modelID")
    stored = _stored(message)
    at = _seconds(data, "created")
    until = _seconds(data, "completed")
    attempt = _attempt(stored, message, after, at)
    draft.step([attempt], at=at, until=until)
    for part in message.parts:
        if part.get("type") == "tool":
            _result(draft, part)
    if data.get("summary"):
        draft.compacted()


def _attempt(
    stored: Stored, message: RawMessage, after: RawMessage | None, at: float | None
) -> Attempt:
    data = message.data
    error = dictionary(data.get("error"))
    if error:
        return _failed(error, stored, at)
    if stored.finish is not None or stored.cut:
        return stored.attempt(at)
    parts = after.parts if after is not None else ()
    if any(p.get("type") == "compaction" and p.get("overflow") for p in parts):
        return overflowed("OpenCode shortened the conversation after a refusal", at)
    attempt = stored.attempt(at) if not stored.nothing else gone(at, AWAY)
    return msgspec.structs.replace(
        attempt,
        action="end_trial",
        error=AWAY,
        findings=tuple(f for f in attempt.findings if f.code != "stream.no_finish"),
    )


def _failed(error: Json, stored: Stored, at: float | None) -> Attempt:
    name, data = str(error.get("name", "")), dictionary(error.get("data"))
    said = str(data.get("message") or name)
    if name == "MessageAbortedError":
        return gone(at, AWAY)
    if name == "ContextOverflowError":
        return overflowed(said, at)
    if name == "MessageOutputLengthError":
        stored.finish = "length"
        return stored.attempt(at)
    status = data.get("statusCode")
    if not isinstance(status, int) and not stored.nothing:
        return dropped(at, said)
    body = data.get("responseBody")
    kept = body if isinstance(body, str) else None
    return refused(status if isinstance(status, int) else None, said, kept, at)


def _stored(message: RawMessage) -> Stored:
    data = message.data
    finish = data.get("finish")
    stored = Stored(
        finish=_FINISH.get(finish, finish) if isinstance(finish, str) else None,
        usage=_usage(dictionary(data.get("tokens"))),
        model=data.get("modelID"),
    )
    if finish == "unknown":
        stored.finish, stored.cut = None, True
    for part in message.parts:
        kind, text = part.get("type"), part.get("text")
        if kind == "reasoning" and isinstance(text, str):
            stored.reasoning.append(text)
        elif kind == "text" and isinstance(text, str) and not part.get("synthetic"):
            stored.content.append(text)
        elif kind == "tool":
            _call(stored, part)
    return stored


def _call(stored: Stored, part: Json) -> None:
    """A call; those that OpenCode could not run stand under the name ``invalid``."""
    state = dictionary(part.get("state"))
    given = dictionary(state.get("input"))
    name, arguments = str(part.get("tool") or ""), msgspec.json.encode(given).decode()
    if name == "invalid":
        name, error = str(given.get("tool") or ""), str(given.get("error") or "")
        if "unavailable tool" in error:
            stored.unknown.add(name)
            arguments = "{}"
        else:
            arguments = _raw_arguments(error)
    elif state.get("status") == "pending" and not given:
        raw = state.get("raw")
        arguments = raw if isinstance(raw, str) else ""
    stored.calls.append((str(part.get("callID") or ""), name, arguments))


def _raw_arguments(error: str) -> str:
    """The arguments as the model wrote them, which OpenCode quotes in its error."""
    _, found, quoted = error.partition("Text: ")
    if not found:
        return "{"
    return quoted.split("\nError message:")[0].rstrip().removesuffix(".")


def _result(draft: Draft, part: Json) -> None:
    state = dictionary(part.get("state"))
    status, call = state.get("status"), str(part.get("callID") or "")
    if status == "error":
        said = str(state.get("error") or "")
        draft.result(call, said, error=said or "the tool failed")
    elif status == "completed":
        said = str(state.get("output") or "")
        failed = part.get("tool") == "invalid" or dictionary(state.get("metadata")).get("exit")
        draft.result(call, said, error=(said or "the command failed") if failed else None)


def _usage(tokens: Json) -> Json | None:
    """OpenCode counts cached tokens beside the input and reasoning beside the output."""
    cache = dictionary(tokens.get("cache"))
    return counts(
        total(tokens.get("input"), cache.get("read"), cache.get("write")),
        total(tokens.get("output"), tokens.get("reasoning")),
        cached=cache.get("read"),
        reasoning=tokens.get("reasoning"),
    )


def _seconds(data: Json, key: str) -> float | None:
    value: Any = dictionary(data.get("time")).get(key)
    numeric = isinstance(value, int | float) and not isinstance(value, bool)
    return value / 1000 if numeric else None
