"""What an endpoint is to the rest of the house: a request goes in, an attempt comes out.

An ``Attempt`` never raises for a fault of the server or the model: faults are findings in it.
Whether it is repeated is decided in one place, ``retry.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol

import msgspec

from evalstab.chat import IntendedCall, Json, ServerTimings, ToolCall, ToolSpec, Usage
from evalstab.findings import Finding

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

ReasoningField = Literal["reasoning", "reasoning_content", "reasoning_details", "blocks", "inline"]
ERROR_BODY_LIMIT = 1 << 20
Action = Literal["accept", "repeat", "wait", "end_trial", "end_series"]


class Reply(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One model response, normalised: reasoning, content and calls on separate channels.

    ``None`` texts mean that nothing arrived on the channel. ``finish`` is as received (``None``
    for null or an empty string). ``reasoning_field`` says in which form the reasoning came, since
    it is sent back in the same form; ``reasoning_details`` are kept verbatim for that, and so are
    ``reasoning_tags`` where inline reasoning had others than ``<think>``. ``fingerprint`` is the
    server's own ``system_fingerprint``: another one is another build, configuration or machine.
    """

    reasoning: str | None = None
    content: str | None = None
    tool_calls: tuple[ToolCall, ...] = ()
    intended: tuple[IntendedCall, ...] = ()
    finish: str | None = None
    usage: Usage | None = None
    counted: Usage | None = None
    timings: ServerTimings | None = None
    reasoning_field: ReasoningField | None = None
    reasoning_tags: tuple[str, str] | None = None
    reasoning_details: tuple[Json, ...] = ()
    model: str | None = None
    provider: str | None = None
    fingerprint: str | None = None
    context_sizes: tuple[int | None, int | None] | None = None


NO_GAPS = msgspec.Raw(b'""')


def encoded_gaps(gaps: Sequence[int]) -> msgspec.Raw:
    """The times between reads, in microseconds, as a ``Clock`` keeps them: ``"15023,16002"``.

    They are a third of a record, and a reader passes over a string far quicker than over numbers.
    """
    return msgspec.Raw(b'"' + msgspec.json.encode(gaps)[1:-1] + b'"') if gaps else NO_GAPS


class Clock(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """When the bytes of one attempt came, in seconds after ``sent`` on a monotonic clock.

    ``sent`` itself counts from the start of the trial and is taken after the body was built.
    ``first`` is the first chunk that carries a choice's text, reasoning or call. ``gaps_us`` holds
    the time between successive reads that brought chunks, in microseconds, and ``per_read`` how
    many chunks each brought (chunks read together share one stamp and have no gap of their own;
    empty: always one). ``unreliable`` says why rates of this attempt are no measurement.
    ``gaps`` is made with ``encoded_gaps`` and decoded when asked for.
    """

    sent: float
    headers: float | None = None
    first: float | None = None
    last: float | None = None
    end: float
    chunks: int = 0
    gaps: msgspec.Raw = msgspec.field(default=NO_GAPS, name="gaps_us")
    per_read: tuple[int, ...] = ()
    unreliable: str | None = None

    @property
    def gaps_us(self) -> npt.NDArray[np.int64]:
        """The gaps, empty where what stands there are no whole numbers."""
        import numpy as np  # noqa: PLC0415

        text = bytes(self.gaps)[1:-1]
        if text.translate(None, b"0123456789,") or b",," in text or text.strip(b",") != text:
            text = b""
        return np.fromstring(text.decode(), dtype=np.int64, sep=",")


class Attempt(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One POST and all that came of it.

    ``at`` is UTC wall time (ISO 8601). ``status`` is the HTTP status, ``None`` without an answer.
    ``error`` is the plain text of what went wrong on the transport or what the server said.
    ``action`` is what the retry policy decided, ``waited`` the seconds spent waiting after it.
    """

    number: int
    at: str
    status: int | None = None
    error: str | None = None
    retry_after: float | None = None
    action: Action = "accept"
    waited: float = 0.0
    reply: Reply | None = None
    findings: tuple[Finding, ...] = ()
    clock: Clock | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What the reader of a reply must know of the request in order to judge it.

    ``max_tokens`` is the limit that was sent (``None``: none). ``thinking`` is what was asked for
    (``None``: nothing was said). ``prompt_estimate`` is our own count of the tokens sent,
    ``previous_context`` the prompt tokens that the server stated for the step before, and
    ``context_size`` the real context of the server, each ``None`` where unknown.
    """

    tools: tuple[ToolSpec, ...] = ()
    stream: bool = True
    max_tokens: int | None = None
    thinking: bool | None = None
    usage_asked: bool = True
    prompt_estimate: int | None = None
    previous_context: int | None = None
    context_size: int | None = None


@dataclass(slots=True)
class History:
    """The conversation so far, each message encoded once: a long history costs one join."""

    messages: list[bytes] = field(default_factory=list)

    def append(self, *messages: Json | bytes) -> None:
        """Add messages; those given as JSON objects are encoded here, once."""
        for message in messages:
            encoded = message if isinstance(message, bytes) else msgspec.json.encode(message)
            self.messages.append(encoded)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatRequest:
    """One request: the history, the body's other fields (already final), and what was asked.

    ``trial_header`` is the value of X-Evalstab-Trial or ``None`` where it must not be sent;
    ``trial_clock`` is the monotonic time at which the trial began and ``deadline`` the one at which
    it must end (the answer is then cut and kept as far as it came). ``watch`` is told, read by
    read, how many chunks came: for progress displays only.
    """

    history: History
    fields: Json
    asked: Asked
    number: int = 1
    trial_header: str | None = None
    trial_clock: float = 0.0
    deadline: float | None = None
    watch: Callable[[int], None] | None = None


class Refusal(Exception):
    """An answer with another status than 2xx; its body was read up to ERROR_BODY_LIMIT."""

    def __init__(self, status: int, headers: Mapping[str, str], body: bytes) -> None:
        super().__init__(f"HTTP {status}")
        self.status = status
        self.headers = headers
        self.body = body


class Endpoint(Protocol):
    """Somebody who answers chat requests."""

    async def attempt(self, request: ChatRequest) -> Attempt:
        """Send one request once and read all of the answer; faults are findings, not errors."""
        ...

    async def close(self) -> None:
        """Release connections."""
        ...


def usage_total(usage: Usage | None) -> int | None:
    """Active context of a step: prompt tokens (cached included) plus completion tokens."""
    if usage is None or usage.prompt_tokens is None or usage.completion_tokens is None:
        return None
    return usage.prompt_tokens + usage.completion_tokens


def encode_body(history: History, fields: dict[str, Any]) -> bytes:
    """The request body: the fields, with the already encoded messages joined in."""
    head = msgspec.json.encode(fields)
    joined = b",".join(history.messages)
    separator = b"," if len(head) > 2 else b""
    return head[:-1] + separator + b'"messages":[' + joined + b"]}"
