"""How an answer ended, and what its silence means.

Serves B1, B3, B24 and A15 (nothing arrived although tokens were generated), B34, C1 to C7 (stalled,
dropped, no end mark, errors in a 200 stream), C8, A9, A13, A14, A16 (thinking and no answer), A25
(the server's own loop breaker), B2 and C17 to C20 (limits).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from evalstab.endpoint.calls import Calls
from evalstab.endpoint.collect import Collected
from evalstab.endpoint.fault_table import Fault, classify
from evalstab.endpoint.texts import Texts, is_json
from evalstab.endpoint.usage import Ledger
from evalstab.findings import Finding, Side, finding

EndKind = Literal[
    "closed", "reset", "stalled", "grace", "bound", "redirect", "connect", "stale", "time_limit"
]

MIN_SWALLOWED_TOKENS = 4
"""Below this an empty answer may be what the model said: an end token and little else."""
CALL_FINISHES = frozenset({"tool_calls", "function_call", "tool_use"})
LIMIT_FINISHES = frozenset({"length", "max_tokens", "model_length"})
LOOP_FINISHES = frozenset({"repetition", "repetition_detected"})


@dataclass(frozen=True, slots=True)
class StreamEnd:
    """How the transport ended, as the client saw it.

    ``closed`` in good order; ``reset`` by the peer or cut short; ``stalled`` by our idle limit;
    ``grace`` closed by us after ``ReplyReader.settled``; ``bound`` closed by us after a Bound
    event; ``redirect`` refused to follow; ``connect`` no connection; ``stale`` a pooled
    connection that the server had closed before it read the request; ``time_limit`` ours.
    ``detail`` is plain text for the record.
    """

    kind: EndKind
    detail: str | None = None


@dataclass(frozen=True, slots=True)
class EndJudgement:
    """Findings about the end; ``broken`` says that the answer did not come to an end of its own."""

    findings: tuple[Finding, ...]
    broken: bool


def errors_said(got: Collected) -> list[Fault]:
    """What the errors inside the answer mean, each code once, in order."""
    faults: dict[str, Fault] = {}
    for error in got.errors:
        fault = classify(error, 200)
        faults.setdefault(fault.code, fault)
    return list(faults.values())


def judge_ending(got: Collected, end: StreamEnd, ledger: Ledger) -> EndJudgement:
    """Everything about how the answer ended, its errors and its bad frames."""
    findings: list[Finding] = []
    faults = errors_said(got)
    broken = bool(faults)
    for fault in faults:
        message = str(fault.detail.get("message", ""))
        findings.append(finding(fault.code, excerpt=message or None, detail=fault.detail))
    if not faults and got.finish is None:
        found, broken = _without_finish(got, end)
        findings += found
    elif not faults:
        findings += _with_finish(got)
    findings += _bad_frames(got, broken)
    if not broken and got.usage is None and ledger.asked.usage_asked:
        findings.append(finding("stream.no_usage"))
    findings += _context(ledger)
    return EndJudgement(tuple(findings), broken)


_END_CODES: dict[EndKind, str] = {
    "connect": "server.dead",
    "redirect": "server.error",
    "stalled": "stream.stalled",
}


def _without_finish(got: Collected, end: StreamEnd) -> tuple[list[Finding], bool]:
    """Neither a finish reason nor an error came."""
    code: str | None = _END_CODES.get(end.kind, "stream.dropped")
    cause = end.detail
    if got.done and not got.choices:
        code, cause = "server.error_in_stream", "nothing but the end mark"
    elif got.done or got.whole:
        code = "stream.no_finish"
    elif got.bound is not None or end.kind == "time_limit":
        code = None
    elif got.nameless and code == "stream.dropped":
        code, cause = "server.error_in_stream", "a chunk without a model name"
    if code is None:
        return [], True
    detail = {"end": str(end.kind)} | ({"cause": cause[:200]} if cause else {})
    return [finding(code, detail=detail)], code != "stream.no_finish"


def _with_finish(got: Collected) -> Iterator[Finding]:
    """A finish reason came; it is a hint about what the server did."""
    if got.finish in ("abort", "aborted", "cancelled"):
        yield finding("server.aborted", detail={"finish": got.finish})
    elif got.finish == "error":
        yield finding("server.error_in_stream", detail={"finish": got.finish})
    elif got.finish in LOOP_FINISHES:
        code = "text.loop" if got.last == "content" else "reasoning.loop"
        channel = "content" if got.last == "content" else "reasoning"
        yield finding(code, channel=channel, detail={"said_by": "finish_reason"})
    if got.streamed and not got.done:
        yield finding("stream.no_done")


def _bad_frames(got: Collected, broken: bool) -> Iterator[Finding]:
    """Frames that were none, once; a last piece that the end of the stream tore is not counted."""
    if got.bound is not None:
        bound = {"bound": got.bound.name, "limit": got.bound.limit}
        yield finding("stream.bad_frame", detail=bound)
    torn = broken and got.bad_last and len(got.bad) == 1 and got.choices > 0
    if got.bad and not torn:
        deep = any(bad.too_deep for bad in got.bad)
        detail = {"count": len(got.bad)} | ({"bound": "json_depth"} if deep else {})
        yield finding("stream.bad_frame", excerpt=got.bad[0].excerpt, detail=detail)


def _context(ledger: Ledger) -> Iterator[Finding]:
    if ledger.shifted():
        size = ledger.context_size
        yield finding("context.shifted", detail={"limit": size} if size else {})
    lost = ledger.silently_truncated()
    if lost is not None:
        yield finding("context.silent_truncation", detail=lost)


def judge_silence(
    got: Collected, ledger: Ledger, texts: Texts, calls: Calls, leaked: bool
) -> list[Finding]:
    """What it means that there is no answer, or no call, or thinking that was not wanted.

    May move an answer that came as reasoning to where it belongs.
    """
    found: list[Finding] = []
    limited = got.finish in LIMIT_FINISHES or ledger.at_limit
    acted = bool(calls.calls) or leaked
    if not acted and got.finish in CALL_FINISHES:
        found.append(finding("tool.missing_call", detail={"finish": got.finish}))
    elif not acted and texts.content is None and texts.reasoning is not None:
        found += _only_thinking(texts, ledger, limited, got.finish)
    elif not acted and texts.content is None:
        found += _nothing(got, ledger, limited)
    elif not acted and limited:
        detail = {"cut_by": ledger.cut_by(got.finish)}
        found.append(finding("text.truncated", channel="content", detail=detail))
    misplaced = any(f.code == "reasoning.content_in_reasoning" for f in (*found, *texts.findings))
    if ledger.asked.thinking is False and texts.reasoning is not None and not misplaced:
        found.append(finding("server.ignored_parameter", detail={"parameter": "thinking"}))
    return found


def _only_thinking(
    texts: Texts, ledger: Ledger, limited: bool, finish: str | None
) -> Iterator[Finding]:
    """Thinking came and nothing else (A9, A13, A14, A16)."""
    text = texts.reasoning or ""
    unasked = ledger.asked.thinking is False or is_json(text)
    if unasked and not limited and not texts.open and finish not in LOOP_FINISHES:
        texts.content, texts.reasoning, texts.form = text, None, None
        yield finding("reasoning.content_in_reasoning", channel="reasoning", excerpt=text)
        return
    place = {"channel": "reasoning", "start": 0, "end": len(text), "excerpt": text[-200:]}
    if limited:
        detail = {"cut_by": ledger.cut_by(finish)}
        yield finding("reasoning.exhausted_budget", detail=detail, **place)
    yield finding("reasoning.unclosed", **place)


def _nothing(got: Collected, ledger: Ledger, limited: bool) -> Iterator[Finding]:
    """Neither text nor thinking nor a call (A15, B24, C17).

    At the limit, with tools on offer, it is a call that was cut before its name was sent: servers
    hold a call back until its arguments begin. Frames that could not be read explain an empty
    answer by themselves.
    """
    tokens, prompt, size = ledger.completion, ledger.prompt, ledger.context_size
    unread = bool(got.bad) or got.bound is not None
    if limited and tokens is not None and ledger.asked.tools:
        cut_by = ledger.cut_by(got.finish)
        side: dict[str, Side] = {"side": "harness"} if cut_by == "max_tokens_sent" else {}
        detail = {"cut_by": cut_by, "completion_tokens": tokens, "cause": "cut before its name"}
        yield finding("tool.truncated", channel="arguments", detail=detail, **side)
    elif tokens is not None and tokens >= MIN_SWALLOWED_TOKENS and not unread:
        detail = {"completion_tokens": tokens, "cause": "tokens were generated, nothing arrived"}
        yield finding("server.parse_error", detail=detail)
    elif tokens is None and size is not None and got.finish is not None:
        sent = max(prompt or 0, ledger.asked.prompt_estimate or 0)
        if sent >= size:
            yield finding("context.overflow", detail={"prompt": sent, "limit": size})
