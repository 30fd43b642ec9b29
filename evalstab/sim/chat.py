"""The routes that ask the model: a plain ASGI application, because it is the hot path."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Mapping
from typing import Any

import msgspec
from starlette.types import Receive, Scope, Send

from evalstab.chat import Json
from evalstab.sim import mishaps, refusals
from evalstab.sim.answering import Admitted, Plan, admit, plan
from evalstab.sim.apis import Api, refusal_in
from evalstab.sim.frames import encoded
from evalstab.sim.identity import HEADER, NAMELESS
from evalstab.sim.refusals import Refusal
from evalstab.sim.sending import Clock, Wire, send_frames, wait_for_all, watch
from evalstab.sim.truth import TruthFile
from evalstab.sim.world import World

_LARGEST_BODY = 64_000_000


class Chat:
    """Answers what one API asks as the persona would."""

    def __init__(self, world: World, truth: TruthFile, api: Api) -> None:
        self._world = world
        self._truth = truth
        self._api = api

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Read the request, decide the answer, send it, and note what was true of it."""
        wire = Wire(send)
        headers = {
            key.decode("latin-1"): value.decode("latin-1") for key, value in scope["headers"]
        }
        raw = await _body(receive)
        clock = Clock(time.monotonic())
        async with self._counted(), _watched(receive, wire):
            # In a thread: a long prompt takes a while, and other streams must not wait for it.
            admitted = await asyncio.to_thread(self._admit, headers, raw)
            if isinstance(admitted, Refusal):
                dialect = self._world.settings.dialect
                await mishaps.refuse(wire, refusal_in(self._api, dialect, admitted))
            else:
                await self._answer(wire, admitted, clock)

    def _admit(self, headers: Mapping[str, str], raw: bytes | None) -> Admitted | Refusal:
        world = self._world
        dialect = world.settings.dialect
        if refused := refused_key(world, headers):
            return refused
        if world.is_loading():
            return refusals.loading(dialect)
        if raw is None:
            return Refusal(413, refusals.error_body(dialect, 413, "the body is too large"))
        try:
            body = msgspec.json.decode(raw)
        except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
            return refusals.bad_json(dialect, str(error))
        if not isinstance(body, dict):
            return refusals.bad_json(dialect, "an object is needed")
        asked = self._api.chat_request(body, dialect.replayed[0])
        return admit(world, headers.get(HEADER), asked, self._api.unseen)

    @contextlib.asynccontextmanager
    async def _counted(self) -> AsyncIterator[None]:
        self._world.in_flight += 1
        try:
            yield
        finally:
            self._world.in_flight -= 1

    async def _answer(self, wire: Wire, admitted: Admitted, clock: Clock) -> None:
        decided = await asyncio.to_thread(plan, admitted)
        form = self._api.form(decided)
        if decided.transport and decided.transport.kind in mishaps.BROKEN_OFF:
            if admitted.conversation.step == 1 and admitted.identity.series == NAMELESS:
                self._world.broke_off(admitted.conversation.prompt, admitted.identity.trial)
            await self._note(decided, clock)
            await mishaps.break_off(self._world, wire, decided, form, clock)
            return
        if not admitted.stream:
            await wait_for_all(decided, clock)
            await self._note(decided, clock)
            await wire.start(200, "application/json")
            await wire.end(encoded(form.whole()))
            return
        await wire.start(200, "text/event-stream; charset=utf-8")
        await wire.write(form.opening())
        await send_frames(wire, mishaps.frames(decided, form), decided, clock)
        if not wire.gone.is_set():
            await self._note(decided, clock)
            fault = decided.transport.kind if decided.transport else None
            await wire.end(form.ending(fault))

    async def _note(self, decided: Plan, clock: Clock) -> None:
        """Count, remember and write down what was sent."""
        admitted, identity = decided.admitted, decided.admitted.identity
        counters = self._world.counters
        counters.requests += 1
        counters.prompt_tokens += admitted.prompt.tokens
        counters.cached_tokens += admitted.prompt.cached
        counters.generated_tokens += decided.sent.tokens
        counters.prompt_seconds += decided.schedule.prefill
        counters.decode_seconds += decided.schedule.decode
        counters.largest = max(counters.largest, admitted.prompt.tokens + decided.sent.tokens)
        if admitted.conversation.brief is None:
            return
        if not decided.turn.calls:
            self._world.remember(decided.turn.content, identity.trial)
        key = (identity.series, identity.trial, identity.attempt)
        self._truth.note(key, _step(decided, clock), mishaps.to_note(decided))
        if decided.turn.opinion is not None:
            self._truth.think(key, decided.turn.opinion)
        await self._truth.flush()


def _step(decided: Plan, clock: Clock) -> Json:
    """What the truth file says of one answer; times are those of the server's own clock."""
    schedule = decided.schedule
    step: Json = {
        "step": decided.admitted.conversation.step,
        "prompt_tokens": decided.admitted.prompt.tokens,
        "cached_tokens": decided.admitted.prompt.cached,
        "completion_tokens": decided.sent.tokens,
        "reasoning_tokens": decided.sent.reasoning_tokens,
        "ttft_s": schedule.due[0] if schedule.due else None,
        "decode_s": schedule.decode,
    }
    if decided.admitted.settings.stamps:
        step["received"] = clock.received
        step["sends"] = clock.sends
    return step


def refused_key(world: World, headers: Mapping[str, str]) -> Refusal | None:
    """The refusal where a key is set and the request does not carry it."""
    key = world.settings.api_key
    if key is None or headers.get("authorization") == f"Bearer {key}":
        return None
    return refusals.unauthorised(world.settings.dialect)


@contextlib.asynccontextmanager
async def _watched(receive: Receive, wire: Wire) -> AsyncIterator[None]:
    watcher = asyncio.create_task(watch(receive, wire))
    try:
        yield
    finally:
        watcher.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await watcher


async def _body(receive: Receive) -> bytes | None:
    """The request body, ``None`` where it is too large."""
    parts: list[bytes] = []
    size = 0
    while True:
        event: Mapping[str, Any] = await receive()
        part = event.get("body", b"")
        size += len(part)
        if size <= _LARGEST_BODY:
            parts.append(part)
        if not event.get("more_body"):
            return b"".join(parts) if size <= _LARGEST_BODY else None
