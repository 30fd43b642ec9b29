"""What is asked again, what is waited for, what ends the trial, what ends the series.

The whole policy stands in this file. An answer with a finish reason is an answer, whatever else was
wrong with it: it is accepted. Otherwise the finding that weighs most decides, in the order of
``RULES``. Every attempt is kept with its findings, so a fault stays a fault even when the next
attempt is fine. Serves B26 and B27, C1 to C7 and C21 to C26.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

import msgspec

from evalstab.chat import Json
from evalstab.endpoint.base import Action, Attempt, ChatRequest, Endpoint
from evalstab.findings import Finding

MAX_STALE = 3
LONGEST_PAUSE = 60.0

EQUIVALENT: dict[str, str | None] = {
    "stream_options": None,
    "max_completion_tokens": "max_tokens",
    "max_tokens": "max_completion_tokens",
}
"""Parameters that may be left out or renamed once when refused: the measurement stays the same."""

FAILED_FINISHES = frozenset({"abort", "aborted", "cancelled", "error"})
_UNKNOWN_PARAMETER = re.compile(
    r"unrecogni|unsupported|unknown|extra[_ ]|not permitted|not supported|instead", re.IGNORECASE
)
_RATE = re.compile(r"rate|per (?:minute|hour|day)|1002|1039|too many|try again", re.IGNORECASE)
_NO_MODEL = re.compile(r"model\b.{0,120}(?:not exist|not found|unknown)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How patient a series is; one value for all of its trials.

    ``retries`` counts repeats of one request after failures (0: neither repeat nor wait),
    ``parse_repeats`` those after errors of the server's parser, which may be deterministic.
    ``wait_limit`` bounds the seconds spent waiting for one request, ``first_pause`` is the first
    pause where the server names none; pauses double up to LONGEST_PAUSE. ``learned`` holds the
    refused parameters that are left out (or renamed) from then on.
    """

    retries: int = 3
    parse_repeats: int = 2
    wait_limit: float = 1800.0
    first_pause: float = 1.0
    learned: dict[str, str | None] = field(default_factory=dict)

    def adapt(self, fields: Json) -> Json:
        """The body's fields without the parameters that this server has refused."""
        if not self.learned.keys() & fields.keys():
            return fields
        adapted = {name: v for name, v in fields.items() if name not in self.learned}
        for name, other in self.learned.items():
            if other is not None and name in fields:
                adapted[other] = fields[name]
        return adapted


@dataclass(frozen=True, slots=True)
class Decision:
    """What to do after an attempt: the pause in seconds before the next, and what to leave out."""

    action: Action
    wait: float = 0.0
    drop: str | None = None
    by: Finding | None = None


Rule = Callable[[Attempt, Finding, Sequence[Attempt], RetryPolicy], Decision]


def _stale(attempt: Attempt) -> bool:
    return any(f.detail.get("end") == "stale" for f in attempt.findings)


def _refused(_: Attempt, by: Finding, __: Sequence[Attempt], policy: RetryPolicy) -> Decision:
    """Leave an equivalent parameter out once (C26); anything else is the operator's decision."""
    name = by.detail.get("parameter")
    text = str(by.detail.get("message", "")) + str(by.detail.get("error_code", ""))
    if not isinstance(name, str) or name not in EQUIVALENT or name in policy.learned:
        return Decision("end_series", by=by)
    other = EQUIVALENT[name]
    if other is not None and (other in policy.learned or not _UNKNOWN_PARAMETER.search(text)):
        return Decision("end_series", by=by)
    return Decision("repeat", drop=name, by=by)


def _own_request(
    attempt: Attempt, by: Finding, earlier: Sequence[Attempt], _: RetryPolicy
) -> Decision:
    """A 4xx of our making: useless for all trials, or for this conversation only."""
    if by.detail.get("cause") == "reasoning_not_sent" and not earlier:
        return Decision("repeat", by=by)
    hopeless = attempt.status in (401, 403, 404, 405, 407, 410) or by.detail.get("cause") == "key"
    if hopeless or _NO_MODEL.search(str(by.detail.get("message", ""))):
        return Decision("end_series", by=by)
    return Decision("end_trial", by=by)


def _quota(
    attempt: Attempt, by: Finding, earlier: Sequence[Attempt], policy: RetryPolicy
) -> Decision:
    """A rate is waited for, an empty account is not."""
    said = " ".join(str(by.detail.get(key, "")) for key in ("message", "type", "error_code"))
    if attempt.status != 402 and (attempt.retry_after is not None or _RATE.search(said)):
        decision = _wait(attempt, by, earlier, policy)
        return decision if decision.action == "wait" else Decision("end_series", by=by)
    return Decision("end_series", by=by)


def _wait(
    attempt: Attempt, by: Finding, earlier: Sequence[Attempt], policy: RetryPolicy
) -> Decision:
    """Wait as long as the server asks for, or longer each time, within the limit."""
    if by.code == "server.dead" and attempt.status is not None:
        return Decision("end_trial", by=by)
    waits = sum(a.action == "wait" for a in earlier)
    pause = attempt.retry_after
    if pause is None:
        pause = min(policy.first_pause * 2**waits, LONGEST_PAUSE)
    spent = sum(a.waited for a in earlier)
    if policy.retries == 0 or spent + pause > policy.wait_limit:
        return Decision("end_series" if by.code == "server.dead" else "end_trial", by=by)
    return Decision("wait", pause, by=by)


def _repeat(
    attempt: Attempt, by: Finding, earlier: Sequence[Attempt], policy: RetryPolicy
) -> Decision:
    """Ask again: at once the first time, after a pause from then on."""
    if attempt.status is not None and 300 <= attempt.status < 400:
        return Decision("end_series", by=by)
    failures = [a for a in earlier if a.action == "repeat" and not _stale(a)]
    parsing = sum(any(f.code == "server.parse_error" for f in a.findings) for a in failures)
    spent = by.code == "server.parse_error" and parsing >= policy.parse_repeats
    if spent or len(failures) >= policy.retries or by.detail.get("end") == "redirect":
        return Decision("end_trial", by=by)
    pause = 0.0 if not failures else policy.first_pause * 2 ** (len(failures) - 1)
    return Decision("repeat", min(pause, LONGEST_PAUSE), by=by)


def _end_trial(_: Attempt, by: Finding, __: Sequence[Attempt], ___: RetryPolicy) -> Decision:
    return Decision("end_trial", by=by)


def _end_series(_: Attempt, by: Finding, __: Sequence[Attempt], ___: RetryPolicy) -> Decision:
    return Decision("end_series", by=by)


RULES: dict[str, Rule] = {
    "context.overflow": _end_trial,
    "server.refused_parameter": _refused,
    "server.grammar_error": _end_series,
    "server.template_error": _end_trial,
    "server.quota": _quota,
    "server.bad_request": _own_request,
    "server.loading": _wait,
    "server.overloaded": _wait,
    "server.dead": _wait,
    "server.parse_error": _repeat,
    "server.aborted": _repeat,
    "server.error_in_stream": _repeat,
    "server.error": _repeat,
    "stream.stalled": _repeat,
    "stream.dropped": _repeat,
}
"""What each fault asks for, the weightiest first; faults that are not listed decide nothing."""


def decide(attempt: Attempt, earlier: Sequence[Attempt], policy: RetryPolicy) -> Decision:
    """What follows from one attempt, given those before it for the same request."""
    finish = attempt.reply.finish if attempt.reply else None
    if finish is not None and finish not in FAILED_FINISHES:
        return Decision("accept")
    by = next((f for code in RULES for f in attempt.findings if f.code == code), None)
    if by is None:
        whole = any(f.code == "stream.no_finish" for f in attempt.findings)
        return Decision("accept" if whole else "end_trial")
    if _stale(attempt) and sum(map(_stale, earlier)) < MAX_STALE:
        return Decision("repeat", by=by)
    return RULES[by.code](attempt, by, earlier, policy)


async def ask(
    endpoint: Endpoint,
    request: ChatRequest,
    policy: RetryPolicy,
    on_attempt: Callable[[Attempt], None] | None = None,
) -> list[Attempt]:
    """Send a request until it is answered or given up; every attempt in order, with its action.

    The last one's action is ``accept``, ``end_trial`` or ``end_series``. ``on_attempt`` is told of
    each attempt before the pause that follows it.
    """
    attempts: list[Attempt] = []
    while True:
        number = request.number + len(attempts)
        current = replace(request, number=number, fields=policy.adapt(request.fields))
        attempt = await endpoint.attempt(current)
        decision = decide(attempt, attempts, policy)
        if decision.action in ("repeat", "wait") and _too_late(request, decision.wait):
            decision = Decision("end_trial", by=decision.by)
        if decision.drop is not None:
            policy.learned[decision.drop] = EQUIVALENT[decision.drop]
        attempt = _noted(attempt, number, decision)
        attempts.append(attempt)
        if on_attempt is not None:
            on_attempt(attempt)
        if decision.action not in ("repeat", "wait"):
            return attempts
        await asyncio.sleep(decision.wait)


def _too_late(request: ChatRequest, wait: float) -> bool:
    return request.deadline is not None and time.monotonic() + wait > request.deadline


def _noted(attempt: Attempt, number: int, decision: Decision) -> Attempt:
    """The attempt with what was decided; a dropped parameter stands with the finding."""
    findings = attempt.findings
    if decision.drop is not None and decision.by is not None:
        detail = decision.by.detail | {"dropped": True, "instead": EQUIVALENT[decision.drop]}
        marked = msgspec.structs.replace(decision.by, detail=detail)
        findings = tuple(marked if f is decision.by else f for f in findings)
    return msgspec.structs.replace(
        attempt,
        number=number,
        action=decision.action,
        waited=decision.wait,
        findings=findings,
    )


def retry_after_seconds(value: str | None, now: datetime | None = None) -> float | None:
    """A Retry-After header in seconds from ``now`` (default: the present), at least 0.

    Takes seconds or an HTTP date; ``None`` where there is none or it is neither.
    """
    text = (value or "").strip()
    if not text or len(text) > 100:
        return None
    if re.fullmatch(r"\d{1,9}(?:\.\d{1,6})?", text, re.ASCII):
        return float(text)
    try:
        at = parsedate_to_datetime(text)
    except (ValueError, TypeError, IndexError):
        return None
    at = at if at.tzinfo is not None else at.replace(tzinfo=UTC)
    return max(0.0, (at - (now or datetime.now(UTC))).total_seconds())
