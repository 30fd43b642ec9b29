"""Writes exchanges, one log a session, without secrets, each line whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from evalstab.chat import Json
from evalstab.endpoint.unpack import Unpacker
from evalstab.intake.exchange import LOG_NAME, Exchange, turns_of, without_shared
from evalstab.intake.exchange_reply import attempt_of
from evalstab.intake.exchange_secrets import (
    clean_address,
    clean_body,
    clean_headers,
    clean_pieces,
    clean_query,
)
from evalstab.redact import redactor, scrub

MOST_UNPACKED = 128 << 20
"""Bytes of an answer that are read where it came packed."""

_UNREAD = frozenset({"br", "zstd", "compress"})
_KEPT_IN_MEMORY = 64


@dataclass(slots=True)
class ExchangeLog:
    """``root/NAME/exchanges.jsonl`` for each session; ``run`` names this start of the proxy."""

    root: Path
    run: str
    sessions: dict[str, int] = field(default_factory=dict)
    _before: dict[str, list[Any]] = field(default_factory=dict)

    def folder(self, session: str) -> Path:
        """Where a session's log stands."""
        return self.root / session

    def write(self, exchange: Exchange, pieces: Sequence[tuple[float, bytes]]) -> None:
        """Append an exchange to the log of its session; OSError where the disk refuses.

        ``pieces`` are the answer's body as it came, each with its time.
        """
        name = exchange.session
        exchange.seq = self.sessions[name] = self.sessions.get(name, 0) + 1
        exchange.run = self.run
        exchange.query = clean_query(exchange.query)
        exchange.upstream = clean_address(exchange.upstream)
        exchange.req_headers = clean_headers(exchange.req_headers)
        exchange.resp_headers = clean_headers(exchange.resp_headers)
        exchange.req_body = clean_body(exchange.req_body)
        exchange.chunks = clean_pieces(_unpacked(exchange, pieces))
        exchange.t_first_byte = pieces[0][0] if pieces else None
        exchange.assembled = _assembled(exchange)
        turns = turns_of(exchange.req_body)
        exchange.req_body, exchange.shared = without_shared(
            exchange.req_body, self._before.pop(name, [])
        )
        self._before[name] = turns
        while len(self._before) > _KEPT_IN_MEMORY:
            del self._before[next(iter(self._before))]
        folder = self.folder(name)
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        line = scrub(redactor().shapes(msgspec.json.encode(exchange).decode()).encode()) + b"\n"
        handle = os.open(folder / LOG_NAME, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        try:
            view = memoryview(line)
            while view:
                view = view[os.write(handle, view) :]
            os.fdatasync(handle)
        finally:
            os.close(handle)


def _unpacked(
    exchange: Exchange, pieces: Sequence[tuple[float, bytes]]
) -> list[tuple[float, bytes]]:
    """The answer's pieces, unpacked where the upstream packed them unasked, up to a bound."""
    encoding = exchange.resp_headers.get("content-encoding", "").strip().lower()
    if encoding in _UNREAD and pieces:
        exchange.problem = exchange.problem or f"the answer came packed as {encoding}, unasked"
    unpacker = Unpacker(encoding)
    left = MOST_UNPACKED
    done: list[tuple[float, bytes]] = []
    for at, piece in pieces:
        plain = b""
        for part in unpacker.feed(piece):
            plain += part
            if len(plain) > left:
                exchange.omitted += len(plain) - left
                return [*done, (at, plain[:left])]
        left -= len(plain)
        done.append((at, plain))
    return done


def _assembled(exchange: Exchange) -> Json | None:
    reply = attempt_of(exchange).reply
    if reply is None:
        return None
    return {
        "finish_reason": reply.finish,
        "reasoning": reply.reasoning,
        "content": reply.content,
        "tool_calls": [
            {
                "id": call.id,
                "name": call.name,
                "arguments": call.arguments,
                "arguments_valid_json": call.complete,
            }
            for call in reply.tool_calls
        ],
        "usage": msgspec.to_builtins(reply.usage) if reply.usage else None,
    }
