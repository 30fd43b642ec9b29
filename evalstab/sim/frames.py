"""An answer cut into tokens, and what all forms of sending them have in common."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

from evalstab.chat import Json
from evalstab.sim import tokens
from evalstab.sim.dialect import Dialect
from evalstab.sim.turn import Turn


@dataclass(frozen=True, slots=True)
class Head:
    """What stands in every frame of one answer."""

    id: str
    model: str
    created: int
    fingerprint: str | None


@dataclass(frozen=True, slots=True)
class Piece:
    """One token: the channel it belongs to, its text, and for calls which call it is part of."""

    channel: str
    text: str
    call: int = 0

    @property
    def block(self) -> tuple[str, int]:
        """The part of the answer that it belongs to: reasoning, content, or one of the calls."""
        return ("call" if self.channel in {"name", "arguments"} else self.channel, self.call)


@dataclass(frozen=True, slots=True)
class Cut:
    """The tokens that are really sent, and whether a limit cut the rest off."""

    pieces: list[Piece]
    cut: bool

    @property
    def tokens(self) -> int:
        """Completion tokens."""
        return len(self.pieces)

    @property
    def reasoning_tokens(self) -> int:
        """Tokens of the reasoning."""
        return sum(1 for piece in self.pieces if piece.channel == "reasoning")

    def length(self, channel: str) -> int:
        """Characters that are sent on a channel."""
        return sum(len(piece.text) for piece in self.pieces if piece.channel == channel)

    def text(self, channel: str, call: int = 0) -> str:
        """What is sent on a channel."""
        return "".join(p.text for p in self.pieces if (p.channel, p.call) == (channel, call))

    def blocks(self) -> list[tuple[str, int]]:
        """The parts of the answer in the order of sending."""
        return list(dict.fromkeys(piece.block for piece in self.pieces))


class Form(Protocol):
    """Writes one answer in the form of an API; made anew for each sending."""

    def opening(self) -> bytes:
        """What is sent before the first token."""
        ...

    def frames(self, pieces: list[Piece]) -> Iterator[bytes]:
        """What is sent for each token."""
        ...

    def ending(self, fault: str | None) -> bytes:
        """What is sent after the last token; ``fault`` is that of the transport, if any."""
        ...

    def error(self, body: Json) -> bytes:
        """An error, and the end, inside a stream that began well; ``body`` is that of a refusal."""
        ...

    def broken(self) -> bytes:
        """A frame that stops in the middle."""
        ...

    def whole(self) -> Json:
        """The body of an answer that is not streamed."""
        ...


def cut(turn: Turn, limit: int | None) -> Cut:
    """The turn's tokens in the order of sending, at most ``limit`` of them."""
    pieces = list(_pieces(turn))
    if limit is None or len(pieces) < limit:
        return Cut(pieces, cut=False)
    return Cut(pieces[:limit], cut=len(pieces) > limit)


def _pieces(turn: Turn) -> Iterator[Piece]:
    for text in tokens.pieces(turn.reasoning):
        yield Piece("reasoning", text)
    for text in tokens.pieces(turn.content):
        yield Piece("content", text)
    for number, call in enumerate(turn.calls):
        yield Piece("name", call.name, number)
        for text in tokens.pieces(call.text):
            yield Piece("arguments", text, number)


def finish_of(dialect: Dialect, sent: Cut) -> str:
    """The finish reason that this server states."""
    last = sent.pieces[-1].channel if sent.pieces else "content"
    in_call = last in {"name", "arguments"}
    if not sent.cut or dialect.never_length:
        return "tool_calls" if in_call else "stop"
    return dialect.call_finish_on_cut if in_call else "length"


def data(value: Json) -> bytes:
    """A frame of a stream."""
    return b"data: " + encoded(value) + b"\n\n"


def event(value: Json) -> bytes:
    """A frame with the name of its event before it, which is the ``type`` of the value."""
    return f"event: {value['type']}\n".encode() + data(value)


def encoded(value: Json) -> bytes:
    """JSON in UTF-8; what no encoding has becomes a question mark."""
    return json.dumps(value, ensure_ascii=False).encode("utf-8", "replace")
