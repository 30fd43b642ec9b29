"""Exchange logs of the recording proxy as sessions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path

import msgspec

from evalstab.chat import Json
from evalstab.endpoint.base import Attempt, History
from evalstab.endpoint.replay import reasoning_dropped
from evalstab.errors import InputError
from evalstab.findings import finding
from evalstab.intake.chat_forms import fields_of, messages_of, text_of
from evalstab.intake.exchange import LOG_NAME, Exchange, common, read_exchanges
from evalstab.intake.exchange_reply import asked_of, attempt_of
from evalstab.intake.outcome import ended
from evalstab.intake.session import Draft, Session
from evalstab.intake.tool_answers import error_in
from evalstab.trial.estimate import PromptEstimate

SOURCE = "proxy"
UNKNOWN = {"tool_times": "a proxy sees answers of tools only in the next request"}
_THOUGHTS = ("reasoning", "reasoning_content", "reasoning_details")


def sessions(path: Path) -> Iterator[Session]:
    """The sessions below a folder of the proxy, or in one log; InputError where there is none."""
    logs = [path] if path.is_file() else sorted(path.rglob(LOG_NAME))
    if not logs:
        raise InputError(f"{path} holds no {LOG_NAME}: name what `evalstab record --out` wrote to")
    for log in logs:
        by_name: dict[str, list[Exchange]] = {}
        for exchange in read_exchanges(log):
            by_name.setdefault(exchange.session, []).append(exchange)
        for name, exchanges in by_name.items():
            if (made := session_of(name or log.parent.name, exchanges)) is not None:
                yield made


def session_of(name: str, exchanges: list[Exchange], directory: str = "") -> Session | None:
    """The conversation that a session's exchanges are; None where they ask no model anything.

    ``directory`` is where the agent worked, if that is known.

    Requests beside it (titles, summaries of nothing) that offer no tools while the conversation
    does, and that hold no earlier answer, are left out.
    """
    asked = sorted((e for e in exchanges if _asks(e)), key=lambda e: e.t_req)
    main = [e for e in asked if not _beside(e, asked)]
    if not main:
        return None
    first = main[0]
    version = first.req_headers.get("user-agent")
    reading = _Reading(
        Draft(
            source=SOURCE,
            id=name,
            title=name,
            directory=directory,
            version=version,
            fields=fields_of(_body(first)) | {"via_proxy": True},
            unknown=UNKNOWN,
        )
    )
    for _, same in groupby(main, key=_same):
        reading.take(list(same))
    return ended(reading.draft)


@dataclass(slots=True)
class _Reading:
    """Goes through the requests of one conversation in order."""

    draft: Draft
    messages: list[Json] = field(default_factory=list)
    estimate: PromptEstimate | None = None
    previous: int | None = None
    sent_back: bool = False
    added: int = 0

    def take(self, exchanges: list[Exchange]) -> None:
        """One request, with the answers it got until one was accepted."""
        first = exchanges[0]
        now = _messages(first) if _body(first) else self.messages
        shared = common(now, self.messages)
        heir = bool(self.messages) and shared == len(self.messages)
        if not self.messages:
            for message in now:
                self.draft.message(message)
        elif heir:
            self._learn_added(now[shared:])
        elif not self._shortened(now):
            heir = True
            self._learn_added(now[shared:])
        else:
            self.draft.compacted()
            for message in now[shared:]:
                self.draft.message(message)
        self.messages = now
        self._step(exchanges, heir=heir)

    def _shortened(self, now: list[Json]) -> bool:
        """Whether the conversation is another one, and not only an old turn said otherwise."""
        return len(now) <= len(self.messages) or len(_size(now)) < len(_size(self.messages))

    def _learn_added(self, added: list[Json]) -> None:
        """What the agent made of the answer: results of tools, and perhaps words of its own."""
        for message in added:
            if message.get("role") == "tool":
                text = text_of(message.get("content"))
                call = str(message.get("tool_call_id"))
                self.draft.result(call, text, error=error_in(text))
            elif message.get("role") != "assistant":
                self.draft.message(message)
        self._replayed(added)

    def _replayed(self, added: list[Json]) -> None:
        before = self.draft.last_reply
        form = before.reasoning_field if before else None
        # In another field than it came in, it is the agent that loses it, not the server.
        self.sent_back = form in _THOUGHTS and any(m.get(str(form)) for m in added)
        self.added = sum(len(text_of(m.get("content"))) for m in added if m["role"] == "tool")

    def _step(self, exchanges: list[Exchange], *, heir: bool) -> None:
        first = exchanges[0]
        history = History([_counted(message) for message in self.messages])
        if self.estimate is None:
            self.estimate = PromptEstimate(len(msgspec.json.encode(fields_of(_body(first)))))
        guess = self.estimate.of(history)
        before = self.draft.last_reply
        began = self.draft.began if self.draft.began is not None else first.t_req
        attempts: list[Attempt] = []
        for number, exchange in enumerate(exchanges, 1):
            previous = self.previous if heir else None
            asked = asked_of(exchange, estimate=guess, previous=previous)
            again = number < len(exchanges)
            attempt = attempt_of(exchange, asked, began=began, number=number, again=again)
            if again:
                attempt = msgspec.structs.replace(attempt, action="repeat")
            attempts.append(attempt)
        last = exchanges[-1]
        self.draft.step(attempts, at=first.t_req, until=last.t_req + last.t_end)
        reply = attempts[-1].reply
        if reply is None:
            return
        self.estimate.learn(history, reply.usage)
        if reply.usage:
            self.previous = reply.usage.prompt_tokens
        if heir and before is not None and self.sent_back:
            numbers = reasoning_dropped(before, reply, self.added)
            if numbers is not None:
                step = self.draft.steps
                code = "reasoning.not_replayed"
                self.draft.found(finding(code, step=step, channel="transport", detail=numbers))


def _same(exchange: Exchange) -> bytes | int:
    """What two requests share where one is the other asked again.

    Codex sends what it kept of an answer that broke off, so that it is gone on with.
    """
    messages = _messages(exchange)
    while len(messages) > 1 and messages[-1].get("role") == "assistant":
        messages = messages[:-1]
    return msgspec.json.encode(messages) if messages else exchange.seq


def _counted(message: Json) -> bytes:
    """What every server reads of a message: agents add fields that none does."""
    kept = ("role", "content", "tool_calls", "tool_call_id")
    return msgspec.json.encode({key: message[key] for key in kept if key in message})


def _body(exchange: Exchange) -> Json:
    return exchange.req_body if isinstance(exchange.req_body, dict) else {}


def _messages(exchange: Exchange) -> list[Json]:
    return messages_of(exchange.path, _body(exchange))


def _asks(exchange: Exchange) -> bool:
    """Whether a request asks a model; one whose body was not kept does where it was answered."""
    return bool(_messages(exchange)) or (exchange.req_body is None and exchange.method == "POST")


def _beside(exchange: Exchange, all_of_them: list[Exchange]) -> bool:
    body = _body(exchange)
    if not body or body.get("tools"):
        return False
    if any(message.get("role") == "assistant" for message in _messages(exchange)):
        return False
    return any(_body(other).get("tools") for other in all_of_them)


def _size(messages: list[Json]) -> bytes:
    return msgspec.json.encode(messages)
