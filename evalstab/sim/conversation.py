"""What a simulated model knows: everything it does is decided from the request alone.

The trial's own conversation begins with the last user message that holds a brief; turns before
it are earlier talk of the same session and are only counted as context.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from evalstab.chat import Json
from evalstab.task.brief_reading import Brief, parse_brief


@dataclass(frozen=True, slots=True)
class Done:
    """A tool call of an earlier step with its answer (``None``: not answered)."""

    id: str
    name: str
    raw: str
    arguments: Json
    answer: str | None

    @property
    def failed(self) -> bool:
        """Whether the tool refused: its answer says so, or there is none."""
        return self.answer is None or is_error(self.answer)


@dataclass(frozen=True, slots=True)
class Offer:
    """The tools of a request: parameter schemas by name, and how they may be called."""

    schemas: dict[str, Json]
    required: bool = False
    parallel: bool = True


@dataclass(frozen=True, slots=True)
class Conversation:
    """One request, understood: the brief, the tools on offer, and what was done so far.

    ``begin`` is the position of the message that holds the task.
    """

    begin: int
    prompt: str
    brief: Brief | None
    offer: Offer
    steps: tuple[tuple[Done, ...], ...]
    thinking: bool = True

    @property
    def step(self) -> int:
        """Number of the step that this request asks for, from 1."""
        return len(self.steps) + 1

    @property
    def done(self) -> list[Done]:
        """All earlier calls in order."""
        return [call for step in self.steps for call in step]


def is_error(answer: str) -> bool:
    """Whether a tool's answer reports that it refused."""
    return answer.startswith("Error: ")


def text_of(content: object) -> str:
    """The text of a message's content: a string, or the text parts of a list."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        parts = [part.get("text", "") for part in content if isinstance(part, dict)]
        return "".join(part for part in parts if isinstance(part, str))
    return ""


def understand(body: Mapping[str, Any]) -> Conversation:
    """The conversation of a request body; unknown or broken parts are passed over."""
    messages = [m for m in body.get("messages") or [] if isinstance(m, dict)]
    start, brief = _beginning(messages)
    return Conversation(
        begin=start,
        prompt=text_of(messages[start].get("content")) if messages else "",
        brief=brief,
        offer=_offer(body),
        steps=_steps(messages[start + 1 :]),
        thinking=_thinking(body),
    )


@lru_cache(maxsize=256)
def _brief(text: str) -> Brief | None:
    return parse_brief(text)


def _beginning(messages: Sequence[Json]) -> tuple[int, Brief | None]:
    users = [at for at, m in enumerate(messages) if m.get("role") == "user"]
    for at in reversed(users):
        if (brief := _brief(text_of(messages[at].get("content")))) is not None:
            return at, brief
    return (users[-1] if users else max(len(messages) - 1, 0)), None


def _offer(body: Mapping[str, Any]) -> Offer:
    choice = body.get("tool_choice")
    schemas: dict[str, Json] = {}
    for tool in body.get("tools") or [] if choice != "none" else []:
        function = tool.get("function") if isinstance(tool, dict) else None
        if isinstance(function, dict) and isinstance(function.get("name"), str):
            parameters = function.get("parameters")
            schemas[function["name"]] = parameters if isinstance(parameters, dict) else {}
    return Offer(
        schemas=schemas,
        required=choice == "required" or isinstance(choice, dict),
        parallel=body.get("parallel_tool_calls") is not False,
    )


def _steps(messages: Sequence[Json]) -> tuple[tuple[Done, ...], ...]:
    answers = {
        str(m.get("tool_call_id")): text_of(m.get("content"))
        for m in messages
        if m.get("role") == "tool"
    }
    steps: list[tuple[Done, ...]] = []
    for message in messages:
        if message.get("role") != "assistant":
            continue
        calls = message.get("tool_calls") or []
        steps.append(tuple(_done(call, answers) for call in calls if isinstance(call, dict)))
    return tuple(steps)


def _done(call: Json, answers: Mapping[str, str]) -> Done:
    function = call.get("function")
    function = function if isinstance(function, dict) else {}
    raw = function.get("arguments")
    raw = raw if isinstance(raw, str) else json.dumps(raw)
    try:
        arguments = json.loads(raw)
    except (ValueError, RecursionError):
        arguments = {}
    return Done(
        id=str(call.get("id", "")),
        name=str(function.get("name", "")),
        raw=raw,
        arguments=arguments if isinstance(arguments, dict) else {},
        answer=answers.get(str(call.get("id", ""))),
    )


def _thinking(body: Mapping[str, Any]) -> bool:
    """Whether the request leaves thinking on, by the switches that servers know."""
    template = body.get("chat_template_kwargs")
    template = template if isinstance(template, dict) else {}
    switches = [template.get("enable_thinking"), template.get("thinking"), body.get("think")]
    thinking = body.get("thinking")
    if isinstance(thinking, dict) and thinking.get("type") == "disabled":
        return False
    return False not in switches and body.get("reasoning_effort") not in {"none", "no_think"}
