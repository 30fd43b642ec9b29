"""An answer in the form of chat completions, in a server's dialect."""

from __future__ import annotations

import json
from collections.abc import Iterator

from evalstab.chat import Json
from evalstab.sim.answering import Plan
from evalstab.sim.dialect import Dialect
from evalstab.sim.frames import Piece, data

DONE = b"data: [DONE]\n\n"
_THINK, _THOUGHT = "<think>\n", "\n</think>\n\n"
_HALF = b'data: {"choices": [{"index": 0, "delta": {"conte\n\n'
_ENDS_AT_AN_ERROR = frozenset({"llamacpp", "minimax"})


class ChatForm:
    """Writes the frames of one answer in a dialect."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._dialect = plan.admitted.dialect
        head = plan.head
        common: Json = {"object": "chat.completion.chunk", "created": head.created}
        common |= {"id": head.id, "model": head.model}
        if head.fingerprint:
            common["system_fingerprint"] = head.fingerprint
        self._common = common
        opened = json.dumps({**common, "choices": [{"index": 0, "delta": 0}]})
        before, after = opened.rsplit('"delta": 0}', 1)
        self._before = f'data: {before}"delta": '
        self._after = ', "finish_reason": null}' + after + "\n\n"

    def _delta(self, delta: str) -> bytes:
        """A frame around a delta that is JSON text already."""
        return f"{self._before}{delta}{self._after}".encode("utf-8", "replace")

    def opening(self) -> bytes:
        """The first frame: the role."""
        content = json.dumps(self._dialect.role_content)
        return self._delta(f'{{"role": "assistant", "content": {content}}}')

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
                before, thinking = self._delta(f'{{"content": {json.dumps(_THOUGHT)}}}'), False
            yield before + self._piece(piece, text)

    def _piece(self, piece: Piece, text: str) -> bytes:
        quoted = json.dumps(text, ensure_ascii=False)
        if piece.channel == "content":
            return self._delta(f'{{"content": {quoted}}}')
        if piece.channel == "reasoning":
            return self._delta(_thought(self._dialect, quoted))
        if piece.channel == "arguments":
            function = f'"function": {{"arguments": {quoted}}}'
            return self._delta(f'{{"tool_calls": [{{"index": {piece.call}, {function}}}]}}')
        opening = f'"id": "{self._plan.call_ids[piece.call]}", "type": "function"'
        function = f'"function": {{"name": {quoted}, "arguments": ""}}'
        return self._delta(f'{{"tool_calls": [{{"index": {piece.call}, {opening}, {function}}}]}}')

    def ending(self, fault: str | None) -> bytes:
        """The frames after the last token: finish reason, usage, end mark."""
        plan = self._plan
        options = plan.admitted.body.get("stream_options")
        wants_usage = isinstance(options, dict) and bool(options.get("include_usage"))
        choice = {"index": 0, "delta": {}, "finish_reason": plan.finish}
        beside = {} if wants_usage else plan.extras
        finish = data({**self._common, "choices": [choice], **beside})
        counted = {**self._common, "choices": [], "usage": plan.usage, **plan.extras}
        usage = data(counted) if wants_usage else b""
        if fault == "no-finish":
            return usage + DONE
        return finish + usage + (b"" if fault == "no-done" else DONE)

    def error(self, body: Json) -> bytes:
        """An error inside a stream that began well."""
        return data(body) + (b"" if self._dialect.errors in _ENDS_AT_AN_ERROR else DONE)

    def broken(self) -> bytes:
        """A frame that stops in the middle of a field's name."""
        return _HALF

    def whole(self) -> Json:
        """The body of an answer that is not streamed."""
        plan = self._plan
        choice = {"index": 0, "message": self._message(), "finish_reason": plan.finish}
        body: Json = {
            "id": plan.head.id,
            "object": "chat.completion",
            "created": plan.head.created,
            "model": plan.head.model,
            "choices": [choice],
            "usage": plan.usage,
            **plan.extras,
        }
        if plan.head.fingerprint:
            body["system_fingerprint"] = plan.head.fingerprint
        return body

    def _message(self) -> Json:
        sent, field = self._plan.sent, self._dialect.reasoning
        reasoning, content = sent.text("reasoning"), sent.text("content")
        calls = [
            {
                "id": self._plan.call_ids[number],
                "type": "function",
                "function": {
                    "name": sent.text("name", number),
                    "arguments": sent.text("arguments", number),
                },
            }
            for kind, number in sent.blocks()
            if kind == "call"
        ]
        answer: Json = {"role": "assistant", "content": content or (None if calls else "")}
        if reasoning and field == "inline":
            answer["content"] = _THINK + reasoning + _THOUGHT + content
        elif reasoning and field == "reasoning_details":
            answer[field] = [{"type": "reasoning.text", "index": 0, "text": reasoning}]
        elif reasoning:
            answer[field] = reasoning
        if calls:
            answer["tool_calls"] = calls
        return answer


def _thought(dialect: Dialect, quoted: str) -> str:
    """A delta with a piece of reasoning in the dialect's field."""
    if dialect.reasoning == "reasoning_details":
        part = f'{{"type": "reasoning.text", "index": 0, "text": {quoted}}}'
        return f'{{"reasoning_details": [{part}]}}'
    field = "content" if dialect.reasoning == "inline" else dialect.reasoning
    return f'{{"{field}": {quoted}}}'
