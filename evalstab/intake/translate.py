"""Streams (and whole answers) of the responses and messages APIs as streams of chat chunks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Protocol

import msgspec

from evalstab.chat import Json
from evalstab.intake.chat_forms import (
    chunk,
    encoded,
    finish_word,
    lines,
    usage_of_messages,
    usage_of_responses,
)

LONGEST_EVENT = 32 << 20
_DONE = b"data: [DONE]\n\n"
_TEXT_DELTAS = {
    "response.output_text.delta": "content",
    "response.reasoning_text.delta": "reasoning",
    "response.reasoning_summary_text.delta": "reasoning",
}
_CALL_DELTAS = ("response.function_call_arguments.delta", "response.custom_tool_call_input.delta")


class Translator(Protocol):
    """Turns the bytes of an answer into those of a chat stream, piece by piece."""

    def feed(self, data: bytes) -> bytes:
        """The chat stream's next bytes."""
        ...

    def finish(self) -> bytes:
        """What is left when the answer has ended."""
        ...


class AsItIs:
    """Chat completions need no translation."""

    def feed(self, data: bytes) -> bytes:
        """The same bytes."""
        return data

    def finish(self) -> bytes:
        """Nothing."""
        return b""


@dataclass(slots=True)
class _Events:
    """JSON of server-sent events, or of a whole body, in pieces of any size.

    What is no JSON object is handed on as it stands: the reader of chat streams judges it.
    """

    _tail: bytes = b""
    _body: bytearray = field(default_factory=bytearray)
    _streamed: bool = False

    def feed(self, data: bytes) -> Iterator[Json | bytes]:
        *whole, self._tail = (self._tail + data).split(b"\n")
        for line in whole:
            if line.startswith(b"data:"):
                self._streamed = True
                event = _decoded(line[5:])
                yield line + b"\n\n" if event is None else event
            elif not self._streamed and len(self._body) < LONGEST_EVENT:
                self._body += line + b"\n"
        if len(self._tail) > LONGEST_EVENT:
            self._tail = b""

    def finish(self) -> Iterator[Json | bytes]:
        rest = self._tail if self._streamed else bytes(self._body) + self._tail
        event = _decoded(rest.removeprefix(b"data:") if self._streamed else rest)
        yield rest if event is None else event


def _each(events: Iterator[Json | bytes], translate: Callable[[Json], bytes]) -> bytes:
    return b"".join(e if isinstance(e, bytes) else translate(e) for e in events)


def _decoded(data: bytes) -> Json | None:
    try:
        value = msgspec.json.decode(data)
    except (msgspec.MsgspecError, RecursionError, UnicodeError):
        return None
    return value if isinstance(value, dict) else None


@dataclass(slots=True)
class Responses:
    """The responses API."""

    _events: _Events = field(default_factory=_Events)
    _calls: dict[str, int] = field(default_factory=dict)

    def feed(self, data: bytes) -> bytes:
        """The chat stream's next bytes."""
        return _each(self._events.feed(data), self._event)

    def finish(self) -> bytes:
        """What is left when the answer has ended."""
        return _each(self._events.finish(), self._event)

    def _event(self, event: Json) -> bytes:
        kind = str(event.get("type", ""))
        inner = event.get("item") or event.get("response")
        inner = inner if isinstance(inner, dict) else {}
        if channel := _TEXT_DELTAS.get(kind):
            return lines(iter([chunk({channel: event.get("delta")})]))
        if kind in _CALL_DELTAS:
            index = self._calls.get(str(event.get("item_id")))
            return lines(iter([_part(index, {"arguments": event.get("delta")})]))
        if kind == "response.output_item.added":
            return self._added(inner)
        if kind in ("response.completed", "response.incomplete", "response.failed"):
            return self._ended(inner)
        if kind == "error" or (not kind and isinstance(event.get("error"), dict)):
            return lines(iter([{"error": event.get("error") or event}]))
        whole = event.get("object") == "response"
        return lines(self._whole(event)) + self._ended(event) if whole else b""

    def _added(self, item: Json) -> bytes:
        if item.get("type") not in ("function_call", "custom_tool_call"):
            return b""
        index = self._calls[str(item.get("id"))] = len(self._calls)
        name = {"name": item.get("name"), "arguments": item.get("arguments") or ""}
        return lines(iter([_part(index, name, item.get("call_id"))]))

    def _ended(self, response: Json) -> bytes:
        error = response.get("error")
        if isinstance(error, dict):
            return lines(iter([{"error": error}]))
        why = response.get("incomplete_details")
        limited = isinstance(why, dict) and why.get("reason") == "max_output_tokens"
        finish = "length" if limited else "tool_calls" if self._calls else "stop"
        usage = usage_of_responses(response.get("usage")) or None
        made = chunk(finish=finish, usage=usage, model=response.get("model"))
        return lines(iter([made])) + _DONE

    def _whole(self, response: Json) -> Iterator[Json]:
        for item in response.get("output") or []:
            kind = item.get("type") if isinstance(item, dict) else None
            if kind == "message":
                yield chunk({"content": _texts(item.get("content"))})
            elif kind == "reasoning":
                yield chunk({"reasoning": _texts(item.get("content") or item.get("summary"))})
            elif kind in ("function_call", "custom_tool_call"):
                index = self._calls[str(item.get("id"))] = len(self._calls)
                function = {"name": item.get("name"), "arguments": item.get("arguments") or ""}
                yield _part(index, function, item.get("call_id"))


@dataclass(slots=True)
class Messages:
    """The messages API."""

    _events: _Events = field(default_factory=_Events)
    _calls: dict[str, int] = field(default_factory=dict)
    _usage: Json = field(default_factory=dict)

    def feed(self, data: bytes) -> bytes:
        """The chat stream's next bytes."""
        return _each(self._events.feed(data), self._chunks)

    def finish(self) -> bytes:
        """What is left when the answer has ended."""
        return _each(self._events.finish(), self._chunks)

    def _chunks(self, event: Json) -> bytes:
        ended = event.get("type") in ("message_stop", "message")
        return lines(self._event(event)) + (_DONE if ended else b"")

    def _event(self, event: Json) -> Iterator[Json]:
        kind = event.get("type")
        if kind == "message_start":
            message = _dict(event.get("message"))
            self._count(message.get("usage"))
            yield {"choices": [], "model": message.get("model")}
        elif kind == "content_block_start":
            yield from self._block(str(event.get("index")), _dict(event.get("content_block")))
        elif kind == "content_block_delta":
            yield from self._delta(str(event.get("index")), _dict(event.get("delta")))
        elif kind == "message_delta":
            self._count(event.get("usage"))
            reason = _dict(event.get("delta")).get("stop_reason")
            yield chunk(finish=finish_word(reason), usage=self._usage or None)
        elif kind == "error":
            yield {"error": event.get("error") or event}
        elif isinstance(event.get("message"), str) and "code" in event:
            # llama.cpp names such an event "error", and sends the bare error in it.
            yield {"error": event}
        elif kind == "message":
            content = event.get("content")
            for index, block in enumerate(content if isinstance(content, list) else []):
                yield from self._block(str(index), _dict(block), whole=True)
            self._count(event.get("usage"))
            yield chunk(
                finish=finish_word(event.get("stop_reason")),
                usage=self._usage or None,
                model=event.get("model"),
            )

    def _count(self, usage: Any) -> None:
        self._usage = self._usage | usage_of_messages(usage)

    def _block(self, index: str, block: Json, *, whole: bool = False) -> Iterator[Json]:
        kind = block.get("type")
        if kind == "tool_use":
            place = self._calls[index] = len(self._calls)
            arguments = encoded(block.get("input")) if whole or block.get("input") else ""
            yield _part(place, {"name": block.get("name"), "arguments": arguments}, block.get("id"))
        elif kind == "text" and block.get("text"):
            yield chunk({"content": block["text"]})
        elif kind == "thinking" and block.get("thinking"):
            yield chunk({"reasoning": block["thinking"]})

    def _delta(self, index: str, delta: Json) -> Iterator[Json]:
        kind = delta.get("type")
        if kind == "text_delta":
            yield chunk({"content": delta.get("text")})
        elif kind == "thinking_delta":
            yield chunk({"reasoning": delta.get("thinking")})
        elif kind == "input_json_delta":
            yield _part(self._calls.get(index), {"arguments": delta.get("partial_json")})


def translator(kind: str) -> Translator:
    """The translator of an API's answers."""
    if kind == "responses":
        return Responses()
    return Messages() if kind == "messages" else AsItIs()


def _part(index: int | None, function: Json, id_: Any = None) -> Json:
    call: Json = {"index": index, "function": function}
    if id_:
        call["id"] = str(id_)
    return chunk({"tool_calls": [call]})


def _dict(value: Any) -> Json:
    return value if isinstance(value, dict) else {}


def _texts(content: Any) -> str:
    parts = content if isinstance(content, list) else []
    texts = (part.get("text") for part in parts if isinstance(part, dict))
    return "".join(text for text in texts if isinstance(text, str))
