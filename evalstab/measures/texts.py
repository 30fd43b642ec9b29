"""The channel texts of a step: what the model wrote, and where.

``reasoning`` and ``content`` are the texts of a reply. ``arguments`` are the decoded string values
of its tool calls, ``file`` what it wrote into files. Several values of one channel are joined by a
line break: offsets count code points in that joined text, so every place has one number. ``old`` of
an edit only quotes what stands in the file and belongs to no channel.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import msgspec

from evalstab.chat import ToolCall
from evalstab.endpoint.base import Reply
from evalstab.findings import Channel
from evalstab.trial.record import Step, ToolResult

WRITES = {"write_file": "content", "edit_file": "new"}
"""Writing tools and the argument that goes into the file."""
_QUOTES = {"edit_file": "old"}
_MAX_DEPTH = 32


@dataclass(frozen=True, slots=True)
class Piece:
    """One text of a channel; ``offset`` is where it begins in the channel's text of the reply.

    ``attempt`` is the attempt that brought it, ``path`` the file concerned or None. ``raw`` says
    that the arguments could not be decoded and stand here as they came.
    """

    channel: Channel
    text: str
    attempt: int = 1
    offset: int = 0
    path: str | None = None
    raw: bool = False


class _Message(msgspec.Struct):
    role: str = ""
    content: Any = None
    tool_call_id: str | None = None


_message = msgspec.json.Decoder(_Message)
_arguments = msgspec.json.Decoder()


def step_pieces(step: Step) -> tuple[Piece, ...]:
    """Everything the model wrote in a step, replies that were repeated included."""
    return tuple(
        piece
        for attempt in step.attempts
        if attempt.reply is not None
        for piece in reply_pieces(attempt.reply, attempt.number)
    )


def reply_pieces(reply: Reply, attempt: int = 1) -> Iterator[Piece]:
    """The channel texts of one reply: reasoning, content, then arguments and files by call."""
    if reply.reasoning:
        yield Piece("reasoning", reply.reasoning, attempt)
    if reply.content:
        yield Piece("content", reply.content, attempt)
    ends: dict[Channel, int] = {"arguments": 0, "file": 0}
    for call in reply.tool_calls:
        for channel, text, path, raw in _call_texts(call):
            if text:
                yield Piece(channel, text, attempt, ends[channel], path, raw)
                ends[channel] += len(text) + 1


def call_arguments(call: ToolCall) -> dict[str, Any] | None:
    """The arguments of a call as an object, or None where they are none."""
    try:
        decoded = _arguments.decode(call.arguments)
    except (msgspec.MsgspecError, RecursionError, UnicodeError):
        return None
    return decoded if isinstance(decoded, dict) else None


def _call_texts(call: ToolCall) -> Iterator[tuple[Channel, str, str | None, bool]]:
    arguments = call_arguments(call)
    if arguments is None:
        yield "arguments", call.arguments, None, True
        return
    path = arguments.get("path")
    path = path if isinstance(path, str) else None
    for key, value in arguments.items():
        if key == _QUOTES.get(call.name):
            continue
        channel: Channel = "file" if key == WRITES.get(call.name) else "arguments"
        for text in _strings(value, _MAX_DEPTH):
            yield channel, text, path, False


def _strings(value: Any, depth: int) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif depth and isinstance(value, (dict, list)):
        for part in value.values() if isinstance(value, dict) else value:
            yield from _strings(part, depth - 1)


def message_text(message: msgspec.Raw) -> tuple[str, str, str | None]:
    """Role, text and tool call id of a message as it was sent; texts of parts are joined."""
    try:
        decoded = _message.decode(message)
    except (msgspec.MsgspecError, RecursionError, UnicodeError):
        return "", "", None
    content = decoded.content
    if isinstance(content, list):
        parts = (part.get("text") for part in content if isinstance(part, dict))
        content = "\n".join(part for part in parts if isinstance(part, str))
    return decoded.role, content if isinstance(content, str) else "", decoded.tool_call_id


def given_texts(step: Step, written: set[str]) -> tuple[str, ...]:
    """What the tools gave the model to read in a step, its own words left out.

    Left out are errors (they quote the call), files that the agent itself wrote (``written``,
    brought up to date here), and searches once it wrote anything.
    """
    results = {result.call_id: result for result in step.results}
    texts: list[str] = []
    for message in step.append:
        role, text, call_id = message_text(message)
        if role != "assistant" and text and not _own_words(results.get(call_id or ""), written):
            texts.append(text)
    written.update(r.path for r in step.results if r.wrote and r.path)
    return tuple(texts)


def _own_words(result: ToolResult | None, written: set[str]) -> bool:
    if result is None:
        return False
    if result.error is not None or (result.path is not None and result.path in written):
        return True
    return result.wrote or (result.name == "search_files" and bool(written))
