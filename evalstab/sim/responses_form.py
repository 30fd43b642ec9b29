"""An answer in the form of the responses API, as vLLM or as llama.cpp writes its events.

vLLM numbers its events and closes each item before the next; llama.cpp closes all items at the
end, numbers nothing, and calls an answer complete that a limit cut off.
"""

from __future__ import annotations

from collections.abc import Iterator

from evalstab.chat import Json
from evalstab.sim.answering import Plan
from evalstab.sim.frames import Piece, data, event

_DELTAS = {
    "reasoning": "response.reasoning_text.delta",
    "content": "response.output_text.delta",
    "arguments": "response.function_call_arguments.delta",
}
_PREFIXES = {"reasoning": "rs", "content": "msg", "call": "fc"}
_HALF = b'event: response.output_text.delta\ndata: {"type": "response.output_text.del\n\n'


class ResponsesForm:
    """Writes the events of one answer."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._key = plan.head.id.removeprefix("chatcmpl-")
        self._numbered = plan.admitted.dialect.events == "numbered"
        self._blocks = plan.sent.blocks()
        self._open: list[tuple[str, int]] = []
        self._number = -1

    def opening(self) -> bytes:
        """The answer exists, and is being written."""
        begun = self._response("in_progress", [])
        if not self._numbered:
            begun = {key: begun[key] for key in ("id", "object", "status")}
        kinds = ("response.created", "response.in_progress")
        return b"".join(self._event(kind, response=begun) for kind in kinds)

    def frames(self, pieces: list[Piece]) -> Iterator[bytes]:
        """One delta a token; an item is opened before its first one."""
        for piece in pieces:
            before = b""
            if piece.block not in self._open:
                before = self._close() if self._numbered else b""
                before += self._begin(piece.block)
            yield before + self._delta(piece)

    def _delta(self, piece: Piece) -> bytes:
        if piece.channel == "name":
            return b""
        inner = {} if piece.channel == "arguments" else {"content_index": 0}
        return self._about(_DELTAS[piece.channel], piece.block, delta=piece.text, **inner)

    def _begin(self, block: tuple[str, int]) -> bytes:
        self._open.append(block)
        item = self._item(block, done=False)
        added = self._event("response.output_item.added", **self._place(block), item=item)
        if block[0] == "call" or (block[0] == "reasoning" and not self._numbered):
            return added
        part = self._part(block, "")
        kind = "response.content_part.added"
        return added + self._about(kind, block, content_index=0, part=part)

    def _close(self) -> bytes:
        """The events that close what is open."""
        closed, self._open = self._open, []
        return b"".join(self._end(block) for block in closed)

    def _end(self, block: tuple[str, int]) -> bytes:
        item = self._item(block, done=True)
        done = self._event("response.output_item.done", **self._place(block), item=item)
        text = self._plan.sent.text(block[0])
        if block[0] == "call":
            if not self._numbered:
                return done
            kind, made = "response.function_call_arguments.done", item["arguments"]
            return self._about(kind, block, name=item["name"], arguments=made) + done
        if block[0] == "reasoning" and not self._numbered:
            return done
        kind = _DELTAS[block[0]].replace(".delta", ".done")
        said = self._about(kind, block, content_index=0, text=text)
        part = self._part(block, text)
        kind = "response.content_part.done"
        return said + self._about(kind, block, content_index=0, part=part) + done

    def ending(self, _: str | None) -> bytes:
        """All items are closed, and the answer is complete."""
        closed = self._close()
        status = "incomplete" if self._limited else "completed"
        output = [self._item(block, done=True) for block in self._blocks]
        response = self._response(status, output)
        return closed + self._event("response.completed", response=response, **self._plan.extras)

    def error(self, body: Json) -> bytes:
        """An error inside a stream that began well; llama.cpp gives it no name."""
        told = body.get("error")
        if not self._numbered or not isinstance(told, dict):
            return data(body)
        said = {"code": str(told.get("code")), "message": told.get("message"), "param": None}
        return self._event("error", **said)

    def broken(self) -> bytes:
        """An event that stops in the middle of its type."""
        return _HALF

    def whole(self) -> Json:
        """The body of an answer that is not streamed."""
        status = "incomplete" if self._limited else "completed"
        return self._response(status, [self._item(block, done=True) for block in self._blocks])

    @property
    def _limited(self) -> bool:
        return self._numbered and self._plan.sent.cut

    def _response(self, status: str, output: list[Json]) -> Json:
        plan, ended = self._plan, status != "in_progress"
        why = {"reason": "max_output_tokens"} if status == "incomplete" else None
        body = plan.admitted.body
        response: Json = {
            "id": f"resp_{self._key}",
            "object": "response",
            "created_at": plan.head.created,
            "status": status,
            "model": plan.head.model,
            "output": output,
            "usage": self._usage() if ended else None,
        }
        if self._numbered:
            response |= {"error": None, "incomplete_details": why, "metadata": None}
            response |= {"tools": [], "tool_choice": body.get("tool_choice") or "auto"}
            response["parallel_tool_calls"] = body.get("parallel_tool_calls") is not False
        return response

    def _usage(self) -> Json:
        prompt, sent = self._plan.admitted.prompt, self._plan.sent
        usage: Json = {
            "input_tokens": prompt.tokens,
            "output_tokens": sent.tokens,
            "total_tokens": prompt.tokens + sent.tokens,
            "input_tokens_details": {"cached_tokens": prompt.cached},
        }
        if "reasoning" in self._plan.admitted.dialect.usage:
            usage["output_tokens_details"] = {"reasoning_tokens": sent.reasoning_tokens}
        return usage

    def _item(self, block: tuple[str, int], *, done: bool) -> Json:
        kind, number = block
        sent = self._plan.sent
        item: Json = {"id": self._id(block), "status": "completed" if done else "in_progress"}
        if kind == "call":
            arguments = sent.text("arguments", number) if done else ""
            call = {"call_id": self._call_id(number), "name": sent.text("name", number)}
            return item | {"type": "function_call", **call, "arguments": arguments}
        text = sent.text(kind)
        content = [self._part(block, text)] if done else []
        if kind == "content":
            return item | {"type": "message", "role": "assistant", "content": content}
        item |= {"type": "reasoning", "summary": [], "content": content}
        return item | {"encrypted_content": None if self._numbered else ""}

    def _part(self, block: tuple[str, int], text: str) -> Json:
        if block[0] == "reasoning":
            return {"type": "reasoning_text", "text": text}
        return {"type": "output_text", "text": text, "annotations": [], "logprobs": []}

    def _id(self, block: tuple[str, int]) -> str:
        kind, number = block
        return f"{_PREFIXES[kind]}_{self._key}{number}"

    def _call_id(self, number: int) -> str:
        prefix = self._plan.admitted.dialect.call_id
        return f"call_{self._plan.call_ids[number].removeprefix(prefix)}"

    def _place(self, block: tuple[str, int]) -> Json:
        return {"output_index": self._blocks.index(block)} if self._numbered else {}

    def _about(self, kind: str, block: tuple[str, int], **more: object) -> bytes:
        """An event about one item; what is only a place in it, llama.cpp leaves out."""
        if not self._numbered:
            more.pop("content_index", None)
        return self._event(kind, item_id=self._id(block), **self._place(block), **more)

    def _event(self, kind: str, **more: object) -> bytes:
        self._number += 1
        numbered = {"sequence_number": self._number} if self._numbered else {}
        return event({"type": kind, **numbered, **more})
