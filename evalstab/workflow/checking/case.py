"""One case put to the endpoint: the opening of a small task with file tools.

It is asked as a series would ask it, streamed and plain, with one odd ``max_tokens`` by which the
request is found again on the server's own pages.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from evalstab.chat import Json
from evalstab.endpoint.base import Asked, Attempt, ChatRequest, History, Reply
from evalstab.endpoint.fields import request_fields
from evalstab.endpoint.known_parameters import sampling_of
from evalstab.endpoint.openai_chat import OpenAIChat
from evalstab.settings import EndpointSettings
from evalstab.task.brief import opening_messages
from evalstab.task.load import find_task, load_task
from evalstab.task.model import Task
from evalstab.tools.toolbox import offered_tools

CASE_TASK = "three-notes"
MARK = 1021
"""Room for a thinking model to come to its first call, and a number nobody else would send."""

PATIENCE = 300.0
"""Seconds that one request of a check may take."""

SINGLE_LIMIT = 12
"""So many parameters at most are tried one by one to find the one that is refused."""

_CLIENT_FAULTS = frozenset({400, 404, 405, 415, 422, 500, 501})


@dataclass(slots=True)
class Case:
    """Asks the case; ``fields`` shrink to what the endpoint accepts as parameters are refused."""

    client: OpenAIChat
    settings: EndpointSettings
    task: Task
    fields: Json
    messages: tuple[Json, ...]
    asked: int = field(default=0, init=False)

    async def ask(
        self, fields: Json, messages: tuple[Json, ...] | None = None, *, tools: bool = True
    ) -> Attempt:
        """One request; faults are findings of the attempt.

        Where nothing came back at all it is asked once more: a pooled connection may have been
        closed by the server in the meantime.
        """
        attempt = await self._once(fields, messages or self.messages, tools=tools)
        if attempt.status is None:
            attempt = await self._once(fields, messages or self.messages, tools=tools)
        return attempt

    async def _once(self, fields: Json, messages: tuple[Json, ...], *, tools: bool) -> Attempt:
        self.asked += 1
        history = History()
        history.append(*messages)
        stream = bool(fields.get("stream"))
        now = time.monotonic()
        request = ChatRequest(
            history=history,
            fields=fields,
            asked=Asked(
                tools=offered_tools(self.task) if tools else (),
                stream=stream,
                max_tokens=fields.get("max_tokens"),
                usage_asked="stream_options" in fields or not stream,
            ),
            trial_header=f"check/0/{self.asked}" if self.settings.trial_header else None,
            trial_clock=now,
            deadline=now + PATIENCE,
        )
        return await self.client.attempt(request)


def case_for(client: OpenAIChat, settings: EndpointSettings) -> Case:
    """The case, with the request fields of a series on this endpoint."""
    task = load_task(find_task(CASE_TASK))
    fields = request_fields(settings, offered_tools(task)) | {"max_tokens": MARK}
    return Case(client, settings, task, fields, tuple(opening_messages(task)))


def streamed(fields: Json, stream: bool) -> Json:
    """The same request streamed, or not."""
    bare = {k: v for k, v in fields.items() if k not in ("stream", "stream_options")}
    if not stream:
        return bare | {"stream": False}
    return bare | {"stream": True, "stream_options": {"include_usage": True}}


def without_tools(fields: Json) -> Json:
    """The same request without tools."""
    ours = ("tools", "tool_choice", "parallel_tool_calls")
    return {k: v for k, v in fields.items() if k not in ours}


@dataclass(frozen=True, slots=True)
class First:
    """The first answer in the endpoint's own mode, and what had to be left out to get one.

    ``refused`` maps parameters to what the server said of them; ``tools_refused`` is what it said
    where it answers only without tools.
    """

    attempt: Attempt
    refused: dict[str, str] = field(default_factory=dict)
    tools_refused: str | None = None

    @property
    def reply(self) -> Reply | None:
        """The reply, where there is one."""
        return self.attempt.reply if answered(self.attempt) else None


def answered(attempt: Attempt) -> bool:
    """Whether a usable answer came."""
    return attempt.status == 200 and attempt.reply is not None and attempt.error is None


async def first_answer(case: Case) -> First:
    """Ask; where it is refused, find out whether parameters or the tools are to blame."""
    attempt = await case.ask(case.fields)
    if answered(attempt) or attempt.status not in _CLIENT_FAULTS:
        return First(attempt)
    sampling = sampling_of(case.fields)
    bare = {k: v for k, v in case.fields.items() if k not in sampling}
    plain = await case.ask(bare) if sampling else attempt
    if answered(plain):
        refused = await _culprits(case, bare, sampling, str(attempt.error or attempt.status))
        case.fields = {k: v for k, v in case.fields.items() if k not in refused}
        return First(plain, refused)
    toolless = await case.ask(without_tools(bare), tools=False)
    if answered(toolless):
        case.fields = bare
        return First(toolless, tools_refused=_said(plain))
    return First(attempt)


async def _culprits(case: Case, bare: Json, sampling: Json, told: str) -> dict[str, str]:
    """The refused ones among the parameters: tried alone; all of them where none is to blame."""
    refused: dict[str, str] = {}
    for name, value in list(sampling.items())[:SINGLE_LIMIT]:
        attempt = await case.ask(bare | {name: value, "max_tokens": 1})
        if not answered(attempt) and attempt.status in _CLIENT_FAULTS:
            refused[name] = _said(attempt)
    return refused or dict.fromkeys(sampling, told[:300])


def _said(attempt: Attempt) -> str:
    told = f"HTTP {attempt.status}: {attempt.error}" if attempt.error else f"HTTP {attempt.status}"
    return told[:300]


def problem_of(attempt: Attempt) -> str:
    """In words, why an attempt brought nothing usable."""
    if attempt.status is None:
        return attempt.error or "no answer"
    return _said(attempt)
