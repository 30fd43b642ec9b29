"""An answer on the wire: a turn cut into tokens, each token a frame in a server's dialect."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from evalstab.chat import Json
from evalstab.sim import tokens
from evalstab.sim.dialect import Dialect
from evalstab.sim.turn import Turn

DONE = b"data: [DONE]\n\n"
_THINK, _THOUGHT = "<think>\n", "\n</think>\n\n"


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


class Form:
    """Writes the frames of one answer in a dialect."""

    def __init__(self, dialect: Dialect, head: Head, call_ids: list[str]) -> None:
        self._dialect = dialect
        self._call_ids = call_ids
        common: Json = {"object": "chat.completion.chunk", "created": head.created}
        common |= {"id": head.id, "model": head.model}
        if head.fingerprint:
            common["system_fingerprint"] = head.fingerprint
        self._common = common
        opened = json.dumps({**common, "choices": [{"index": 0, "delta": 0}]})
        before, after = opened.rsplit('"delta": 0}', 1)
        self._before = f'data: {before}"delta": '
        self._after = ', "finish_reason": null}' + after + "\n\n"

    def delta(self, delta: str) -> bytes:
        """A frame around a delta that is JSON text already."""
        return f"{self._before}{delta}{self._after}".encode("utf-8", "replace")

    def role(self) -> bytes:
        """The first frame: the role."""
        content = json.dumps(self._dialect.role_content)
        return self.delta(f'{{"role": "assistant", "content": {content}}}')

    def frames(self, pieces: list[Piece]) -> Iterator[bytes]:
        """One frame a token; where thinking stands inline, its tags ride on their neighbours."""
        inline = self._dialect.reasoning == "inline"
        thinking = False
        for piece in pieces:
            text, before = piece.text, b""
            if inline and piece.channel == "reasoning" and not thinking:
                text, thinking = _THINK + text, True
            elif thinking and piece.channel == "content":
                text, thinking = _THOUGHT + text, False
            elif thinking and piece.channel != "reasoning":
                before, thinking = self.delta(f'{{"content": {json.dumps(_THOUGHT)}}}'), False
            yield before + self._piece(piece, text)

    def _piece(self, piece: Piece, text: str) -> bytes:
        quoted = json.dumps(text, ensure_ascii=False)
        if piece.channel == "content":
            return self.delta(f'{{"content": {quoted}}}')
        if piece.channel == "reasoning":
            return self.delta(_thought(self._dialect, quoted))
        if piece.channel == "arguments":
            function = f'"function": {{"arguments": {quoted}}}'
            return self.delta(f'{{"tool_calls": [{{"index": {piece.call}, {function}}}]}}')
        opening = f'"id": "{self._call_ids[piece.call]}", "type": "function"'
        function = f'"function": {{"name": {quoted}, "arguments": ""}}'
        return self.delta(f'{{"tool_calls": [{{"index": {piece.call}, {opening}, {function}}}]}}')

    def finish(self, reason: str, extra: Json | None = None) -> bytes:
        """The frame with the finish reason; ``extra`` stands beside the choices."""
        choice = {"index": 0, "delta": {}, "finish_reason": reason}
        return _frame({**self._common, "choices": [choice], **(extra or {})})

    def usage(self, usage: Json, extra: Json | None = None) -> bytes:
        """The frame without choices that states the usage."""
        return _frame({**self._common, "choices": [], "usage": usage, **(extra or {})})


def _frame(value: Json) -> bytes:
    return b"data: " + json.dumps(value).encode() + b"\n\n"


def _thought(dialect: Dialect, quoted: str) -> str:
    """A delta with a piece of reasoning in the dialect's field."""
    if dialect.reasoning == "reasoning_details":
        part = f'{{"type": "reasoning.text", "index": 0, "text": {quoted}}}'
        return f'{{"reasoning_details": [{part}]}}'
    field = "content" if dialect.reasoning == "inline" else dialect.reasoning
    return f'{{"{field}": {quoted}}}'


def error_frame(body: Json) -> bytes:
    """An error inside a stream that began well."""
    return _frame(body)


def message(dialect: Dialect, sent: Cut, call_ids: list[str]) -> Json:
    """The whole answer as one message."""
    texts: dict[tuple[str, int], list[str]] = {}
    for piece in sent.pieces:
        texts.setdefault((piece.channel, piece.call), []).append(piece.text)
    reasoning = "".join(texts.get(("reasoning", 0), ()))
    content: str | None = "".join(texts.get(("content", 0), ()))
    calls = [
        {
            "id": call_ids[number],
            "type": "function",
            "function": {
                "name": "".join(name),
                "arguments": "".join(texts.get(("arguments", number), ())),
            },
        }
        for (channel, number), name in texts.items()
        if channel == "name"
    ]
    answer: dict[str, Any] = {"role": "assistant", "content": content or (None if calls else "")}
    if reasoning and dialect.reasoning == "inline":
        answer["content"] = _THINK + reasoning + _THOUGHT + (content or "")
    elif reasoning and dialect.reasoning == "reasoning_details":
        answer["reasoning_details"] = [{"type": "reasoning.text", "index": 0, "text": reasoning}]
    elif reasoning:
        answer[dialect.reasoning] = reasoning
    if calls:
        answer["tool_calls"] = calls
    return answer
