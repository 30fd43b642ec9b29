"""The least that any client must do: aiohttp, a split at blank lines, a fast JSON parser.

The floor stamps every chunk and keeps the text, and does nothing else: no dialects, no limits, no
faults. ``typed`` decodes only the fields that are wanted; ``dicts`` builds what orjson builds.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import aiohttp
import msgspec


class _Delta(msgspec.Struct):
    content: str | None = None
    tool_calls: list[Any] | None = None


class _Choice(msgspec.Struct):
    delta: _Delta


class _Chunk(msgspec.Struct):
    choices: list[_Choice]


_typed = msgspec.json.Decoder(_Chunk).decode
_dicts = msgspec.json.Decoder().decode


@dataclass(slots=True)
class Heard:
    """What came of one request: text, a stamp a chunk, pieces of calls, the time of sending."""

    sent: float
    text: list[str] = field(default_factory=list)
    stamps: list[float] = field(default_factory=list)
    calls: list[Any] = field(default_factory=list)


def typed(data: bytes, heard: Heard, at: float) -> None:
    """One event into a typed value."""
    chunk = _typed(data)
    for choice in chunk.choices:
        if choice.delta.content:
            heard.text.append(choice.delta.content)
            heard.stamps.append(at)
        if choice.delta.tool_calls:
            heard.calls += choice.delta.tool_calls


def dicts(data: bytes, heard: Heard, at: float) -> None:
    """One event into dicts and lists."""
    for choice in _dicts(data)["choices"]:
        delta = choice["delta"]
        if content := delta.get("content"):
            heard.text.append(content)
            heard.stamps.append(at)
        if calls := delta.get("tool_calls"):
            heard.calls += calls


async def ask(
    session: aiohttp.ClientSession,
    url: str,
    body: bytes,
    take: Callable[[bytes, Heard, float], None] = typed,
) -> Heard:
    """One request and all of its answer."""
    headers = {"Content-Type": "application/json"}
    heard = Heard(time.monotonic())
    async with session.post(f"{url}/chat/completions", data=body, headers=headers) as response:
        tail = b""
        async for data in response.content.iter_any():
            at = time.monotonic()
            *events, tail = (tail + data).split(b"\n\n")
            for event in events:
                payload = event[6:]
                if payload != b"[DONE]":
                    take(payload, heard, at)
    return heard


def body_of(model: str, messages: list[dict[str, Any]]) -> bytes:
    """A streamed request's body, encoded at once."""
    return json.dumps({"model": model, "stream": True, "messages": messages}).encode()
