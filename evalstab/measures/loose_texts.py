"""Texts that belong to no trial, judged by the very measures that judge a trial's."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from evalstab.endpoint.base import Attempt
from evalstab.endpoint.thinking import split_content
from evalstab.findings import Channel, Finding, finding
from evalstab.measures import language, loops
from evalstab.measures.texts import Piece
from evalstab.measures.tokens import TokenCount
from evalstab.measures.view import StepView, TrialView
from evalstab.task.model import Candidate, Deliverable, Task, TaskFile
from evalstab.text.escapes import decode_json
from evalstab.text.excerpt import excerpt
from evalstab.text.expected import Expectation
from evalstab.trial.record import Step, TrialStarted

_NOBODY = TokenCount(0, "estimate")
_LITERAL = re.compile(r'"((?:[^"\\]|\\.)*+)"(\s*+:)?', re.DOTALL)


def findings_in(
    text: str, channel: Channel, expected: Expectation, inputs: Sequence[str] = ()
) -> list[Finding]:
    """Leaks and loops of one text, in order; offsets count code points of ``text``.

    ``channel`` is where the text stands for. Arguments that are JSON are read as their decoded
    string values, as in a trial; the offsets are nevertheless those of the text as it was given.
    """
    if channel != "arguments" or not _is_json(text):
        raw = channel == "arguments" and text.lstrip()[:1] in ("{", "[")
        found = _measured(Piece(channel, text, raw=raw), expected, inputs)
        if channel in ("content", "file"):
            found = _in_order([*found, *_thinking(text, channel, inputs)])
        return found
    found = []
    for literal in _LITERAL.finditer(text):
        if literal[1] and literal[2] is None:
            found += _in_value(literal[1], literal.start(1), expected, inputs)
    return found


def _thinking(text: str, channel: Channel, inputs: Sequence[str]) -> Iterator[Finding]:
    """Thinking in its tags, which has no place in an answer; not where it was copied."""
    position = 0
    for leak in split_content(text, beside_field=True).leaks:
        start = text.index(leak, position)
        position = start + len(leak)
        if leak.strip() and not any(leak in given for given in inputs):
            yield finding(
                "reasoning.leaked_to_content",
                channel=channel,
                start=start,
                end=position,
                excerpt=excerpt(text, start, position),
                detail={"form": "tags"},
            )


def _in_order(found: list[Finding]) -> list[Finding]:
    return sorted(found, key=lambda one: (one.start or 0, one.end or 0))


def _in_value(
    literal: str, offset: int, expected: Expectation, inputs: Sequence[str]
) -> Iterator[Finding]:
    decoded = decode_json(literal)
    value = decoded.text if decoded else literal
    for one in _measured(Piece("arguments", value), expected, inputs):
        start, end = one.start or 0, one.end or 0
        if decoded:
            start, end = decoded.original(start), decoded.original(end)
        yield msgspec.structs.replace(one, start=offset + start, end=offset + end)


def _measured(piece: Piece, expected: Expectation, inputs: Sequence[str]) -> list[Finding]:
    view = _view(piece, expected, inputs)
    found = language.compute(view).findings + loops.compute(view).findings
    bare = [msgspec.structs.replace(one, step=None) for one in found]
    return _in_order(bare)


def _view(piece: Piece, expected: Expectation, inputs: Sequence[str]) -> TrialView:
    messages = [msgspec.json.encode({"role": "user", "content": text}) for text in inputs]
    step = Step(number=1, started=0, seconds=0, attempts=(Attempt(number=1, at=""),))
    return TrialView(
        index=1,
        attempt=1,
        task=_task(expected),
        steps=(StepView(step, (piece,), (), _NOBODY, _NOBODY),),
        started=TrialStarted(
            series="",
            trial=1,
            attempt=1,
            at="",
            fields={},
            messages=tuple(msgspec.Raw(message) for message in messages),
        ),
    )


def _task(expected: Expectation) -> Task:
    """A task that says nothing but the language."""
    spec = TaskFile(
        schema_version=1,
        name="text",
        language=expected.language,
        allow_scripts=expected.allow_scripts,
        prompt="prompt.md",
        candidates=(Candidate(id="a"), Candidate(id="b")),
        deliverables=(Deliverable(path="ranking.json", kind="ranking", format="json"),),
    )
    return Task(spec, Path(), None, "", {}, None, "")


def _is_json(text: str) -> bool:
    try:
        return isinstance(msgspec.json.decode(text.encode()), (dict, list))
    except (msgspec.MsgspecError, RecursionError, UnicodeError):
        return False
