"""What one answer has brought so far: every event goes in here, nothing is judged yet.

The hot path of reading. Serves C9 to C11 (usage anywhere), C13 and C14 (odd chunks, ``message``
beside ``delta``), A2 and A5 (several sources of reasoning) and the bounds on text and calls.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any

from evalstab.chat import Json, ServerTimings, Usage
from evalstab.endpoint.assemble import Assembler
from evalstab.endpoint.base import ReasoningField
from evalstab.endpoint.details import Details
from evalstab.endpoint.faults import ServerError, find_error
from evalstab.endpoint.frames import CallPart, Choice, Delta, Frame
from evalstab.endpoint.usage import read_timings, read_usage
from evalstab.endpoint.wire import BadFrame, Bound

MAX_TEXT_CHARS = 8 * 1024 * 1024
MAX_BLOCKS = 1000
MAX_NAME_CHARS = 200
MAX_ERRORS = 20


@dataclass(slots=True)
class Collected:
    """Everything that has arrived, on separate channels and in order.

    ``choices`` counts frames with a choice; ``whole`` says that a complete message came instead of
    a stream; ``last`` is the channel on which something came last; ``nameless`` says that the last
    chunk had lost its model name (C8).
    """

    offered: Collection[str] = ()
    content: list[str] = field(default_factory=list)
    reasoning: list[str] = field(default_factory=list)
    reasoning_content: list[str] = field(default_factory=list)
    blocks: list[str] = field(default_factory=list)
    details: Details = field(default_factory=Details)
    calls: Assembler = field(default_factory=Assembler)
    finish: str | None = None
    usage: Usage | None = None
    timings: ServerTimings | None = None
    model: str | None = None
    provider: str | None = None
    fingerprint: str | None = None
    choices: int = 0
    streamed: bool = False
    whole: bool = False
    last: str = ""
    nameless: bool = False
    done: bool = False
    errors: list[ServerError] = field(default_factory=list)
    bad: list[BadFrame] = field(default_factory=list)
    bad_last: bool = False
    bound: Bound | None = None
    _chars: int = 0
    _message: Delta | None = None

    def __post_init__(self) -> None:
        self.calls.offered = self.offered

    @property
    def sources(self) -> dict[ReasoningField, list[str]]:
        """The deltas of each field that may carry reasoning."""
        return {
            "reasoning": self.reasoning,
            "reasoning_content": self.reasoning_content,
            "reasoning_details": self.details.parts,
            "blocks": self.blocks,
        }

    def frame(self, frame: Frame) -> bool:
        """Take one frame; true when it carried text, reasoning or a piece of a call."""
        self.bad_last = False
        progress = False
        choices = frame.choices
        if choices:
            self.choices += 1
            self.nameless = frame.model == "" and self.model is not None
            for choice in choices[:1]:
                progress = self._choice(choice)
        elif choices is None or frame.error:
            self._without_choices(frame)
        if frame.usage is not None:
            self.usage = read_usage(frame.usage) or self.usage
        if frame.timings is not None:
            self.timings = read_timings(frame.timings) or self.timings
        if choices and (frame.error or frame.base_resp):
            self._error({"choices": [], "error": frame.error, "base_resp": frame.base_resp})
        if self.model is None and frame.model:
            self.model = frame.model
        if self.provider is None and frame.provider:
            self.provider = frame.provider
        if self.fingerprint is None and frame.system_fingerprint:
            self.fingerprint = frame.system_fingerprint[:MAX_NAME_CHARS]
        return progress

    def refuse(self, bad: BadFrame) -> None:
        """Take a frame that is none."""
        self.bad_last = True
        if len(self.bad) < MAX_ERRORS:
            self.bad.append(bad)

    def settle(self) -> None:
        """At the end: a message that stood beside empty deltas is the answer after all (C14)."""
        if self._message is not None and not self._anything():
            self._take(self._message, separate=True)

    def _choice(self, choice: Choice) -> bool:
        if choice.finish_reason:
            self.finish = choice.finish_reason
        if choice.usage is not None:
            self.usage = read_usage(choice.usage) or self.usage
        if choice.error:
            self._error({"choices": [], "error": choice.error})
        delta = choice.delta
        if delta is not None:
            self.streamed = True
            if choice.message is not None:
                self._message = choice.message
            return self._take(delta)
        if choice.message is not None and not self.streamed:
            first, self.whole = not self.whole, True
            return self._take(choice.message, separate=first)
        return False

    def _take(self, delta: Delta, separate: bool = False) -> bool:
        progress = False
        content = delta.content
        if content:
            progress = self._content(content)
        if delta.reasoning:
            progress = self._text(self.reasoning, delta.reasoning, "reasoning")
        if delta.reasoning_content:
            progress = self._text(self.reasoning_content, delta.reasoning_content, "reasoning")
        if delta.reasoning_details:
            for entry in delta.reasoning_details[:MAX_BLOCKS]:
                if isinstance(entry, dict):
                    self._count(self.details.add(entry))
                    progress = True
            self.last = "reasoning" if progress else self.last
        if delta.refusal:
            progress = self._text(self.content, delta.refusal, "content")
        if delta.tool_calls:
            progress = self._call_parts(delta.tool_calls, separate)
        if delta.function_call is not None:
            part = CallPart(function=delta.function_call)
            progress = self._call_parts([part], separate)
        return progress

    def _content(self, content: str | list[Any]) -> bool:
        if isinstance(content, str):
            return self._text(self.content, content, "content")
        progress = False
        for block in content[:MAX_BLOCKS]:
            if isinstance(block, str):
                progress = self._text(self.content, block, "content")
            elif isinstance(block, dict):
                progress = self._block(block) or progress
        return progress

    def _block(self, block: Json) -> bool:
        """One typed block of a content list (A5): thinking holds text, or a list of texts."""
        kind = block.get("type")
        thinking = kind in ("thinking", "reasoning", "reasoning_text")
        inner = block.get("thinking" if kind == "thinking" else "text")
        if inner is None:
            inner = block.get("text") or block.get("content")
        pieces = inner if isinstance(inner, list) else [inner]
        progress = False
        for piece in pieces[:MAX_BLOCKS]:
            text = piece.get("text") if isinstance(piece, dict) else piece
            if isinstance(text, str) and text:
                target = self.blocks if thinking else self.content
                progress = self._text(target, text, "reasoning" if thinking else "content")
        return progress

    def _text(self, target: list[str], text: str, channel: str) -> bool:
        self.last = channel
        self._chars += len(text)
        if self._chars > MAX_TEXT_CHARS:
            self.bound = Bound("text_chars", MAX_TEXT_CHARS)
            return True
        target.append(text)
        return True

    def _count(self, size: int) -> None:
        self._chars += size
        if self._chars > MAX_TEXT_CHARS:
            self.bound = Bound("text_chars", MAX_TEXT_CHARS)

    def _call_parts(self, parts: list[CallPart], separate: bool) -> bool:
        self.last = "call"
        for part in parts:
            self._count(self.calls.feed(part, separate))
            if self.calls.overflowed and self.bound is None:
                self.bound = Bound("tool_calls", len(self.calls.slots))
        return True

    def _without_choices(self, frame: Frame) -> None:
        body: Json = {
            "error": frame.error,
            "base_resp": frame.base_resp,
            "object": frame.object,
            "type": frame.type,
            "code": frame.code,
            "success": frame.success,
            "detail": frame.detail,
            "message": frame.message,
        }
        self._error({key: value for key, value in body.items() if value is not None})

    def _error(self, body: Json) -> None:
        error = find_error(body)
        if error is not None and len(self.errors) < MAX_ERRORS:
            self.errors.append(error)

    def _anything(self) -> bool:
        return bool(
            self.content or self.calls.slots or any(parts for parts in self.sources.values())
        )
