"""What the measures of a series need of a trial beyond its scores; small, whatever its length."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import msgspec

from evalstab.endpoint.base import Reply
from evalstab.measures.view import TrialView
from evalstab.text.repetition import RewordingProfile, rewording_profile

LOOP = "reasoning.loop"
LEAST_PROFILED = 5_000
"""Characters below which a block holds no 1,500 words and has no profile."""

VARYING = frozenset({"order", "cold", "group"})
"""Declared variations that change what a trial is asked."""

UNLIKE = frozenset({"seed", "cache_salt", "tools"})
"""Request fields that may differ between trials by declaration, or are compared as a digest."""

_sorted = msgspec.json.Encoder(order="deterministic")


@dataclass(frozen=True, slots=True)
class ReasoningProfile:
    """How much one reasoning block repeats itself in other words; ``characters`` is its length."""

    step: int
    characters: int
    context_tokens: int | None
    profile: RewordingProfile


@dataclass(frozen=True, slots=True)
class TrialFacts:
    """Digests and first counts of one trial.

    ``output`` covers every word and call of the model, in order. ``fields`` are the request's
    fields as sent, ``tools`` and ``opening`` digests of tools and first messages; ``varied`` says
    that these differ between trials by declaration. ``first_prompt``
    and ``first_cached`` are the tokens of the first request; ``unreliable`` the reasons why rates
    are no measurement, one for each answer of which that is so;
    ``drafted`` the tokens drafted and accepted by speculation; ``answers`` one
    digest for each answer; ``order`` the declared reading order; ``rewording`` holds the longer
    reasoning blocks without a hard loop.
    """

    output: str
    opening: str
    tools: str
    varied: bool
    fields: dict[str, Any]
    seed: Any
    models: tuple[str, ...]
    providers: tuple[str, ...]
    fingerprints: tuple[str, ...]
    first_prompt: int | None
    first_cached: int | None
    unreliable: tuple[str, ...]
    drafted: tuple[int, int]
    answers: tuple[str, ...]
    order: tuple[str, ...]
    rewording: tuple[ReasoningProfile, ...]


def trial_facts(trial: TrialView) -> TrialFacts:
    """Gather the facts of one trial."""
    fields = trial.started.fields if trial.started else {}
    messages = trial.started.messages if trial.started else ()
    prompt, cached = _first_counts(trial)
    replies = [step.reply for step in trial.steps if step.reply is not None]
    answers = tuple(_digest(_words_of(reply)) for reply in replies)
    clocks = [a.clock for step in trial.steps for a in step.event.attempts if a.clock]
    return TrialFacts(
        output=_digest(*(answer.encode() for answer in answers)),
        opening=_digest(*(bytes(message) for message in messages)),
        tools=_digest(_sorted.encode(fields.get("tools"))),
        varied=trial.started is not None and bool(VARYING & trial.started.variation.keys()),
        fields={key: value for key, value in fields.items() if key not in UNLIKE},
        seed=fields.get("seed"),
        models=tuple(dict.fromkeys(r.model for r in replies if r.model)),
        providers=tuple(dict.fromkeys(r.provider for r in replies if r.provider)),
        fingerprints=tuple(dict.fromkeys(r.fingerprint for r in replies if r.fingerprint)),
        first_prompt=prompt,
        first_cached=cached,
        unreliable=tuple(c.unreliable for c in clocks if c.unreliable),
        drafted=_drafted(replies),
        answers=answers,
        order=tuple(map(str, trial.started.variation.get("order") or ())) if trial.started else (),
        rewording=tuple(_profiles(trial)),
    )


def _first_counts(trial: TrialView) -> tuple[int | None, int | None]:
    reply = trial.steps[0].reply if trial.steps else None
    if reply is None or reply.usage is None:
        return None, None
    cached = reply.usage.cached_tokens
    if cached is None and reply.timings is not None:
        cached = reply.timings.cached_tokens
    return reply.usage.prompt_tokens, cached


def _profiles(trial: TrialView) -> Iterator[ReasoningProfile]:
    for step in trial.steps:
        text = step.reply.reasoning if step.reply else None
        if not text or len(text) < LEAST_PROFILED or trial.has_finding(LOOP, step.number):
            continue
        profile = rewording_profile(text)
        if profile.tfidf_tail is not None:
            yield ReasoningProfile(step.number, len(text), step.known_context, profile)


def _drafted(replies: list[Reply]) -> tuple[int, int]:
    timings = [reply.timings for reply in replies if reply.timings is not None]
    return (
        sum(clock.drafted_tokens or 0 for clock in timings),
        sum(clock.accepted_tokens or 0 for clock in timings),
    )


def _words_of(reply: Reply) -> bytes:
    """Every word and call of an answer; ids are the server's, not the model's."""
    calls = [(call.name, call.arguments) for call in reply.tool_calls]
    return msgspec.json.encode((reply.reasoning, reply.content, calls))


def _digest(*parts: bytes) -> str:
    digest = hashlib.sha256()
    for part in parts:
        digest.update(len(part).to_bytes(8, "big"))
        digest.update(part)
    return digest.hexdigest()[:32]
