"""From a request to everything that will be sent: decided before the first token leaves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from evalstab.chat import Json
from evalstab.sim import refusals
from evalstab.sim.agent import decide
from evalstab.sim.conversation import Conversation, text_of, understand
from evalstab.sim.counting import Prompt, prompt_of, timings_of, usage_of
from evalstab.sim.dialect import Dialect
from evalstab.sim.dice import fingerprint
from evalstab.sim.faults.draft import Moment, Transport
from evalstab.sim.faults.striking import strike
from evalstab.sim.frames import Cut, Head, cut, finish_of
from evalstab.sim.identity import call_ids, identify
from evalstab.sim.mind import Mind
from evalstab.sim.pace import Schedule, fixed_schedule, model_schedule
from evalstab.sim.refusals import Refusal
from evalstab.sim.shell import in_shell
from evalstab.sim.turn import Injection, Turn
from evalstab.sim.world import Identity, Settings, World
from evalstab.task.variation import COLD_START

_EPOCH = 1_770_000_000
_TRUNCATED_SPARE = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Admitted:
    """A request that is answered: whose it is, and what it costs."""

    settings: Settings
    body: Mapping[str, Any]
    conversation: Conversation
    identity: Identity
    mind: Mind
    prompt: Prompt
    fingerprint: str | None
    moment: Moment

    @property
    def stream(self) -> bool:
        """Whether the answer is asked for as a stream."""
        return bool(self.body.get("stream"))

    @property
    def dialect(self) -> Dialect:
        """The dialect of this answer: one request may ask for another form of reasoning."""
        dialect = self.settings.dialect
        if dialect.splits and self.body.get("reasoning_split"):
            return dialect.model_copy(update={"reasoning": "reasoning_details"})
        return dialect

    @property
    def limit(self) -> int:
        """The most tokens that the answer may have."""
        asked = _asked_limit(self.body)
        room = max(self.settings.context - self.prompt.tokens, 1)
        return room if asked is None else min(asked, room)


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Everything that will be sent, and when."""

    admitted: Admitted
    turn: Turn
    sent: Cut
    injections: tuple[Injection, ...]
    transport: Transport | None
    finish: str
    schedule: Schedule
    head: Head
    call_ids: tuple[str, ...]

    @property
    def usage(self) -> Json:
        """The usage as the server states it."""
        dialect = self.admitted.settings.dialect
        sent = self.sent
        return usage_of(dialect, self.admitted.prompt, sent.tokens, sent.reasoning_tokens)

    @property
    def extras(self) -> Json:
        """What the server adds beside choices and usage: its own timings, where it has them."""
        settings = self.admitted.settings
        if not settings.dialect.timings:
            return {}
        prompt, tokens = self.admitted.prompt, self.sent.tokens
        timings = timings_of(settings.dialect, prompt, self.schedule, tokens, settings.context)
        return {"timings": timings}


def admit(
    world: World,
    header: str | None,
    body: Mapping[str, Any],
    unseen: frozenset[str] = frozenset(),
) -> Admitted | Refusal:
    """Let a request in, or say why not; ``unseen`` are faults that would leave no trace."""
    settings = world.settings
    dialect = settings.dialect
    model = body.get("model")
    if model != settings.served and dialect.unknown_model == "refuse":
        return refusals.unknown_model(dialect, str(model))
    if not isinstance(body.get("messages"), list) or not body["messages"]:
        return refusals.bad_json(dialect, "messages: a list with at least one message is needed")
    conversation = understand(body)
    identity = identify(world, header, body, conversation)
    salted = _salted(body)
    begin = conversation.begin if conversation.brief else 0
    prompt = prompt_of(dialect, body, warm=identity.trial > 1 and not salted, begin=begin)
    if refused := _too_long(settings, prompt, body):
        return refused
    if prompt.tokens > settings.context:
        half = settings.context // 2 + _TRUNCATED_SPARE
        prompt = replace(prompt, tokens=half, cached=0)
    return Admitted(
        settings=settings,
        body=body,
        conversation=conversation,
        identity=identity,
        mind=Mind(settings.persona, settings.seed, identity.trial, settings.task_truth, salted),
        prompt=prompt,
        fingerprint=world.fingerprint,
        moment=Moment(
            in_flight=world.in_flight,
            fresh=world.once(identity, conversation.place),
            stream=bool(body.get("stream")),
            unseen=unseen,
        ),
    )


def _salted(body: Mapping[str, Any]) -> bool:
    """Whether the request keeps its prompt out of what the prefix cache holds of other trials."""
    first = body["messages"][0]
    text = text_of(first.get("content")) if isinstance(first, dict) else ""
    leads = COLD_START.match(text) is not None
    return leads or bool(body.get("cache_salt")) or body.get("cache_prompt") is False


def _too_long(settings: Settings, prompt: Prompt, body: Mapping[str, Any]) -> Refusal | None:
    dialect = settings.dialect
    if dialect.overflow == "truncate":
        return None
    asked = (_asked_limit(body) or 0) if dialect.name == "vllm" else 0
    if prompt.tokens + max(asked, 1) <= settings.context:
        return None
    return refusals.overflow(dialect, prompt.tokens, asked, settings.context)


def _asked_limit(body: Mapping[str, Any]) -> int | None:
    for key in ("max_completion_tokens", "max_tokens"):
        if isinstance(value := body.get(key), int) and value > 0:
            return value
    return None


def plan(admitted: Admitted) -> Plan:
    """Decide the whole answer: a pure function of what was admitted."""
    mind, conversation = admitted.mind, admitted.conversation
    settings, identity, place = admitted.settings, admitted.identity, conversation.place
    turn = decide(mind, conversation)
    draft = strike(mind, conversation, turn, admitted.prompt.tokens, admitted.moment)
    answer = in_shell(draft.turn, conversation.offer.shell)
    sent = cut(answer, admitted.limit)
    key = mind.key("id", identity.trial, identity.attempt, place)
    many = len(answer.calls)
    return Plan(
        admitted=admitted,
        turn=answer,
        sent=sent,
        injections=tuple(i for i in draft.injections if _arrives(i, sent)),
        transport=draft.transport,
        finish=draft.finish or finish_of(settings.dialect, sent),
        schedule=_schedule(admitted, sent.tokens),
        head=Head(
            id=f"chatcmpl-{fingerprint(*key, length=32)}",
            model=settings.served,
            created=_EPOCH + identity.trial * 3600 + conversation.step * 60,
            fingerprint=admitted.fingerprint,
        ),
        call_ids=tuple(call_ids(mind, identity, place, settings.dialect.call_id, many)),
    )


def _arrives(injection: Injection, sent: Cut) -> bool:
    """Whether an injected fault is part of what is sent: the answer may be cut before it."""
    if not sent.cut or injection.channel == "transport":
        return True
    if injection.channel in {"file", "arguments"} or injection.end is None:
        return False
    return injection.end <= sent.length(injection.channel)


def _schedule(admitted: Admitted, tokens: int) -> Schedule:
    settings, prompt = admitted.settings, admitted.prompt
    if settings.rate is not None:
        return fixed_schedule(settings.rate, settings.first, tokens)
    return model_schedule(settings.persona.pace, prompt.tokens, prompt.cached, tokens)
