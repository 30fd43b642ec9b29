"""Bytes of invented answers, for variants that no case file holds."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from evalstab.endpoint.base import Asked, Reply
from evalstab.endpoint.reply import EndKind
from tests.endpoint.cases import TOOLS, codes_of
from tests.endpoint.reading import read_bytes

BENIGN = {"stream.no_usage", "stream.no_done"}


def frame(**fields: Any) -> bytes:
    """One event."""
    return b"data: " + json.dumps(fields).encode() + b"\n\n"


def delta(**fields: Any) -> bytes:
    """One event with one choice and this delta."""
    return frame(model="demo", choices=[{"index": 0, "delta": fields, "finish_reason": None}])


def finish(reason: str | None = "stop") -> bytes:
    """The finishing event."""
    return frame(model="demo", choices=[{"index": 0, "delta": {}, "finish_reason": reason}])


def usage(prompt: int, completion: int) -> bytes:
    """The usage event."""
    counts = {"prompt_tokens": prompt, "completion_tokens": completion}
    return frame(model="demo", choices=[], usage=counts)


DONE = b"data: [DONE]\n\n"


def stream(*parts: bytes, reason: str | None = "stop", tokens: int = 50) -> bytes:
    """A whole stream: these events, a finish reason, usage, the end mark."""
    return b"".join(parts) + finish(reason) + usage(2000, tokens) + DONE


def pieces(key: str, text: str, size: int = 7) -> bytes:
    """A text as deltas of a few characters each."""
    return b"".join(delta(**{key: text[i : i + size]}) for i in range(0, len(text), size))


def call(index: int | None, **function: Any) -> bytes:
    """One piece of a tool call; ``id`` and ``type`` are taken out of the function's fields."""
    entry: dict[str, Any] = {} if index is None else {"index": index}
    for key in ("id", "type"):
        if key in function:
            entry[key] = function.pop(key)
    if function:
        entry["function"] = function
    return delta(tool_calls=[entry])


def body(message: dict[str, Any], reason: str | None = "stop", tokens: int = 50) -> bytes:
    """A completion that was not streamed."""
    value = {
        "model": "demo",
        "choices": [{"index": 0, "message": message, "finish_reason": reason}],
        "usage": {"prompt_tokens": 2000, "completion_tokens": tokens},
    }
    return json.dumps(value).encode()


def read(
    data: bytes | Iterable[bytes], end: EndKind = "closed", **asked: Any
) -> tuple[Reply, set[str]]:
    """The reply and the codes of its findings; an absent reply is an empty one."""
    parts = [data] if isinstance(data, bytes) else data
    reply, findings = read_bytes(parts, Asked(tools=TOOLS, **asked), end)
    return reply or Reply(), codes_of(findings)
