"""A session that another program held with a model, brought into the shape of a trial's record.

Every importer builds a ``Draft``: messages, answers, results of tools, in the order in which they
happened. What its source cannot know stands in ``unknown`` with the reason, goes into the record,
and makes the measures that would need it null.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TypeVar

import msgspec

from evalstab.chat import Json
from evalstab.endpoint.base import Attempt, Reply
from evalstab.endpoint.replay import assistant_message
from evalstab.findings import Finding
from evalstab.intake.agent_tools import SHELLS, Effect, Files
from evalstab.redact import redactor
from evalstab.trial.record import (
    Ending,
    Outcome,
    Record,
    Step,
    ToolResult,
    TrialEnded,
    TrialStarted,
)

Unknown = Mapping[str, str]
"""What a source cannot know, by name, with the reason: ``times`` (when tokens came), ``arguments``
(the raw text of calls), ``sampling``, ``endpoint_errors`` (what the server really said),
``reasoning_tokens``, ``tools`` (which were offered)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """One session, read and normalised.

    ``started`` is the beginning as a record holds it, with series and trial left open; ``files``
    what the session wrote, as far as it tells, by path relative to its ``directory``.
    ``compactions`` are the steps before which the agent shortened its own conversation.
    """

    source: str
    id: str
    title: str
    directory: str
    version: str | None
    parent: str | None
    started: TrialStarted
    steps: tuple[Step, ...]
    ended: TrialEnded
    files: Mapping[str, bytes]
    compactions: tuple[int, ...] = ()

    @property
    def answer(self) -> str | None:
        """The last thing the model said, where it said something at its end."""
        reply = self.steps[-1].reply if self.steps else None
        return reply.content if reply is not None else None

    @property
    def prompt(self) -> str:
        """The first thing that the user asked, as text."""
        for message in self.started.messages:
            decoded = msgspec.json.decode(message)
            if decoded.get("role") == "user" and isinstance(decoded.get("content"), str):
                return str(decoded["content"])
        return ""

    def write(self, record: Record, series: str, trial: int) -> None:
        """Write the session as the record of one trial."""
        record.append(_clean(msgspec.structs.replace(self.started, series=series, trial=trial)))
        for step in self.steps:
            record.append(_clean(step))
        record.append(self.ended)


@dataclass(slots=True, kw_only=True)
class Draft:
    """A session in the making; times are seconds since 1970, None where the source has none."""

    source: str
    id: str
    title: str = ""
    directory: str = ""
    version: str | None = None
    parent: str | None = None
    model: str | None = None
    began: float | None = None
    last: float | None = None
    fields: Json = field(default_factory=dict)
    unknown: Unknown = field(default_factory=dict)
    _messages: list[Json] = field(default_factory=list)
    _steps: list[Step] = field(default_factory=list)
    _compactions: list[int] = field(default_factory=list)
    _files: Files = field(default_factory=Files)

    @property
    def steps(self) -> int:
        """How many answers came so far."""
        return len(self._steps)

    @property
    def last_attempt(self) -> Attempt | None:
        """The attempt that ended the last step."""
        return self._steps[-1].attempts[-1] if self._steps else None

    @property
    def last_reply(self) -> Reply | None:
        """The answer of the last step."""
        return self._steps[-1].reply if self._steps else None

    def seen(self, at: float | None) -> None:
        """Take note of a moment at which the session was alive."""
        if at is None:
            return
        self.began = at if self.began is None else self.began
        self.last = at if self.last is None else max(at, self.last)

    def message(self, message: Json) -> None:
        """A message that is no answer: part of the opening, or added after the last step."""
        if not self._steps:
            self._messages.append(message)
        else:
            self._append(self._steps[-1], message)

    def step(
        self,
        attempts: Iterable[Attempt],
        *,
        at: float | None = None,
        until: float | None = None,
        findings: Iterable[Finding] = (),
    ) -> None:
        """One answer; its attempts are those that the source shows."""
        self.seen(at)
        self.seen(until)
        made = tuple(_without_secrets(attempt) for attempt in attempts)
        reply = made[-1].reply if made else None
        append = (_raw(assistant_message(reply)),) if reply is not None else ()
        self._steps.append(
            Step(
                number=len(self._steps) + 1,
                started=max((at or 0.0) - (self.began or at or 0.0), 0.0),
                seconds=max(until - at, 0.0) if at is not None and until is not None else 0.0,
                attempts=made,
                append=append,
                findings=tuple(findings),
            )
        )

    def result(self, call_id: str, text: str, *, error: str | None = None) -> None:
        """What a tool answered to a call of an earlier step; ``error`` where it failed."""
        for step in reversed(self._steps):
            calls = step.reply.tool_calls if step.reply else ()
            call = next((call for call in calls if call.id == call_id), None)
            if call is None:
                continue
            if any(result.call_id == call_id for result in step.results):
                return
            effect = self._files.take(call, self.directory) if error is None else Effect()
            result = ToolResult(
                call_id=call_id,
                name=call.name,
                path=effect.path,
                wrote=effect.wrote,
                error=error,
            )
            self._replace(step, msgspec.structs.replace(step, results=(*step.results, result)))
            answer = {"role": "tool", "tool_call_id": call_id, "content": text}
            self._append(self._steps[step.number - 1], answer)
            return

    def found(self, *findings: Finding) -> None:
        """Findings about the last step."""
        step = self._steps[-1]
        self._replace(step, msgspec.structs.replace(step, findings=(*step.findings, *findings)))

    def compacted(self) -> None:
        """The agent shortened its own conversation: the next request is not the last one's heir."""
        number = len(self._steps) + 1
        if number not in self._compactions:
            self._compactions.append(number)

    def session(
        self, outcome: Outcome, ending: Ending, reason: str, findings: Iterable[Finding] = ()
    ) -> Session:
        """The finished session."""
        compactions = tuple(c for c in self._compactions if c <= len(self._steps))
        variation = {"compacted_before": list(compactions)} if compactions else {}
        fields = ({"model": self.model} if self.model else {}) | self.fields
        spent = (self.last or 0.0) - (self.began or 0.0)
        return Session(
            source=self.source,
            id=self.id,
            title=self.title,
            directory=self.directory,
            version=self.version,
            parent=self.parent,
            started=TrialStarted(
                series="",
                trial=0,
                attempt=1,
                at=stamp(self.began),
                source=self.source,
                fields=fields,
                messages=tuple(_raw(message) for message in self._messages),
                variation=variation,
                unknown=dict(self.unknown),
            ),
            steps=tuple(self._steps),
            ended=TrialEnded(
                at=stamp(self.last),
                outcome=outcome,
                ending=ending,
                reason=reason,
                seconds=spent,
                findings=tuple(findings),
            ),
            files=self._files.contents(),
            compactions=compactions,
        )

    def _append(self, step: Step, message: Json) -> None:
        self._replace(step, msgspec.structs.replace(step, append=(*step.append, _raw(message))))

    def _replace(self, old: Step, new: Step) -> None:
        self._steps[old.number - 1] = new


def _without_secrets(attempt: Attempt) -> Attempt:
    """The attempt with shell commands as they may be shown: they name secrets by their names."""
    reply = attempt.reply
    if reply is None or not any(call.name in SHELLS for call in reply.tool_calls):
        return attempt
    calls = tuple(
        msgspec.structs.replace(call, arguments=redactor().text(call.arguments))
        if call.name in SHELLS
        else call
        for call in reply.tool_calls
    )
    made = msgspec.structs.replace(reply, tool_calls=calls)
    return msgspec.structs.replace(attempt, reply=made)


_E = TypeVar("_E", TrialStarted, Step)


def _clean(event: _E) -> _E:
    """The event without credentials of known shape, which sessions are full of."""
    raw = msgspec.json.encode(event).decode()
    clean = redactor().shapes(raw)
    return event if clean == raw else msgspec.json.decode(clean, type=type(event))


def answered(reply: Reply | None, at: float | None, error: str | None = None) -> Attempt:
    """The one attempt that a store shows of a request."""
    failed = reply is None
    return Attempt(
        number=1,
        at=stamp(at),
        error=error,
        reply=reply,
        action="end_trial" if failed else "accept",
    )


def stamp(at: float | None) -> str:
    """A time as records hold it (UTC, ISO 8601); empty where it is not known."""
    try:
        return datetime.fromtimestamp(at or 0, UTC).isoformat(timespec="milliseconds") if at else ""
    except (OverflowError, ValueError, OSError):
        return ""


def seconds_of(text: object) -> float | None:
    """Seconds since 1970 of an ISO 8601 time, None where it is none."""
    if not isinstance(text, str):
        return None
    try:
        return datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()
    except (ValueError, OverflowError):
        return None


def _raw(message: Json) -> msgspec.Raw:
    return msgspec.Raw(msgspec.json.encode(message))
