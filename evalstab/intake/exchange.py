"""One request and its answer as the recording proxy saw them: a line of an exchange log.

A log holds one session. Messages that repeat those of the exchange before are not written again:
``shared`` says how many, and ``read_exchanges`` puts them back.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

import msgspec

from evalstab.chat import Json

VERSION = 1
LOG_NAME = "exchanges.jsonl"
LONGEST_LINE = 256 << 20

End = Literal[
    "done", "upstream_reset", "client_closed", "upstream_refused", "timeout", "proxy_stopped"
]


class Exchange(msgspec.Struct, kw_only=True):
    """``t_req`` is seconds since 1970; ``t_first_byte``, ``t_end`` and the times of ``chunks`` are
    seconds after it. ``path`` is the upstream's path, ``query`` what stood behind its question
    mark, ``session`` the group it was put into.

    ``chunks`` are the answer as it came, decoded as UTF-8 (what is none is U+FFFD), and
    ``omitted`` the bytes at its end that were passed on and not kept. ``assembled`` is the answer
    put together, for people. ``end``: how the transport ended; ``problem``: why, where that is
    known.
    """

    v: int = VERSION
    seq: int = 0
    run: str = ""
    session: str = ""
    t_req: float = 0.0
    method: str = "POST"
    path: str = ""
    query: str = ""
    upstream: str = ""
    req_headers: dict[str, str] = {}
    req_body: Any = None
    req_sha256: str = ""
    shared: int = 0
    status: int | None = None
    resp_headers: dict[str, str] = {}
    t_headers: float | None = None
    t_first_byte: float | None = None
    t_end: float = 0.0
    chunks: list[tuple[float, str]] = []
    omitted: int = 0
    assembled: Json | None = None
    end: End = "done"
    problem: str | None = None
    via_proxy: bool = True


_decoder = msgspec.json.Decoder(Exchange)


def turns_key(body: Any) -> str | None:
    """Under which key a request body holds its conversation; None where it holds none."""
    if isinstance(body, dict):
        for key in ("messages", "input"):
            if isinstance(body.get(key), list):
                return key
    return None


def turns_of(body: Any) -> list[Any]:
    """The conversation of a request body, as it was sent; empty where it holds none."""
    key = turns_key(body)
    return list(body[key]) if key else []


def without_shared(body: Any, before: Sequence[Any]) -> tuple[Any, int]:
    """The body without the leading turns that it shares with an earlier one, and their number."""
    key = turns_key(body)
    if key is None:
        return body, 0
    turns = body[key]
    shared = common(turns, before)
    return (body | {key: turns[shared:]}, shared) if shared else (body, 0)


def common(one: Sequence[Any], other: Sequence[Any]) -> int:
    """How many leading turns are equal."""
    number = 0
    for left, right in zip(one, other, strict=False):
        if left != right:
            break
        number += 1
    return number


def digest(raw: bytes) -> str:
    """What identifies a request's bytes."""
    return hashlib.sha256(raw).hexdigest()


def read_exchanges(path: Path) -> Iterator[Exchange]:
    """The exchanges of a log, whole again; lines that cannot be read (a torn tail) are passed."""
    before: list[Any] = []
    with path.open("rb") as file:
        while line := file.readline(LONGEST_LINE):
            try:
                exchange = _decoder.decode(line)
            except (msgspec.MsgspecError, RecursionError, UnicodeError):
                continue
            key = turns_key(exchange.req_body)
            if key is not None:
                turns = [*before[: exchange.shared], *exchange.req_body[key]]
                exchange.req_body = exchange.req_body | {key: turns}
                exchange.shared = 0
                before = turns
            yield exchange
