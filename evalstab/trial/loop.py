"""One trial: ask, execute the calls, record, until the model or a limit ends it.

The loop knows nothing of servers and tasks beyond what ``TrialPlan`` hands it; all trials of a
series get the same plan. Every finished step is on disk before the next request is built.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Protocol

import msgspec

from evalstab.chat import Json
from evalstab.endpoint.base import Asked, Attempt, ChatRequest, Endpoint, History, Reply
from evalstab.endpoint.replay import assistant_message, reasoning_dropped
from evalstab.endpoint.retry import RetryPolicy, ask
from evalstab.findings import Finding, finding
from evalstab.settings import Replay
from evalstab.tools.toolbox import Toolbox
from evalstab.trial.calls import Executed, execute
from evalstab.trial.estimate import PromptEstimate
from evalstab.trial.record import Ending, Outcome, Record, Step, TrialEnded
from evalstab.trial.rig import Rig, unless_broken
from evalstab.trial.scrubbed import scrubbed


class Watcher(Protocol):
    """Told how a trial goes; for progress displays, never for decisions."""

    def chunks(self, trial: int, count: int) -> None:
        """Chunks of the running response came in."""

    def step(self, trial: int, step: Step) -> None:
        """A step was finished and recorded."""

    def waiting(self, trial: int, attempt: Attempt, limit: float) -> None:
        """No answer came; the request is sent again, for at most ``limit`` seconds."""

    def ended(self, trial: int, ended: TrialEnded) -> None:
        """A trial came to its end."""

    def done(self) -> None:
        """The series ended or was interrupted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialPlan:
    """What every trial of a series does alike.

    ``max_seconds`` bounds the trial. ``execute_leaked`` runs calls that leaked as markup (off
    unless asked for). What is asked stands in the conversation. ``rig``, where there is one to
    watch, says when a trial is spoilt.
    """

    series: str
    endpoint: Endpoint
    policy: RetryPolicy
    max_steps: int
    max_seconds: float
    replay: Replay = "auto"
    thinking: bool | None = None
    execute_leaked: bool = False
    trial_header: bool = False
    context_size: int | None = None
    rig: Rig | None = None


@dataclass(slots=True, kw_only=True)
class Conversation:
    """Where a trial stands: rebuilt from the record when a trial is resumed."""

    trial: int
    attempt: int
    fields: Json
    history: History
    toolbox: Toolbox
    estimate: PromptEstimate
    answer_file: str | None = None
    step: int = 0
    spent: float = 0.0
    previous_context: int | None = None
    last: Step | None = None
    before: Reply | None = None
    added_characters: int = 0
    began: float = field(default_factory=time.monotonic)

    def learn(self, reply: Reply) -> None:
        """Take over what a reply says of the size of the conversation."""
        self.estimate.learn(self.history, reply.usage)
        if reply.usage:
            self.previous_context = reply.usage.prompt_tokens

    def elapsed(self) -> float:
        """Seconds spent in this trial, interruptions left out."""
        return self.spent + time.monotonic() - self.began


@dataclass(frozen=True, slots=True)
class _End:
    outcome: Outcome
    ending: Ending
    reason: str
    findings: tuple[Finding, ...] = ()


async def run_trial(
    plan: TrialPlan, talk: Conversation, record: Record, watcher: Watcher
) -> TrialEnded:
    """Carry a conversation to its end; every step and the ending stand in the record.

    EndpointUnusable where the endpoint can answer nothing at all; the step in flight is then not
    part of the record, and resuming asks it again. A trial in whose time the rig failed or the
    server was restarted is invalid, however it ended.
    """
    since = time.time()
    end = _end_of(talk.last) if talk.last else None
    while end is None:
        end = _limit_reached(plan, talk)
        if end is None:
            step = await unless_broken(plan.rig, since, _take_step(plan, talk, watcher))
            if isinstance(step, Finding):
                end = _spoilt(step)
                break
            await asyncio.to_thread(record.append, step)
            watcher.step(talk.trial, step)
            end = _end_of(step)
            if end is not None and end.ending == "endpoint":
                end = _limit_reached(plan, talk) or end
    if plan.rig is not None and end.ending != "rig" and (found := await plan.rig.spoilt(since)):
        end = _spoilt(found)
    ended = TrialEnded(
        at=now(),
        outcome=end.outcome,
        ending=end.ending,
        reason=end.reason,
        seconds=talk.elapsed(),
        findings=end.findings,
    )
    await asyncio.to_thread(record.append, ended)
    return ended


def _spoilt(found: Finding) -> _End:
    return _End("invalid", "rig", str(found.detail.get("reason", found.code)), (found,))


def now() -> str:
    """Wall time as recorded: ISO 8601, UTC, milliseconds."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def _limit_reached(plan: TrialPlan, talk: Conversation) -> _End | None:
    if talk.elapsed() >= plan.max_seconds:
        reason = f"no end after {plan.max_seconds:g} seconds"
        return _End("failed", "time_limit", reason, (finding("trial.time_limit"),))
    if talk.step >= plan.max_steps:
        reason = f"no end after {plan.max_steps} steps"
        return _End("failed", "step_limit", reason, (finding("trial.step_limit"),))
    return None


def _tells_of_waiting(
    plan: TrialPlan, talk: Conversation, watcher: Watcher
) -> Callable[[Attempt], None]:
    def tell(attempt: Attempt) -> None:
        if attempt.action == "wait":
            watcher.waiting(talk.trial, attempt, plan.policy.wait_limit)

    return tell


async def _take_step(plan: TrialPlan, talk: Conversation, watcher: Watcher) -> Step:
    talk.step += 1
    started = talk.elapsed()
    request = _request(plan, talk, lambda count: watcher.chunks(talk.trial, count))
    tell = _tells_of_waiting(plan, talk, watcher)
    attempts = scrubbed(await ask(plan.endpoint, request, plan.policy, tell))
    last = attempts[-1]
    done = Executed([], [], [])
    append: list[Json] = []
    if last.action == "accept" and last.reply is not None:
        dropped = _dropped_reasoning(plan, talk, last.reply)
        talk.learn(last.reply)
        append.append(assistant_message(last.reply, plan.replay))
        done = await asyncio.to_thread(
            execute,
            talk.toolbox,
            last.reply,
            execute_leaked=plan.execute_leaked,
            answer_file=talk.answer_file,
            step=talk.step,
        )
        append += done.answers
        done.findings.extend(dropped)
        talk.before = last.reply
        talk.added_characters = sum(len(str(answer["content"])) for answer in done.answers)
    encoded = [msgspec.json.encode(message) for message in append]
    talk.history.append(*encoded)
    return Step(
        number=talk.step,
        started=started,
        seconds=talk.elapsed() - started,
        attempts=tuple(attempts),
        results=tuple(done.results),
        append=tuple(msgspec.Raw(message) for message in encoded),
        findings=tuple(done.findings),
    )


def _dropped_reasoning(plan: TrialPlan, talk: Conversation, reply: Reply) -> list[Finding]:
    """Whether the prompt grew by too little to hold the reasoning that was sent back."""
    if talk.before is None or plan.replay == "none":
        return []
    numbers = reasoning_dropped(talk.before, reply, talk.added_characters)
    return (
        []
        if numbers is None
        else [
            finding("reasoning.not_replayed", step=talk.step, channel="transport", detail=numbers)
        ]
    )


def _request(plan: TrialPlan, talk: Conversation, watch: Callable[[int], None]) -> ChatRequest:
    asked = Asked(
        tools=talk.toolbox.offered,
        stream=bool(talk.fields.get("stream")),
        max_tokens=talk.fields.get("max_tokens", talk.fields.get("max_completion_tokens")),
        thinking=plan.thinking,
        usage_asked=not talk.fields.get("stream") or "stream_options" in talk.fields,
        prompt_estimate=talk.estimate.of(talk.history),
        previous_context=talk.previous_context,
        context_size=plan.context_size,
    )
    header = f"{plan.series}/{talk.trial}/{talk.attempt}" if plan.trial_header else None
    return ChatRequest(
        history=talk.history,
        fields=talk.fields,
        asked=asked,
        trial_header=header,
        trial_clock=time.monotonic() - talk.elapsed(),
        deadline=time.monotonic() + plan.max_seconds - talk.elapsed(),
        watch=watch,
    )


def _end_of(step: Step) -> _End | None:
    last: Attempt = step.attempts[-1]
    if last.action != "accept" or last.reply is None:
        return _failed(last)
    if any(result.terminal for result in step.results):
        return _End("completed", "terminal", "the terminal tool was called")
    if not step.results:
        return _End("completed", "no_call", "a turn without a tool call")
    return None


def _failed(last: Attempt) -> _End:
    codes = [found.code for found in last.findings]
    reason = last.error or (codes[0] if codes else "no answer")
    if last.action == "end_series":
        return _End("aborted", "endpoint", reason)
    if any(found.side == "rig" for found in last.findings):
        return _End("invalid", "endpoint", reason)
    if "context.overflow" in codes:
        return _End("failed", "context", reason)
    return _End("failed", "endpoint", reason)
