"""A stored answer judged by the reader that judges live ones, as far as the store shows it."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any

from evalstab.chat import Json, ToolSpec
from evalstab.endpoint.base import Asked, Attempt
from evalstab.endpoint.frames import coerce
from evalstab.endpoint.reply import ReplyReader, StreamEnd, read_error_body
from evalstab.findings import finding
from evalstab.intake.session import stamp


@dataclass(slots=True)
class Stored:
    """What a store holds of one answer.

    ``calls`` are (id, name, argument text); ``unknown`` the names that were not on offer,
    ``lacking`` the parameters that a tool requires and was not given, by its name.
    ``usage`` is in the form of chat completions. ``cut`` says that the stream broke off,
    ``model`` who answered.
    """

    content: list[str] = field(default_factory=list)
    reasoning: list[str] = field(default_factory=list)
    calls: list[tuple[str, str, str]] = field(default_factory=list)
    unknown: set[str] = field(default_factory=set)
    lacking: dict[str, list[str]] = field(default_factory=dict)
    finish: str | None = None
    usage: Json | None = None
    model: str | None = None
    cut: bool = False

    @property
    def nothing(self) -> bool:
        """Whether nothing of an answer is there."""
        return not (self.content or self.reasoning or self.calls or self.usage or self.finish)

    def attempt(self, at: float | None) -> Attempt:
        """The attempt that this answer was, with findings."""
        names = {name for _, name, _ in self.calls} - self.unknown
        specs = (
            ToolSpec(name=n, description="", parameters={"required": self.lacking.get(n, [])})
            for n in sorted(names)
        )
        asked = Asked(tools=tuple(specs), stream=False, usage_asked=False)
        reader = ReplyReader(asked)
        part = "delta" if self.cut else "message"
        choice = {part: self._message(), "finish_reason": self.finish}
        reader.feed(coerce({"choices": [choice], "usage": self.usage, "model": self.model}))
        end = StreamEnd("reset", "the stream broke off") if self.cut else StreamEnd("closed")
        reply, findings = reader.finish(end)
        return Attempt(
            number=1,
            at=stamp(at),
            status=200,
            error=end.detail,
            reply=reply,
            findings=findings,
            action="end_trial" if self.cut else "accept",
        )

    def _message(self) -> Json:
        message: Json = {"role": "assistant", "content": "".join(self.content) or None}
        if self.reasoning:
            message["reasoning"] = "\n".join(self.reasoning)
        if self.calls:
            message["tool_calls"] = [
                {"id": id_, "function": {"name": name, "arguments": arguments}}
                for id_, name, arguments in self.calls
            ]
        return message


def refused(status: int | None, message: str, body: str | None, at: float | None) -> Attempt:
    """The attempt for a request that failed, out of what the agent kept of the error.

    ``server.error`` where the store keeps no more than that something went wrong.
    """
    raw = (body or message).encode("utf-8", "replace")
    reply, error, findings = read_error_body(status or 500, {}, raw, Asked())
    if message and findings and findings[0].code == "server.error":
        other = read_error_body(status or 500, {}, message.encode("utf-8", "replace"), Asked())
        reply, error, findings = other
    return Attempt(
        number=1,
        at=stamp(at),
        status=status,
        error=message or error,
        reply=reply,
        findings=findings,
        action="end_trial",
    )


def overflowed(message: str, at: float | None) -> Attempt:
    """The attempt for a request that was refused because the context was too small."""
    found = finding("context.overflow", excerpt=message or None)
    return Attempt(
        number=1,
        at=stamp(at),
        error=message or "the context was too small",
        findings=(found,),
        action="end_trial",
    )


def gone(at: float | None, why: str) -> Attempt:
    """The attempt that the agent gave up, or in the middle of which it was ended."""
    return Attempt(number=1, at=stamp(at), error=why, action="end_trial")


def dropped(at: float | None, why: str) -> Attempt:
    """The attempt whose stream broke off before anything was kept of it."""
    found = finding("stream.dropped", detail={"end": "reset", "cause": why[:200]})
    return Attempt(number=1, at=stamp(at), error=why, findings=(found,), action="end_trial")


def counts(
    prompt: Any, completion: Any, *, cached: Any = None, reasoning: Any = None
) -> Json | None:
    """Token counts in the form of chat completions; None where none is above zero."""
    if not _number(prompt) and not _number(completion):
        return None
    return {
        "prompt_tokens": _number(prompt),
        "completion_tokens": _number(completion),
        "prompt_tokens_details": {"cached_tokens": cached},
        "completion_tokens_details": {"reasoning_tokens": reasoning},
    }


def total(*numbers: Any) -> int:
    """The sum of those that are numbers."""
    return sum(_number(number) for number in numbers)


def dictionary(value: Any) -> Json:
    """The value where it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def texts(values: Collection[Any]) -> list[str]:
    """Those values that are text and not empty."""
    return [value for value in values if isinstance(value, str) and value]


def _number(value: Any) -> int:
    whole = isinstance(value, int) and not isinstance(value, bool)
    return value if whole and value > 0 else 0
