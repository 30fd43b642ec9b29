"""The message that is sent back after a reply, in the form that this server reads.

Serves A6 to A9 (reasoning goes back in the form in which it came, and whether it arrived), B27
(arguments that are no JSON are never sent back) and B33 (ids go back byte for byte).
"""

from __future__ import annotations

from typing import Literal

from evalstab.chat import Json, ToolCall
from evalstab.endpoint.arguments import is_object
from evalstab.endpoint.base import Reply

Form = Literal[
    "auto", "reasoning", "reasoning_content", "reasoning_details", "blocks", "inline", "none"
]

UNNAMED = "unnamed_tool"
LEAST_TOKENS = 60
"""Reasoning of fewer tokens tells nothing about whether it was read."""
_CHARS_A_TOKEN = 5
_SURE_CHARS_A_TOKEN = 8


def assistant_message(reply: Reply, form: Form = "auto") -> Json:
    """The assistant message for the history; ``auto`` is the form in which the reasoning came.

    Arguments that are no JSON object are replaced by ``{}`` (``substituted`` names these calls, so
    that they can be answered with an error); a call that never had a name gets UNNAMED.
    """
    message: Json = {"role": "assistant", "content": reply.content}
    if reply.content is None and not reply.tool_calls:
        message["content"] = ""
    chosen = _form(reply, form)
    if reply.reasoning is not None or (chosen == "reasoning_details" and reply.reasoning_details):
        _add_reasoning(message, reply, chosen)
    if reply.tool_calls:
        message["tool_calls"] = [_call(call) for call in reply.tool_calls]
    return message


def substituted(reply: Reply) -> tuple[str, ...]:
    """The ids of those calls whose arguments are not sent back as they came."""
    return tuple(call.id for call in reply.tool_calls if not is_object(call.arguments))


def reasoning_dropped(before: Reply, after: Reply, other_chars: int) -> dict[str, int] | None:
    """The numbers that show that reasoning sent back was dropped by the server (A7), if they do.

    ``before`` is the reply whose reasoning went back with the next request, ``after`` the answer to
    that one; ``other_chars`` counts the characters that the request added besides (results of
    tools, arguments of calls). The prompt must have grown by all of it; it was dropped if the
    growth, in tokens as the server counts them, leaves no room for half of the reasoning. ``None``
    also where the server counts nothing, the reasoning is short, or the prompt shrank.
    """
    old = before.usage.prompt_tokens if before.usage else None
    new = after.usage.prompt_tokens if after.usage else None
    if old is None or new is None or new < old:
        return None
    stated = before.usage.reasoning_tokens if before.usage else None
    thought = stated or len(before.reasoning or "") // _CHARS_A_TOKEN
    least = other_chars // _SURE_CHARS_A_TOKEN + thought // 2
    if thought < LEAST_TOKENS or new - old >= least:
        return None
    return {"reasoning_tokens": thought, "prompt_grew_by": new - old}


def _form(reply: Reply, form: Form) -> Form:
    """The form to send: details that came are sent back even where none of them holds text (A2)."""
    if form != "auto":
        return form
    return reply.reasoning_field or ("reasoning_details" if reply.reasoning_details else "none")


def _add_reasoning(message: Json, reply: Reply, form: Form) -> None:
    reasoning = reply.reasoning or ""
    if form in ("reasoning", "reasoning_content"):
        message[form] = reasoning
    elif form == "reasoning_details":
        plain: Json = {"type": "reasoning.text", "text": reasoning}
        message[form] = list(reply.reasoning_details) or [plain]
    elif form == "inline":
        opening, closing = reply.reasoning_tags or ("<think>", "</think>")
        message["content"] = f"{opening}{reasoning}{closing}{reply.content or ''}"
    elif form == "blocks":
        blocks: list[Json] = [
            {"type": "thinking", "thinking": [{"type": "text", "text": reasoning}]}
        ]
        if reply.content:
            blocks.append({"type": "text", "text": reply.content})
        message["content"] = blocks


def _call(call: ToolCall) -> Json:
    arguments = call.arguments if is_object(call.arguments) else "{}"
    return {
        "id": call.id,
        "type": "function",
        "function": {"name": call.name or UNNAMED, "arguments": arguments},
    }
