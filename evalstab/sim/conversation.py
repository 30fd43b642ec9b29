"""What a simulated model knows: everything it does is decided from the request alone.

The trial's own conversation begins with the last user message that holds a brief; turns before
it are earlier talk of the same session and are only counted as context.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from evalstab.chat import Json
from evalstab.sim.shell import FILE_TOOLS, NAMES, Shell, file_call, output_of, shell_of
from evalstab.sim.summary import HEADING
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
    """The tools of a request: parameter schemas by name, and how they may be called.

    Where the file tools are used by way of a shell, they stand in ``schemas`` as if offered.
    """

    schemas: dict[str, Json]
    required: bool = False
    parallel: bool = True
    shell: Shell | None = None


@dataclass(frozen=True, slots=True)
class Conversation:
    """One request, understood: the brief, the tools on offer, and what was done so far.

    ``begin`` is the position of the message that holds the task. ``summing_up``: the agent asks for
    a summary of what was done, in order to go on with it alone.
    """

    begin: int
    prompt: str
    brief: Brief | None
    offer: Offer
    steps: tuple[tuple[Done, ...], ...]
    thinking: bool = True
    summing_up: bool = False

    @property
    def step(self) -> int:
        """Number of the step that this request asks for, from 1."""
        return len(self.steps) + 1

    @property
    def place(self) -> object:
        """What tells this step from all others of its trial: after a summary, steps begin anew."""
        told = self.prompt.partition(f"\n{HEADING}\n")[2]
        return (self.step, told) if told else self.step

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
    offer = _offer(body)
    done = messages[start + 1 :]
    if done and done[-1].get("role") == "assistant":
        # Some agents send what they kept of an answer that broke off: it is to be gone on with.
        done = done[:-1]
    shell = shell_of(offer.schemas, _said(messages))
    if shell is None and not offer.schemas:
        shell = _shell_seen(done)
    elif shell is not None:
        offer = replace(offer, schemas={name: {} for name in FILE_TOOLS}, shell=shell)
    return Conversation(
        begin=start,
        prompt=text_of(messages[start].get("content")) if messages else "",
        brief=brief if done or _can_be_read(brief, offer) else None,
        offer=offer,
        steps=_steps(done, shell),
        thinking=_thinking(body),
        summing_up=brief is not None and _asks_for_summary(done, offer),
    )


@lru_cache(maxsize=256)
def _brief(text: str) -> Brief | None:
    return parse_brief(text)


def _beginning(messages: Sequence[Json]) -> tuple[int, Brief | None]:
    users = [at for at, m in enumerate(messages) if m.get("role") == "user"]
    for at in range(len(messages) - 1, -1, -1):
        text = text_of(messages[at].get("content"))
        # Some agents keep a summary as what their model said.
        told = messages[at].get("role") == "assistant" and HEADING in text
        if (told or at in users) and (brief := _brief(text)) is not None:
            return at, brief
    return (users[-1] if users else max(len(messages) - 1, 0)), None


def _asks_for_summary(done: Sequence[Json], offer: Offer) -> bool:
    if not any(m.get("tool_calls") for m in done) or done[-1].get("role") != "user":
        return False
    return not offer.schemas or "summar" in text_of(done[-1].get("content")).lower()


def _shell_seen(messages: Sequence[Json]) -> Shell | None:
    """The shell of earlier calls, for a request that offers no tools any more."""
    for message in messages:
        for call in message.get("tool_calls") or []:
            made = _done(call, {}) if isinstance(call, dict) else None
            if made is not None and made.name in NAMES:
                return Shell(made.name, "cmd" if "cmd" in made.arguments else "command")
    return None


def _can_be_read(brief: Brief | None, offer: Offer) -> bool:
    """Whether there is something to judge: agents also ask for a title of their task."""
    if brief is None or offer.schemas or brief.files:
        return True
    return not any(candidate.file for candidate in brief.candidates)


def _offer(body: Mapping[str, Any]) -> Offer:
    choice = body.get("tool_choice")
    schemas: dict[str, Json] = {}
    tools = body.get("tools") if choice != "none" else None
    for tool in tools if isinstance(tools, list) else []:
        function = tool.get("function") if isinstance(tool, dict) else None
        if isinstance(function, dict) and isinstance(function.get("name"), str):
            parameters = function.get("parameters")
            schemas[function["name"]] = parameters if isinstance(parameters, dict) else {}
    return Offer(
        schemas=schemas,
        required=choice == "required" or isinstance(choice, dict),
        parallel=body.get("parallel_tool_calls") is not False,
    )


def _said(messages: Sequence[Json]) -> str:
    """What was said before the first answer: the rules of the agent stand there."""
    texts = []
    for message in messages:
        if message.get("role") == "assistant":
            break
        texts.append(text_of(message.get("content")))
    return "\n".join(texts)


def _steps(messages: Sequence[Json], shell: Shell | None) -> tuple[tuple[Done, ...], ...]:
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
        done = (_done(call, answers) for call in calls if isinstance(call, dict))
        steps.append(tuple(_by_shell(one, shell) for one in done))
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


def _by_shell(done: Done, shell: Shell | None) -> Done:
    """A call of the shell as that of the file tool which it stands for."""
    if shell is None or done.name != shell.name:
        return done
    answer = None if done.answer is None else output_of(done.answer)
    meant = file_call(done.arguments, shell)
    if meant is None:
        return replace(done, answer=answer)
    return replace(done, name=meant[0], arguments=meant[1], answer=answer)


def _thinking(body: Mapping[str, Any]) -> bool:
    """Whether the request leaves thinking on, by the switches that servers know."""
    template = body.get("chat_template_kwargs")
    template = template if isinstance(template, dict) else {}
    switches = [template.get("enable_thinking"), template.get("thinking"), body.get("think")]
    thinking = body.get("thinking")
    if isinstance(thinking, dict) and thinking.get("type") == "disabled":
        return False
    return False not in switches and body.get("reasoning_effort") not in {"none", "no_think"}
