"""Events to one reply and its findings: the way through the rooms' judges, in order.

``collect`` gathers, ``texts`` tells thinking from answers (and, first of all, doubled deltas from
loops), ``calls`` judges calls, ``leaks`` those that came as text, ``endings`` judges the end. No
server is asked for by name anywhere: dialects are told by their shape.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from evalstab.chat import IntendedCall
from evalstab.endpoint.base import Asked, Reply
from evalstab.endpoint.calls import Calls, Ending, judge_calls
from evalstab.endpoint.collect import Collected
from evalstab.endpoint.endings import (
    LIMIT_FINISHES,
    EndKind,
    StreamEnd,
    errors_said,
    judge_ending,
    judge_silence,
)
from evalstab.endpoint.fault_table import classify
from evalstab.endpoint.faults import ServerError, find_error
from evalstab.endpoint.frames import Frame, decode_json
from evalstab.endpoint.leaks import judge_leaks, quoted_call
from evalstab.endpoint.texts import Texts, read_texts
from evalstab.endpoint.usage import CutBy, Ledger
from evalstab.endpoint.wire import BadFrame, Bound, Done, Event
from evalstab.findings import Finding, finding

__all__ = ["EndKind", "ReplyReader", "StreamEnd", "read_error_body"]

MAX_BODY_EXCERPT = 2000

_PAGE_NOISE = re.compile(r"<(?:style|script)[^<]*</(?:style|script)>|<[^<>]{0,500}>", re.IGNORECASE)


@dataclass(slots=True)
class ReplyReader:
    """Collects the events of one answer; ``finish`` judges them once it has ended.

    ``done`` is true after [DONE]; ``settled`` once a finish reason or an error was seen: from then
    on only usage or the end mark can follow and a short grace is enough; ``bound`` once a limit
    was passed: nothing more is kept, and reading on is of no use.
    """

    asked: Asked
    _got: Collected = field(init=False)

    def __post_init__(self) -> None:
        self._got = Collected(offered=frozenset(tool.name for tool in self.asked.tools))

    @property
    def done(self) -> bool:
        """Whether the end mark has come."""
        return self._got.done

    @property
    def settled(self) -> bool:
        """Whether the answer has said that it is finished or has failed."""
        return self._got.finish is not None or bool(self._got.errors)

    @property
    def bound(self) -> Bound | None:
        """The limit that was passed, ``None`` so far."""
        return self._got.bound

    def feed(self, event: Event) -> bool:
        """Take one event; true when it carried text, reasoning or a piece of a call."""
        if isinstance(event, Frame):
            return self._got.frame(event)
        if isinstance(event, Done):
            self._got.done = True
        elif isinstance(event, BadFrame):
            self._got.refuse(event)
        elif isinstance(event, Bound):
            self._got.bound = event
        return False

    def finish(self, end: StreamEnd) -> tuple[Reply | None, tuple[Finding, ...]]:
        """The reply, ``None`` where nothing of one arrived, and every finding about it."""
        got = self._got
        got.settle()
        ledger = Ledger(got.usage, got.timings, self.asked)
        ending = judge_ending(got, end, ledger)
        cut = _cut_by(got, end, ledger, ending.broken)
        texts = read_texts(got.content, got.sources, self.asked, cut not in (None, "stream"))
        calls = judge_calls(got.calls.slots, self.asked.tools, Ending(cut, got.last == "call"))
        intended, leaks = judge_leaks(texts, calls, self.asked.tools, cut)
        silence = judge_silence(got, ledger, texts, calls, bool(intended or leaks))
        findings = (
            *texts.findings,
            *calls.findings,
            *leaks,
            *(silence if not ending.broken else ()),
            *ending.findings,
        )
        return _reply(got, texts, calls, intended), findings


def _cut_by(got: Collected, end: StreamEnd, ledger: Ledger, broken: bool) -> CutBy | None:
    """What cut the response, ``None`` where it came to an end of its own (B1, B2, B5)."""
    if got.finish is None and (broken or end.kind in ("time_limit", "bound")):
        return "stream"
    if got.finish in LIMIT_FINISHES or ledger.at_limit:
        return ledger.cut_by("length" if got.finish else None)
    return "stream" if got.finish in ("abort", "error") else None


def _reply(
    got: Collected, texts: Texts, calls: Calls, intended: tuple[IntendedCall, ...]
) -> Reply | None:
    sizes = next((f.sizes for f in errors_said(got) if f.sizes), None)
    if not got.choices and got.usage is None and sizes is None:
        return None
    tags = (texts.tags.opening, texts.tags.closing) if texts.tags else None
    return Reply(
        reasoning=texts.reasoning,
        content=texts.content,
        tool_calls=tuple(calls.calls),
        intended=intended,
        finish=got.finish,
        usage=got.usage,
        timings=got.timings,
        reasoning_field=texts.form if texts.reasoning is not None else None,
        reasoning_tags=tags if tags != ("<think>", "</think>") else None,
        reasoning_details=got.details.verbatim(),
        model=got.model,
        provider=got.provider,
        fingerprint=got.fingerprint,
        context_sizes=sizes,
    )


def read_error_body(
    status: int, headers: Mapping[str, str], body: bytes, asked: Asked
) -> tuple[Reply | None, str, tuple[Finding, ...]]:
    """An answer that is an error by its status: sizes where stated, the message, the findings.

    Reads JSON of every shape, and pages or plain text by their beginning. ``asked`` is not needed
    for the error itself, but for calls that its message quotes (B26).
    """
    value = decode_json(body)
    error = find_error(value) or ServerError(_plain_text(body))
    if 300 <= status < 400:
        place = headers.get("location", "")
        error = ServerError(f"redirects to {place[:200]}, which is not followed")
    fault = classify(error, status)
    message = f"HTTP {status}: {error.message}".strip()
    detail = dict(fault.detail)
    if fault.code == "server.parse_error":
        detail |= quoted_call(error.message, asked)
    found = finding(fault.code, excerpt=error.message or None, detail=detail)
    reply = Reply(context_sizes=fault.sizes) if fault.sizes else None
    return reply, message, (found,)


def _plain_text(body: bytes) -> str:
    """The beginning of a body that is no JSON, a page reduced to its words."""
    text = body[:MAX_BODY_EXCERPT].decode("utf-8", "replace")
    if text.lstrip().startswith("<"):
        text = _PAGE_NOISE.sub(" ", text)
    return " ".join(text.split())
