"""A recorded answer read again, by the same reader that reads our own: the attempt it was."""

from __future__ import annotations

from itertools import pairwise

import msgspec

from evalstab.endpoint.base import Asked, Attempt, Clock, encoded_gaps
from evalstab.endpoint.reply import EndKind, ReplyReader, StreamEnd, read_error_body
from evalstab.endpoint.wire import SseReader
from evalstab.intake.chat_forms import kind_of, limit_of, tools_of
from evalstab.intake.exchange import Exchange
from evalstab.intake.outcome import AWAY, STOPPED
from evalstab.intake.session import stamp
from evalstab.intake.stored import Stored, texts
from evalstab.intake.translate import translator

_ENDS: dict[str, EndKind] = {
    "done": "closed",
    "upstream_reset": "reset",
    "upstream_refused": "connect",
    "client_closed": "time_limit",
    "timeout": "stalled",
    "proxy_stopped": "time_limit",
}
LONG_SILENCE = 30.0
"""Seconds without a byte after which an agent that goes away was left alone by the server."""
SHORT_SILENCE = 1.0
"""The same where the agent then asks again, as one does whose patience is over."""

_CAUSES = {
    "upstream_reset": "the server broke the connection off",
    "upstream_refused": "nobody answers there",
    "client_closed": AWAY,
    "timeout": "the answer stopped coming",
    "proxy_stopped": STOPPED,
}


def asked_of(
    exchange: Exchange, *, estimate: int | None = None, previous: int | None = None
) -> Asked:
    """What the reader must know of the request."""
    body = exchange.req_body if isinstance(exchange.req_body, dict) else {}
    stream = bool(body.get("stream"))
    chat = kind_of(exchange.path) == "chat"
    return Asked(
        tools=tools_of(body),
        stream=stream,
        max_tokens=limit_of(body),
        usage_asked=not stream or not chat or "stream_options" in body,
        prompt_estimate=estimate,
        previous_context=previous,
    )


def attempt_of(
    exchange: Exchange,
    asked: Asked | None = None,
    *,
    began: float | None = None,
    number: int = 1,
    again: bool = False,
) -> Attempt:
    """The attempt that an exchange was; ``began`` is when its trial began, for its clock.

    ``again`` says that the same was asked again: an agent that left had then waited in vain.
    """
    asked = asked or asked_of(exchange)
    if exchange.status is not None and exchange.status >= 300:
        return _refused(exchange, asked, began, number)
    reader, times, counts = _reread(exchange, asked)
    clock = _clock(exchange, began, times, counts)
    kind = _ENDS[exchange.end]
    if exchange.end in ("client_closed", "proxy_stopped"):
        kind = _left(exchange, settled=reader.done or reader.settled, again=again)
    if not reader.settled and (told := _assembled(exchange)) is not None:
        return msgspec.structs.replace(told.attempt(exchange.t_req), number=number, clock=clock)
    cause = None if kind == "closed" else _CAUSES.get(exchange.end)
    reply, findings = reader.finish(StreamEnd(kind, cause))
    whole = reader.settled or reader.done or (kind == "closed" and reply is not None)
    return Attempt(
        number=number,
        at=stamp(exchange.t_req),
        status=exchange.status,
        error=cause,
        reply=reply,
        findings=findings,
        action="accept" if whole and reply is not None else "end_trial",
        clock=clock,
    )


def _refused(exchange: Exchange, asked: Asked, began: float | None, number: int) -> Attempt:
    """An answer that is an error by its status."""
    assert exchange.status is not None
    raw = "".join(text for _, text in exchange.chunks).encode("utf-8", "replace")
    judged = read_error_body(exchange.status, exchange.resp_headers, raw, asked)
    return Attempt(
        number=number,
        at=stamp(exchange.t_req),
        status=exchange.status,
        error=judged[1],
        reply=judged[0],
        findings=judged[2],
        action="end_trial",
        clock=_clock(exchange, began, [], []),
    )


def _reread(exchange: Exchange, asked: Asked) -> tuple[ReplyReader, list[float], list[int]]:
    """The reader after all pieces of an answer, and when how many chunks came."""
    reader, wire = ReplyReader(asked), SseReader()
    form = translator(kind_of(exchange.path))
    times: list[float] = []
    counts: list[int] = []
    for moment, text in exchange.chunks:
        events = wire.feed(form.feed(text.encode("utf-8", "replace")))
        if chunks := sum([reader.feed(event) for event in events]):
            times.append(moment)
            counts.append(chunks)
    for event in [*wire.feed(form.finish()), *wire.finish()]:
        reader.feed(event)
    return reader, times, counts


def _left(exchange: Exchange, *, settled: bool, again: bool) -> EndKind:
    """What it means that the agent went away: the answer was whole, or silent for long."""
    if settled:
        return "closed"
    last = exchange.chunks[-1][0] if exchange.chunks else 0.0
    silence = SHORT_SILENCE if again else LONG_SILENCE
    return "stalled" if exchange.t_end - last >= silence else "time_limit"


def _assembled(exchange: Exchange) -> Stored | None:
    """The answer as somebody put it together, where the pieces themselves were not all kept."""
    told = exchange.assembled or {}
    if not told.get("finish_reason") or exchange.end != "done":
        return None
    calls = [call for call in told.get("tool_calls") or () if isinstance(call, dict)]
    return Stored(
        content=texts([told.get("content")]),
        reasoning=texts([told.get("reasoning")]),
        calls=[(str(c.get("id")), str(c.get("name")), str(c.get("arguments"))) for c in calls],
        finish=str(told["finish_reason"]),
        usage=told.get("usage"),
    )


def _clock(exchange: Exchange, began: float | None, times: list[float], counts: list[int]) -> Clock:
    gaps = [round((b - a) * 1e6) for a, b in pairwise(times)]
    return Clock(
        sent=max(exchange.t_req - (began if began is not None else exchange.t_req), 0.0),
        headers=exchange.t_headers,
        first=times[0] if times else None,
        last=times[-1] if times else None,
        end=exchange.t_end,
        chunks=sum(counts),
        gaps=encoded_gaps(gaps),
        per_read=tuple(counts) if any(n != 1 for n in counts) else (),
    )
