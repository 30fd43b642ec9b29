"""An answer in the form of the messages API, as vLLM or as llama.cpp writes its events.

vLLM closes each block before the next and counts cached tokens among those of the input;
llama.cpp closes all blocks at the end and counts cached tokens apart.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from evalstab.chat import Json
from evalstab.sim.answering import Plan
from evalstab.sim.dice import fingerprint
from evalstab.sim.frames import Piece, data, event

_REASONS = {"stop": "end_turn", "tool_calls": "tool_use", "length": "max_tokens"}
_HALF = b'event: content_block_delta\ndata: {"type": "content_block_delta", "ind\n\n'
_BEGUN: dict[str, Json] = {
    "reasoning": {"type": "thinking", "thinking": ""},
    "content": {"type": "text", "text": ""},
}


class MessagesForm:
    """Writes the events of one answer."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._one_by_one = plan.admitted.dialect.events == "numbered"
        self._blocks = plan.sent.blocks()
        self._open: list[tuple[str, int]] = []

    def opening(self) -> bytes:
        """The message begins, and the prompt is counted."""
        message = self._message([], None, self._counted(0))
        return event({"type": "message_start", "message": message})

    def frames(self, pieces: list[Piece]) -> Iterator[bytes]:
        """One delta a token; a block is opened before its first one."""
        for piece in pieces:
            before = b""
            if piece.block not in self._open:
                before = self._close() if self._one_by_one else b""
                before += self._begin(piece.block)
            yield before + self._delta(piece)

    def _begin(self, block: tuple[str, int]) -> bytes:
        self._open.append(block)
        begun = _BEGUN.get(block[0]) or self._call(block[1])
        return self._about("content_block_start", block, content_block=begun)

    def _call(self, number: int) -> Json:
        name = self._plan.sent.text("name", number)
        call: Json = {"type": "tool_use", "id": self._plan.call_ids[number], "name": name}
        return call | {"input": {}} if self._one_by_one else call

    def _delta(self, piece: Piece) -> bytes:
        if piece.channel == "name":
            return b""
        deltas: dict[str, Json] = {
            "reasoning": {"type": "thinking_delta", "thinking": piece.text},
            "content": {"type": "text_delta", "text": piece.text},
            "arguments": {"type": "input_json_delta", "partial_json": piece.text},
        }
        return self._about("content_block_delta", piece.block, delta=deltas[piece.channel])

    def _close(self) -> bytes:
        """The events that close what is open."""
        closed, self._open = self._open, []
        return b"".join(self._end(block) for block in closed)

    def _end(self, block: tuple[str, int]) -> bytes:
        stop = self._about("content_block_stop", block)
        if block[0] != "reasoning":
            return stop
        delta = {"type": "signature_delta", "signature": self._signature}
        return self._about("content_block_delta", block, delta=delta) + stop

    def ending(self, fault: str | None) -> bytes:
        """All blocks are closed; then why it stopped, what was generated, and the end mark."""
        made = self._close()
        if fault != "no-finish":
            usage = self._counted(self._plan.sent.tokens)
            if not self._one_by_one:
                usage = {"output_tokens": usage["output_tokens"]}
            delta = {"stop_reason": self._reason, "stop_sequence": None}
            made += event({"type": "message_delta", "delta": delta, "usage": usage})
        return made if fault == "no-done" else made + event({"type": "message_stop"})

    def error(self, body: Json) -> bytes:
        """An error inside a stream that began well; llama.cpp sends its bare inner part."""
        told = body.get("error")
        told = told if isinstance(told, dict) else {}
        if not self._one_by_one:
            return b"event: error\n" + data(told)
        inner = {"type": "internal_error", "message": told.get("message")}
        return event({"type": "error", "error": inner})

    def broken(self) -> bytes:
        """An event that stops in the middle."""
        return _HALF

    def whole(self) -> Json:
        """The body of an answer that is not streamed; arguments that are no JSON become ``{}``."""
        content = [self._block(block) for block in self._blocks]
        return self._message(content, self._reason, self._counted(self._plan.sent.tokens))

    def _block(self, block: tuple[str, int]) -> Json:
        kind, number = block
        if kind == "call":
            return self._call(number) | {
                "input": _parsed(self._plan.sent.text("arguments", number))
            }
        text = self._plan.sent.text(kind)
        if kind == "content":
            return {"type": "text", "text": text}
        return {"type": "thinking", "thinking": text, "signature": self._signature}

    @property
    def _reason(self) -> str:
        return _REASONS.get(self._plan.finish, self._plan.finish)

    @property
    def _signature(self) -> str:
        return fingerprint("signature", self._plan.head.id, length=32) if self._one_by_one else ""

    def _message(self, content: list[Json], reason: str | None, usage: Json) -> Json:
        head = self._plan.head
        said: Json = {"id": head.id, "type": "message", "role": "assistant", "content": content}
        return said | {
            "model": head.model,
            "stop_reason": reason,
            "stop_sequence": None,
            "usage": usage,
        }

    def _counted(self, generated: int) -> Json:
        prompt = self._plan.admitted.prompt
        if self._one_by_one:
            return {"input_tokens": prompt.tokens, "output_tokens": generated}
        fresh = prompt.tokens - prompt.cached
        apart = {"cache_read_input_tokens": prompt.cached, "input_tokens": fresh}
        return apart | {"output_tokens": generated}

    def _about(self, kind: str, block: tuple[str, int], **more: object) -> bytes:
        return event({"type": kind, "index": self._blocks.index(block), **more})


def _parsed(arguments: str) -> Json:
    try:
        value = json.loads(arguments)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}
