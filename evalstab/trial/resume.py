"""Start a trial, or go on in the middle of one from its record alone."""

from __future__ import annotations

from dataclasses import dataclass, field

import msgspec

from evalstab.chat import Json
from evalstab.endpoint.base import History
from evalstab.errors import FolderError
from evalstab.tools.toolbox import Toolbox
from evalstab.trial.calls import execute
from evalstab.trial.estimate import PromptEstimate
from evalstab.trial.loop import Conversation, now
from evalstab.trial.record import (
    DAMAGED,
    Event,
    Record,
    Step,
    TrialEnded,
    TrialResumed,
    TrialStarted,
)
from evalstab.trial.scrubbed import scrubbed_arguments


@dataclass(frozen=True, slots=True)
class Opening:
    """What a trial begins with; on going on it must equal what the record says."""

    series: str
    trial: int
    attempt: int
    fields: Json
    messages: tuple[Json, ...]
    answer_file: str | None = None
    variation: Json = field(default_factory=dict)


def begin(opening: Opening, record: Record, toolbox: Toolbox) -> Conversation:
    """A fresh conversation, its start written to the record."""
    encoded = tuple(msgspec.json.encode(message) for message in opening.messages)
    record.append(
        TrialStarted(
            series=opening.series,
            trial=opening.trial,
            attempt=opening.attempt,
            at=now(),
            fields=opening.fields,
            messages=tuple(msgspec.Raw(message) for message in encoded),
            variation=opening.variation,
        )
    )
    return _conversation(opening, History(list(encoded)), toolbox)


def go_on(
    opening: Opening, events: list[Event], record: Record, toolbox: Toolbox
) -> Conversation | TrialEnded:
    """The conversation as the record left it; the ending, where it had already ended.

    A last step that the endpoint could not answer at all is asked again, under the same number.
    The workspace is built anew from the inputs and the recorded calls, so that files half written
    by an interrupted step are gone. FolderError where the record began differently.
    """
    if not events:
        return begin(opening, record, toolbox)
    if isinstance(events[-1], TrialEnded) and events[-1].outcome != "aborted":
        return events[-1]
    start = events[0]
    if not isinstance(start, TrialStarted):
        raise FolderError(f"{record.path} does not begin with the start of a trial")
    _require_same(opening, start, record)
    history = History([bytes(message) for message in start.messages])
    talk = _conversation(opening, history, toolbox)
    for event in events:
        if isinstance(event, Step):
            if not event.attempts:
                raise FolderError(f"{record.path}: step {event.number} holds no answer. {DAMAGED}")
            _replay(event, talk)
    record.append(TrialResumed(at=now(), after_step=talk.step))
    return talk


def _conversation(opening: Opening, history: History, toolbox: Toolbox) -> Conversation:
    fixed = len(msgspec.json.encode(opening.fields))
    return Conversation(
        trial=opening.trial,
        attempt=opening.attempt,
        fields=opening.fields,
        history=history,
        toolbox=toolbox,
        estimate=PromptEstimate(fixed),
        answer_file=opening.answer_file,
    )


def _replay(step: Step, talk: Conversation) -> None:
    if step.attempts[-1].action == "end_series":
        return
    talk.last = step
    talk.step = step.number
    talk.spent = step.started + step.seconds
    if (reply := step.reply) is None:
        return
    talk.learn(reply)
    talk.before = reply
    talk.history.append(*(bytes(message) for message in step.append))
    execute(
        talk.toolbox,
        reply,
        execute_leaked=any(result.call_id.startswith("leaked-") for result in step.results),
        answer_file=talk.answer_file,
        step=step.number,
    )


def _require_same(opening: Opening, start: TrialStarted, record: Record) -> None:
    messages = [msgspec.json.decode(message) for message in start.messages]
    fields = scrubbed_arguments(opening.fields)
    if messages != list(opening.messages):
        raise FolderError(f"{record.path}: the prompt differs from the one this trial began with")
    for key in sorted(start.fields.keys() | fields.keys()):
        if start.fields.get(key) != fields.get(key):
            raise FolderError(
                f"{record.path}: the request field {key!r} differs from the one this trial "
                "began with; start a new series instead"
            )
