"""Requests and answers of the responses and messages APIs in the form of chat completions.

Answers become chat chunks, so that the one reader of replies judges them all. What an API says
that chat completions cannot say is left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from evalstab.chat import Json, ToolSpec

_FINISH = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "tool_use": "tool_calls",
    "max_tokens": "length",
    "refusal": "content_filter",
}
_LIMITS = ("max_tokens", "max_completion_tokens", "max_output_tokens")
_TURNS = frozenset({"messages", "input", "system", "instructions"})
_NAMES = frozenset({"client_metadata", "metadata", "prompt_cache_key", "user"})
"""Fields in which agents only say which session, turn and machine a request comes from."""


def kind_of(path: str) -> str:
    """Which API a path belongs to: chat, responses or messages."""
    if path.endswith("/responses"):
        return "responses"
    return "messages" if path.endswith("/messages") else "chat"


def messages_of(path: str, body: Json) -> list[Json]:
    """The conversation of a request as chat messages."""
    kind = kind_of(path)
    if kind == "chat":
        return [m for m in body.get("messages") or [] if isinstance(m, dict)]
    made: list[Json] = []
    lead = body.get("instructions") if kind == "responses" else body.get("system")
    if text := text_of(lead):
        made.append({"role": "system", "content": text})
    turns = body.get("input") if kind == "responses" else body.get("messages")
    if isinstance(turns, str):
        return [*made, {"role": "user", "content": turns}]
    for turn in turns or []:
        if isinstance(turn, dict):
            made += _item(turn) if kind == "responses" else _turn(turn)
    return _joined(made)


def fields_of(body: Json) -> Json:
    """The request's fields besides the conversation and the names of its session, as sent."""
    return {key: value for key, value in body.items() if key not in _TURNS | _NAMES}


def tools_of(body: Json) -> tuple[ToolSpec, ...]:
    """The tools on offer, whichever API describes them."""
    tools = []
    for tool in body.get("tools") or []:
        if not isinstance(tool, dict):
            continue
        function = tool.get("function")
        inner = function if isinstance(function, dict) else tool
        name = inner.get("name")
        parameters = inner.get("parameters") or inner.get("input_schema") or {}
        if isinstance(name, str) and isinstance(parameters, dict):
            about = inner.get("description")
            tools.append(ToolSpec(name=name, description=str(about or ""), parameters=parameters))
    return tuple(tools)


def limit_of(body: Json) -> int | None:
    """The most tokens that the request allows the answer."""
    found = next((body[key] for key in _LIMITS if isinstance(body.get(key), int)), None)
    return found if isinstance(found, int) else None


def text_of(content: Any) -> str:
    """The text of a message's content, whatever its parts are called."""
    if isinstance(content, str):
        return content
    if isinstance(content, dict):
        content = [content]
    if not isinstance(content, list):
        return ""
    parts = (part.get("text") if isinstance(part, dict) else part for part in content)
    return "\n".join(part for part in parts if isinstance(part, str))


def _item(item: Json) -> list[Json]:
    """One item of a responses request."""
    kind = item.get("type", "message")
    if kind == "message":
        role = item.get("role")
        return [
            {"role": "system" if role == "developer" else role, "content": text_of(item["content"])}
        ] if "content" in item else []  # fmt: skip
    if kind in ("function_call", "custom_tool_call"):
        arguments = item.get("arguments", item.get("input"))
        return [_assistant(calls=[_call(item.get("call_id"), item.get("name"), arguments)])]
    if kind in ("function_call_output", "custom_tool_call_output"):
        output = item.get("output")
        text = output if isinstance(output, str) else text_of(output)
        return [{"role": "tool", "tool_call_id": str(item.get("call_id")), "content": text}]
    if kind == "reasoning":
        text = text_of(item.get("content")) or text_of(item.get("summary"))
        return [_assistant(reasoning=text)] if text else []
    return []


def _turn(turn: Json) -> list[Json]:
    """One turn of a messages request: results of tools become messages of their own."""
    role, content = turn.get("role"), turn.get("content")
    if isinstance(content, str):
        return [{"role": role, "content": content}]
    made: list[Json] = []
    for block in content if isinstance(content, list) else []:
        kind = block.get("type") if isinstance(block, dict) else None
        if kind == "tool_result":
            text = text_of(block.get("content"))
            made.append(
                {"role": "tool", "tool_call_id": str(block.get("tool_use_id")), "content": text}
            )
        elif kind == "tool_use":
            made.append(
                _assistant(calls=[_call(block.get("id"), block.get("name"), block.get("input"))])
            )
        elif kind == "thinking":
            made.append(_assistant(reasoning=str(block.get("thinking") or "")))
        elif kind == "text":
            made.append({"role": role, "content": str(block.get("text") or "")})
    return made


def _assistant(reasoning: str | None = None, calls: list[Json] | None = None) -> Json:
    message: Json = {"role": "assistant", "content": None}
    if reasoning:
        message["reasoning"] = reasoning
    if calls:
        message["tool_calls"] = calls
    return message


def _call(id_: Any, name: Any, arguments: Any) -> Json:
    text = arguments if isinstance(arguments, str) else encoded(arguments)
    function = {"name": str(name or ""), "arguments": text}
    return {"id": str(id_ or ""), "type": "function", "function": function}


def _joined(messages: list[Json]) -> list[Json]:
    """Pieces of one assistant turn as one message."""
    made: list[Json] = []
    for message in messages:
        last = made[-1] if made else None
        if last is None or message["role"] != "assistant" or last["role"] != "assistant":
            made.append(dict(message))
            continue
        for key in ("content", "reasoning"):
            if message.get(key):
                last[key] = "\n".join(filter(None, (last.get(key), message[key])))
        if message.get("tool_calls"):
            last["tool_calls"] = [*last.get("tool_calls", []), *message["tool_calls"]]
    return made


def encoded(value: Any) -> str:
    """A JSON value as text; an empty object where there is none."""
    return msgspec.json.encode({} if value is None else value).decode()


def finish_word(word: Any) -> Any:
    """A finish reason in the words of chat completions."""
    return _FINISH.get(word, word) if isinstance(word, str) else None


def usage_of_messages(usage: Any) -> Json:
    """Token counts of the messages API: what was read from or written to the cache is added."""
    if not isinstance(usage, dict):
        return {}
    cached = _number(usage, "cache_read_input_tokens")
    prompt = _number(usage, "input_tokens") + cached + _number(usage, "cache_creation_input_tokens")
    made: Json = {}
    if "input_tokens" in usage:
        made |= {"prompt_tokens": prompt, "prompt_tokens_details": {"cached_tokens": cached}}
    if "output_tokens" in usage:
        made["completion_tokens"] = _number(usage, "output_tokens")
    return made


def usage_of_responses(usage: Any) -> Json:
    """Token counts of the responses API: cached and reasoning tokens are already included."""
    if not isinstance(usage, dict):
        return {}
    return {
        "prompt_tokens": _number(usage, "input_tokens"),
        "completion_tokens": _number(usage, "output_tokens"),
        "prompt_tokens_details": usage.get("input_tokens_details"),
        "completion_tokens_details": usage.get("output_tokens_details"),
    }


def chunk(delta: Json | None = None, finish: Any = None, **other: Any) -> Json:
    """One chat chunk."""
    choice: Json = {"index": 0, "delta": delta or {}, "finish_reason": finish}
    return {"choices": [choice], **other}


def lines(chunks: Iterator[Json]) -> bytes:
    """Chunks as the bytes of a stream."""
    return b"".join(b"data: " + msgspec.json.encode(one) + b"\n\n" for one in chunks)


def _number(usage: Json, key: str) -> int:
    value = usage.get(key)
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else 0
