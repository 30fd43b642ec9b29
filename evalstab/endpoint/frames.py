"""The one shape into which every server's answer is brought, and how JSON gets into it.

A ``Frame`` is one event of a stream or a whole body that was not streamed. The typed decoder takes
the common case at full speed; whatever it refuses (a list where a string belongs, an object
where a list belongs, half a surrogate pair) is read leniently and mended by ``coerce``.
Serves B16 and B25 (objects for strings and lists), B32 (envelopes), C4 (error as a string), C8
(native Ollama lines), C14 (``message`` instead of ``delta``) and C16 (halves of characters).
"""

from __future__ import annotations

import json
from typing import Any

import msgspec

from evalstab.endpoint.halves import whole_characters, whole_json

MAX_ID = 200


class FunctionPart(msgspec.Struct):
    """Name and arguments of a call, or a piece of them; arguments may be text or an object."""

    name: str | None = None
    arguments: Any = None


class CallPart(msgspec.Struct):
    """One entry of ``tool_calls``; an empty string means the same as absent (B9)."""

    index: int | None = None
    id: str | None = None
    function: FunctionPart | None = None


class Delta(msgspec.Struct):
    """What a choice carries, in a ``delta`` or in a whole ``message``."""

    content: str | list[Any] | None = None
    reasoning: str | None = None
    reasoning_content: str | None = None
    reasoning_details: list[Any] | None = None
    tool_calls: list[CallPart] | None = None
    function_call: FunctionPart | None = None
    refusal: str | None = None

    def texts(self) -> bool:
        """Whether anything visible, thought or called stands in it."""
        return bool(
            self.content
            or self.reasoning
            or self.reasoning_content
            or self.reasoning_details
            or self.tool_calls
            or self.function_call
        )


class Choice(msgspec.Struct):
    """One choice; its index is never looked at, for there is only one (C14)."""

    delta: Delta | None = None
    message: Delta | None = None
    finish_reason: str | None = None
    usage: Any = None
    error: Any = None


class Frame(msgspec.Struct):
    """One JSON event; ``error`` or ``base_resp`` may say that HTTP 200 was no success (C3, C22)."""

    choices: list[Choice] | None = None
    usage: Any = None
    timings: Any = None
    error: Any = None
    model: str | None = None
    provider: str | None = None
    system_fingerprint: str | None = None
    id: str | None = None
    base_resp: Any = None
    data: Any = None
    object: Any = None
    message: Any = None
    detail: Any = None
    done: Any = None
    code: Any = None
    type: Any = None
    success: Any = None


class TooDeep(Exception):
    """The JSON is nested more deeply than any answer needs to be."""


_typed = msgspec.json.Decoder(Frame).decode
_CHOICE_KEYS = frozenset({"delta", "message", "finish_reason"})
_TEXT_KEYS = ("reasoning", "reasoning_content", "refusal")


def decode(data: bytes) -> Frame | None:
    """The frame in these bytes, or ``None`` where they are no JSON object (or list of them).

    Raises TooDeep where the nesting passes what the decoders follow (about 1,000 levels).
    """
    try:
        frame = _typed(data)
    except (ValueError, RecursionError):
        return _decode_leniently(data)
    if frame.choices is None:
        return _unusual(frame, data)
    return frame


def _unusual(frame: Frame, data: bytes) -> Frame | None:
    """A frame without choices: as it is, unless choices are hidden in an envelope."""
    if frame.data is None and frame.done is None:
        return frame
    return _decode_leniently(data)


def _decode_leniently(data: bytes) -> Frame | None:
    try:
        value = json.loads(data.decode("utf-8", "replace"))
    except RecursionError:
        raise TooDeep from None
    except ValueError:
        return None
    if isinstance(value, list) and value:
        value = value[0]
    return coerce(value) if isinstance(value, dict) else None


def decode_json(data: bytes) -> Any:
    """Any JSON value in these bytes, read leniently; ``None`` where there is none."""
    try:
        return whole_json(json.loads(data.decode("utf-8", "replace")))
    except (ValueError, RecursionError):
        return None


def coerce(value: dict[str, Any]) -> Frame:
    """Bring any JSON object into the shape of a frame; what fits nowhere is left out."""
    value = _unwrap(value)
    if "choices" not in value and "done" in value and isinstance(value.get("message"), dict):
        value = _from_ollama(value)
    choices = value.get("choices")
    if isinstance(choices, dict):
        choices = [choices]
    made = None
    if isinstance(choices, list):
        made = [_choice(item) for item in choices if isinstance(item, dict)]
    frame = Frame(choices=made)
    for name in ("usage", "timings", "error", "base_resp", "data", "object", "message", "detail"):
        setattr(frame, name, whole_json(value.get(name)))
    for name in ("code", "type", "success"):
        setattr(frame, name, whole_json(value.get(name)))
    for name in ("model", "provider", "system_fingerprint", "id"):
        setattr(frame, name, _name(value.get(name)))
    return frame


def _unwrap(value: dict[str, Any]) -> dict[str, Any]:
    """Take the completion out of ``{"data": {…}, "success": true}`` and its relatives (B32)."""
    for key in ("data", "result", "response", "output"):
        inner = value.get(key)
        if "choices" not in value and isinstance(inner, dict) and "choices" in inner:
            return inner
    return value


def _from_ollama(value: dict[str, Any]) -> dict[str, Any]:
    """A line of Ollama's native chat stream as a chunk (counts in tokens)."""
    choice = {"delta": value["message"], "finish_reason": value.get("done_reason")}
    usage = {
        "prompt_tokens": value.get("prompt_eval_count"),
        "completion_tokens": value.get("eval_count"),
    }
    return {"choices": [choice], "usage": usage, "model": value.get("model")}


def _choice(value: dict[str, Any]) -> Choice:
    body = value.get("delta")
    message = value.get("message")
    if not isinstance(body, dict) and not isinstance(message, dict) and _text(value.get("text")):
        body = {"content": value["text"]}
    return Choice(
        delta=_delta(body) if isinstance(body, dict) else None,
        message=_delta(message) if isinstance(message, dict) else None,
        finish_reason=_name(value.get("finish_reason")),
        usage=value.get("usage"),
        error=whole_json(value.get("error")),
    )


def _delta(value: dict[str, Any]) -> Delta:
    content = value.get("content")
    if isinstance(content, dict):
        content = [content]
    delta = Delta(content=content if isinstance(content, (str, list)) else None)
    for name in _TEXT_KEYS:
        setattr(delta, name, _text(value.get(name)))
    if delta.reasoning is None:
        delta.reasoning = _text(value.get("thinking")) or _text(value.get("thought"))
    details = value.get("reasoning_details")
    if isinstance(details, dict):
        details = [details]
    delta.reasoning_details = details if isinstance(details, list) else None
    delta.tool_calls = _calls(value.get("tool_calls"))
    function = value.get("function_call")
    delta.function_call = _function(function) if isinstance(function, dict) else None
    return delta


def _calls(value: Any) -> list[CallPart] | None:
    if isinstance(value, dict):
        value = [value]
    if not isinstance(value, list):
        return None
    return [_call(item) for item in value if isinstance(item, dict)]


def _call(value: dict[str, Any]) -> CallPart:
    function = value.get("function")
    if isinstance(function, str):
        function = {"name": function, "arguments": value.get("arguments")}
    elif not isinstance(function, dict) and ("name" in value or "arguments" in value):
        function = value
    return CallPart(
        index=_index(value.get("index")),
        id=_identity(value.get("id")),
        function=_function(function) if isinstance(function, dict) else None,
    )


def _function(value: dict[str, Any]) -> FunctionPart:
    arguments = value.get("arguments", value.get("parameters"))
    return FunctionPart(name=_name(value.get("name")), arguments=arguments)


def _index(value: Any) -> int | None:
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 10:
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _identity(value: Any) -> str | None:
    return str(value)[:MAX_ID] if isinstance(value, int) else _name(value)


def _name(value: Any) -> str | None:
    """A text that is no piece of another: halves of characters in it are broken."""
    return whole_characters(value) if isinstance(value, str) else None


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None
