"""What the proxy hands over to the process that writes, as it happens, and what that one answers.

Frames on a pipe, each behind its length. An exchange is handed over when it has been asked, while
it is answered, and when it has ended: whoever ends the proxy in between, the writer knows what had
come and writes it down.
"""

from __future__ import annotations

from typing import BinaryIO

import msgspec

from evalstab.intake.exchange import End, Exchange

_LENGTH = 8


class Known(msgspec.Struct, tag=True, frozen=True):
    """Secrets, in all forms that are searched for, with the marks that stand in their place."""

    forms: dict[bytes, bytes]


class Asked(msgspec.Struct, tag=True, frozen=True):
    """A request has been passed on whole; ``raw`` is its body, None where it is too large."""

    id: int
    exchange: Exchange
    raw: bytes | None


class Answered(msgspec.Struct, tag=True, frozen=True):
    """Status and headers of the answer have come, so many seconds after the request."""

    id: int
    status: int
    t_headers: float
    headers: dict[str, str]


class Came(msgspec.Struct, tag=True, frozen=True):
    """Pieces of an answer's body, each with the seconds since its request."""

    id: int
    pieces: list[tuple[float, bytes]]


class Over(msgspec.Struct, tag=True, frozen=True):
    """The exchange has ended, and how."""

    id: int
    end: End
    t_end: float
    omitted: int = 0
    problem: str | None = None


Frame = Known | Asked | Answered | Came | Over


class Written(msgspec.Struct, frozen=True):
    """The writer's answer: an exchange stands in the log of its session, or why it does not.

    ``answered`` says whether the answer was whole, ``tools`` whether the request was one of a
    conversation with tools.
    """

    id: int
    session: str
    problem: str | None = None
    answered: bool = False
    tools: bool = False


_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(Frame)


def packed(frame: Frame) -> bytes:
    """A frame as it goes through the pipe."""
    data = _encoder.encode(frame)
    return len(data).to_bytes(_LENGTH, "big") + data


def next_frame(pipe: BinaryIO) -> Frame | None:
    """The next frame; None where the other side has ended, be it in the middle of one."""
    head = pipe.read(_LENGTH)
    if len(head) < _LENGTH:
        return None
    length = int.from_bytes(head, "big")
    data = pipe.read(length)
    return _decoder.decode(data) if len(data) == length else None
