"""Answers that go wrong on the way: broken off, stalled, refused, garbled."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from evalstab.chat import Json
from evalstab.sim import refusals
from evalstab.sim.answering import Plan
from evalstab.sim.frames import Form, encoded
from evalstab.sim.refusals import Refusal
from evalstab.sim.sending import Clock, Wire, send_frames
from evalstab.sim.turn import Injection
from evalstab.sim.world import World

BROKEN_OFF = frozenset({"drop", "stall", "restart", "error-frame", "parse-error", "overloaded"})
_LOADING_SECONDS = 0.3
_QUOTED = 300


async def refuse(wire: Wire, refused: Refusal) -> None:
    """Send an error answer."""
    extra = {"retry-after": str(refused.retry_after)} if refused.retry_after else None
    await wire.start(refused.status, "application/json", extra)
    await wire.end(encoded(refused.body))


def to_note(plan: Plan) -> list[Injection]:
    """The injections that the client meets with this answer.

    Of an answer that is broken off it meets only the breaking: the rest comes with the repeated
    request, whose answer is the same.
    """
    if plan.transport and plan.transport.kind in BROKEN_OFF:
        return [i for i in plan.injections if i.kind == plan.transport.kind]
    return list(plan.injections)


def frames(plan: Plan, form: Form) -> Iterator[bytes]:
    """The frames of an answer that arrives whole, garbled where a fault says so."""
    pieces = plan.sent.pieces
    fault = plan.transport
    made = form.frames(pieces)
    if fault is None or fault.kind not in {"doubled", "bad-frame"}:
        yield from made
        return
    broken = int(len(pieces) * fault.share) if fault.kind == "bad-frame" else -1
    for number, (piece, frame) in enumerate(zip(pieces, made, strict=False)):
        doubled = fault.kind == "doubled" and piece.channel == "reasoning"
        yield frame + _last_event(frame) if doubled else frame
        if number == broken:
            yield form.broken()


def _last_event(frame: bytes) -> bytes:
    """The delta itself, without the events that open its block."""
    return frame[frame[:-2].rfind(b"\n\n") + 1 :].lstrip(b"\n")


async def break_off(world: World, wire: Wire, plan: Plan, form: Form, clock: Clock) -> None:
    """Send what still arrives of an answer, and then what ends it."""
    fault = plan.transport
    assert fault is not None
    dialect = plan.admitted.settings.dialect
    if fault.kind == "overloaded":
        await refuse(wire, refusals.overloaded(dialect))
        return
    if fault.kind == "parse-error":
        await refuse(wire, refusals.parse_error(dialect, _output(plan)))
        return
    error = refusals.error_body(dialect, 500, "the engine failed while it was generating")
    if plan.admitted.stream:
        await wire.start(200, "text/event-stream; charset=utf-8")
        await wire.write(form.opening())
        part = int(len(plan.sent.pieces) * fault.share)
        await send_frames(wire, islice(form.frames(plan.sent.pieces), part), plan, clock)
    if fault.kind == "error-frame":
        await _send_error(wire, plan, form, error)
    elif fault.kind == "stall":
        await wire.gone.wait()
    elif fault.kind == "restart":
        world.restart(_LOADING_SECONDS)


async def _send_error(wire: Wire, plan: Plan, form: Form, error: Json) -> None:
    if plan.admitted.stream:
        await wire.end(form.error(error))
        return
    await wire.start(200, "application/json")
    await wire.end(encoded(error))


def _output(plan: Plan) -> str:
    """The model's output that a server quotes when it cannot parse it."""
    call = plan.turn.calls[0].text if plan.turn.calls else plan.turn.content
    return f"<tool_call>{call}"[:_QUOTED]
