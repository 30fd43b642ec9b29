"""Does a tool call arrive as a call, and is a streamed answer read as a plain one is."""

from __future__ import annotations

from collections.abc import Iterator

from evalstab.endpoint.base import Attempt, Reply
from evalstab.endpoint.server_facts import ServerFacts
from evalstab.workflow.checking.case import (
    MARK,
    Case,
    First,
    answered,
    problem_of,
    streamed,
)
from evalstab.workflow.checking.model import CheckRow

SUBJECT = "tool calls"
LEAKS = frozenset({"tool.leaked_markup", "tool.in_reasoning", "tool.missing_call"})
PARSER: dict[str, str] = {
    "vllm": "start vLLM with --enable-auto-tool-choice and the --tool-call-parser of this model",
    "sglang": "start SGLang with the --tool-call-parser of this model",
    "llama.cpp": "start llama-server with --jinja and a chat template that knows tools",
    "ik_llama.cpp": "start the server with --jinja and a chat template that knows tools",
    "ollama": "take a model whose page says that it supports tools",
    "lm-studio": "load a model that LM Studio marks as trained for tool use",
}
_ANY_PARSER = "switch on the server's tool call parser for this model"
_REQUIRED = 'set tool_choice = "required", and --set task.tools=typed for small models'


async def tool_rows(case: Case, first: First, facts: ServerFacts) -> list[CheckRow]:
    """Rows about tool calls, and about the difference between streamed and plain answers."""
    advice = PARSER.get(str(facts.value("engine")), _ANY_PARSER)
    if first.tools_refused:
        told = f"a request with tools is refused ({first.tools_refused})"
        return [CheckRow(SUBJECT, "failed", told, advice)]
    other = await case.ask(streamed(case.fields, not case.settings.stream))
    attempts = [first.attempt, other]
    row = _verdict(attempts, advice)
    if row.status == "failed" and row.found.startswith(_NONE) and _free(case):
        row = await _with_force(case, row)
    return [row, _both_ways(*(attempts if case.settings.stream else attempts[::-1]))]


def _free(case: Case) -> bool:
    return case.fields.get("tool_choice") in (None, "auto")


_NONE = "the model answered without a call"


def _verdict(attempts: list[Attempt], advice: str) -> CheckRow:
    replies = [a.reply for a in attempts if answered(a) and a.reply is not None]
    codes = {finding.code for attempt in attempts for finding in attempt.findings}
    calls = [call for reply in replies for call in reply.tool_calls]
    if leaked := codes & LEAKS:
        told = f"a call arrived as text, not as a call ({', '.join(sorted(leaked))})"
        return CheckRow(SUBJECT, "warning" if calls else "failed", told, advice)
    if calls:
        names = ", ".join(sorted({call.name for call in calls}))
        broken = [call for call in calls if not call.complete]
        if broken:
            told = f"{names}: {len(broken)} of {len(calls)} calls are incomplete"
            return CheckRow(SUBJECT, "warning", told, advice)
        return CheckRow(SUBJECT, "ok", f"{names} arrived as a call")
    if any(reply.finish == "length" for reply in replies):
        told = f"no call within {MARK:,} tokens: the model was still thinking or talking"
        return CheckRow(SUBJECT, "unknown", told, "run three-notes once to see whether it calls")
    return CheckRow(SUBJECT, "failed", f"{_NONE}: {_excerpt(replies)}", advice)


async def _with_force(case: Case, row: CheckRow) -> CheckRow:
    attempt = await case.ask(case.fields | {"tool_choice": "required"})
    if answered(attempt) and attempt.reply is not None and attempt.reply.tool_calls:
        told = f'{_NONE}; with tool_choice "required" one arrives'
        return CheckRow(SUBJECT, "warning", told, _REQUIRED)
    return row


def _excerpt(replies: list[Reply]) -> str:
    text = next((r.content for r in replies if r.content), None) or "nothing visible came"
    return " ".join("".join(c if c.isprintable() else " " for c in text[:80]).split())


def _both_ways(stream: Attempt, plain: Attempt) -> CheckRow:
    """Does the same case read the same, streamed and plain."""
    subject = "streamed and plain"
    for name, attempt in (("streamed", stream), ("plain", plain)):
        if not answered(attempt):
            told = f"the {name} request brought nothing ({problem_of(attempt)})"
            advice = "leave streaming off: --no-stream" if name == "streamed" else None
            return CheckRow(subject, "warning", told, advice)
    found = list(_differences(stream, plain))
    if found:
        advice = "answers differ in form by the way they are asked for: keep to one way"
        return CheckRow(subject, "warning", "; ".join(found), advice)
    return CheckRow(subject, "ok", "call, finish reason and token counts arrive both ways")


def _differences(stream: Attempt, plain: Attempt) -> Iterator[str]:
    one, other = stream.reply, plain.reply
    assert one is not None
    assert other is not None
    pairs = (
        ("a tool call", bool(one.tool_calls), bool(other.tool_calls)),
        ("token counts", one.usage is not None, other.usage is not None),
        ("reasoning apart", bool(one.reasoning), bool(other.reasoning)),
    )
    for what, in_stream, in_plain in pairs:
        if in_stream != in_plain:
            yield f"{what} only {'streamed' if in_stream else 'plain'}"
    if one.finish != other.finish:
        yield f"finish reason {one.finish} streamed, {other.finish} plain"
    codes = [{f.code for f in attempt.findings} for attempt in (stream, plain)]
    for code in sorted(codes[0] ^ codes[1]):
        yield f"{code} only {'streamed' if code in codes[0] else 'plain'}"
