"""Requests of the responses and messages APIs as requests for chat completions.

The servers that speak these APIs do the same: one model, one template, several ways of asking. What
a chat request cannot say (tools that the server itself runs, pictures) is left out.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from evalstab.chat import Json

_CALLS = {"function_call": "arguments", "custom_tool_call": "input"}
_OUTPUTS = frozenset({"function_call_output", "custom_tool_call_output"})
_CHOICES = {"any": "required", "auto": "auto", "none": "none"}


def of_responses(body: Json, field: str) -> Json:
    """The chat request that a responses request amounts to; ``field`` is where reasoning stands.

    ``messages`` is missing where the request has no input.
    """
    given = body.get("input")
    items = [{"role": "user", "content": given}] if isinstance(given, str) else given
    effort = body.get("reasoning")
    made = {key: body[key] for key in _KEPT if key in body} | {
        "max_tokens": body.get("max_output_tokens"),
        "reasoning_effort": effort.get("effort") if isinstance(effort, dict) else None,
        "tools": [_tool(tool, "parameters") for tool in _dicts(body.get("tools")) if _own(tool)],
    }
    if isinstance(items, list) and items:
        lead = [{"role": "system", "content": _text(body.get("instructions"))}]
        turns = [message for item in _dicts(items) for message in _item(item, field)]
        made["messages"] = _joined([*lead, *turns] if lead[0]["content"] else turns, field)
    return made


def of_messages(body: Json, field: str) -> Json:
    """The chat request that a messages request amounts to; ``field`` is where reasoning stands."""
    choice = body.get("tool_choice")
    choice = choice if isinstance(choice, dict) else {}
    made = {key: body[key] for key in _KEPT if key in body and key != "tool_choice"} | {
        "tools": [_tool(tool, "input_schema") for tool in _dicts(body.get("tools"))],
        "tool_choice": _CHOICES.get(str(choice.get("type")), choice or None),
        "parallel_tool_calls": not choice.get("disable_parallel_tool_use"),
    }
    turns = body.get("messages")
    if isinstance(turns, list) and turns:
        # Claude Code puts reminders between the turns; servers move them to the front.
        asides = [turn.get("content") for turn in _dicts(turns) if turn.get("role") == "system"]
        lead = "\n".join(filter(None, map(_text, [body.get("system"), *asides])))
        own = [turn for turn in _dicts(turns) if turn.get("role") != "system"]
        said = [message for turn in own for message in _turn(turn, field)]
        first = [{"role": "system", "content": lead}] if lead else []
        made["messages"] = _joined([*first, *said], field)
    return made


_KEPT = (
    "model", "stream", "max_tokens", "tool_choice", "parallel_tool_calls", "thinking",
    "chat_template_kwargs", "cache_salt",
)  # fmt: skip


def _dicts(values: object) -> list[Json]:
    return [v for v in values if isinstance(v, dict)] if isinstance(values, list) else []


def _own(tool: Json) -> bool:
    """Whether the client runs this tool: the others are the server's, which has none."""
    return tool.get("type") in (None, "function", "custom")


def _tool(tool: Json, parameters: str) -> Json:
    schema = tool.get(parameters)
    about = {"name": tool.get("name"), "description": tool.get("description")}
    return {"type": "function", "function": {**about, "parameters": schema}}


def _text(content: object) -> str:
    """The text of a string or of parts; parts are put on lines of their own."""
    if isinstance(content, str):
        return content
    texts = (part.get("text") for part in _dicts(content))
    return "\n".join(text for text in texts if isinstance(text, str))


def _item(item: Json, field: str) -> Iterator[Json]:
    """The messages of one item of a responses request."""
    kind = str(item.get("type", "message"))
    if kind == "message":
        role = "system" if item.get("role") == "developer" else item.get("role")
        yield {"role": role, "content": _text(item.get("content"))}
    elif kind == "reasoning":
        yield {"role": "assistant", "content": "", field: _text(item.get("content"))}
    elif kind in _CALLS:
        given = item.get(_CALLS[kind])
        yield _calling(item.get("call_id"), item.get("name"), str(given or ""))
    elif kind in _OUTPUTS:
        output = item.get("output")
        text = output if isinstance(output, str) else _text(output)
        yield {"role": "tool", "tool_call_id": item.get("call_id"), "content": text}


def _turn(turn: Json, field: str) -> Iterator[Json]:
    """The messages of one turn of a messages request."""
    content, said = turn.get("content"), []
    if not isinstance(content, list):
        yield {"role": turn.get("role"), "content": content}
        return
    for block in _dicts(content):
        kind = block.get("type")
        if kind == "tool_result":
            text = _text(block.get("content"))
            failed = block.get("is_error") and not text.startswith("Error: ")
            answer = {"role": "tool", "tool_call_id": block.get("tool_use_id")}
            yield {**answer, "content": f"Error: {text}" if failed else text}
        elif kind == "tool_use":
            yield _calling(block.get("id"), block.get("name"), json.dumps(block.get("input")))
        elif kind == "thinking":
            yield {"role": "assistant", "content": "", field: str(block.get("thinking") or "")}
        elif kind == "text" and turn.get("role") == "assistant":
            yield {"role": "assistant", "content": str(block.get("text") or "")}
        elif kind == "text":
            said.append(block)
    if said:
        yield {"role": turn.get("role"), "content": _text(said)}


def _calling(id_: object, name: object, arguments: str) -> Json:
    call = {"id": id_, "type": "function", "function": {"name": name, "arguments": arguments}}
    return {"role": "assistant", "content": "", "tool_calls": [call]}


def _joined(messages: list[Json], field: str) -> list[Json]:
    """The parts of one assistant turn as one message."""
    made: list[Json] = []
    for message in messages:
        last: Mapping[str, Any] = made[-1] if made else {}
        if not message.get("role") == last.get("role") == "assistant":
            made.append(message)
            continue
        joined = {**last, "content": f"{last['content']}{message['content']}"}
        if thought := f"{last.get(field, '')}{message.get(field, '')}":
            joined[field] = thought
        if calls := [*last.get("tool_calls", []), *message.get("tool_calls", [])]:
            joined["tool_calls"] = calls
        made[-1] = joined
    return made
