"""Writes exchanges, one log a session, without secrets, each line whole or not at all."""

from __future__ import annotations

import codecs
import os
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from evalstab.chat import Json
from evalstab.intake.exchange import LOG_NAME, Exchange, turns_of, without_shared
from evalstab.intake.exchange_reply import attempt_of
from evalstab.redact import is_secret_name, redactor, remember, scrub, scrub_text

_KEPT_IN_MEMORY = 64


@dataclass(slots=True)
class ExchangeLog:
    """``root/NAME/exchanges.jsonl`` for each session; ``run`` names this start of the proxy."""

    root: Path
    run: str
    sessions: dict[str, int] = field(default_factory=dict)
    _before: dict[str, list[Any]] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def folder(self, session: str) -> Path:
        """Where a session's log stands."""
        return self.root / session

    def write(self, exchange: Exchange, chunks: Sequence[tuple[float, bytes]]) -> None:
        """Append an exchange to the log of its session; OSError where the disk refuses."""
        with self._lock:
            self._write(exchange, chunks)

    def _write(self, exchange: Exchange, chunks: Sequence[tuple[float, bytes]]) -> None:
        name = exchange.session
        exchange.seq = self.sessions[name] = self.sessions.get(name, 0) + 1
        exchange.run = self.run
        exchange.req_headers = _clean(exchange.req_headers)
        exchange.resp_headers = _clean(exchange.resp_headers)
        exchange.chunks = _texts(chunks)
        exchange.t_first_byte = chunks[0][0] if chunks else None
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


def _clean(headers: Mapping[str, str]) -> dict[str, str]:
    """Headers without secrets, which are remembered: a server may send them back."""
    clean: dict[str, str] = {}
    for name, value in headers.items():
        if is_secret_name(name) or name in ("x-api-key", "set-cookie"):
            scheme, space, credential = value.partition(" ")
            remember(credential if space and scheme.lower() in ("bearer", "basic") else value)
            clean[name] = redactor().mark(value)
        else:
            clean[name] = redactor().shapes(value)
    return clean


def _texts(chunks: Sequence[tuple[float, bytes]]) -> list[tuple[float, str]]:
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    texts = [(round(at, 6), decoder.decode(chunk)) for at, chunk in chunks]
    if texts and (rest := decoder.decode(b"", final=True)):
        texts[-1] = (texts[-1][0], texts[-1][1] + rest)
    whole = "".join(text for _, text in texts)
    if (clean := scrub_text(whole)) != whole:
        # A secret may lie across pieces: then times are kept for the first of them only.
        return [(texts[0][0], clean)]
    return texts


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
