"""A little chat server with the faults that ``evalstab check`` must tell."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Literal

Tools = Literal["call", "text", "refuse", "leak", "when required"]


KNOWN = ("temperature", "top_k", "top_p", "min_p", "repeat_penalty", "max_tokens")
"""What its slots tell of a request."""


@dataclass
class ChatServer:
    """How the server behaves; ``bodies`` are the requests that came.

    ``refuses`` are parameters that it answers with HTTP 400, ``reads`` the fields in which it reads
    reasoning back, ``uses`` the values that its slots show in place of those sent.
    ``drops_after_stream``: the connection is closed behind a stream, as llama.cpp does.
    """

    tools: Tools = "call"
    refuses: tuple[str, ...] = ()
    reads: tuple[str, ...] = ("reasoning_content",)
    uses: dict[str, Any] = field(default_factory=dict)
    pages: Mapping[str, Any] = field(default_factory=dict)
    usage_streamed: bool = True
    drops_after_stream: bool = False
    bodies: list[dict[str, Any]] = field(default_factory=list)
    url: str = ""

    def page(self, path: str) -> Any:
        """What stands at a path, ``None`` where nothing does."""
        if path == "/v1/models":
            return self.pages.get(path, {"data": [{"id": "m", "object": "model"}]})
        if path == "/slots" and self.bodies and "/props" in self.pages:
            last = self.bodies[-1]
            return [{"id": 0, "params": {k: last[k] for k in KNOWN if k in last} | self.uses}]
        return self.pages.get(path)

    def refusal(self, body: Mapping[str, Any]) -> str | None:
        """Why a request is refused."""
        for name in self.refuses:
            if name in body:
                return f"unknown parameter {name}"
        if self.tools == "refuse" and body.get("tools"):
            return "registry.example/m does not support tools"
        return None

    def message(self, body: Mapping[str, Any]) -> tuple[dict[str, Any], str]:
        """The assistant's message and its finish reason."""
        call = {
            "id": "call_1",
            "type": "function",
            "function": {"name": "list_files", "arguments": "{}"},
        }
        thought = {"reasoning_content": "The files must be listed first."}
        wanted = self.tools == "call" or (
            self.tools == "when required" and body.get("tool_choice") == "required"
        )
        if body.get("tools") and wanted:
            return {"role": "assistant", "content": None, **thought, "tool_calls": [call]}, (
                "tool_calls"
            )
        text = "I have no tools."
        if body.get("tools") and self.tools == "leak":
            text = '<tool_call>\n{"name": "list_files", "arguments": {}}\n</tool_call>'
        return {"role": "assistant", "content": text, **thought}, "stop"

    def prompt_tokens(self, body: Mapping[str, Any]) -> int:
        """Tokens of what this server reads of the history."""
        read = ("content", *self.reads)
        return sum(
            len(str(message[key])) // 4
            for message in body["messages"]
            for key in read
            if message.get(key)
        )

    def answer(self, body: Mapping[str, Any]) -> bytes:
        """The body of an answer: events where a stream was asked for, else one object."""
        message, finish = self.message(body)
        usage = {"prompt_tokens": self.prompt_tokens(body), "completion_tokens": 12}
        if not body.get("stream"):
            choice = {"index": 0, "message": message, "finish_reason": finish}
            return json.dumps({"id": "c", "choices": [choice], "usage": usage}).encode()
        delta = dict(message)
        if "tool_calls" in delta:
            delta["tool_calls"] = [{"index": 0, **call} for call in delta["tool_calls"]]
        chunks: list[dict[str, Any]] = [
            {"id": "c", "choices": [{"index": 0, "delta": delta, "finish_reason": None}]},
            {"id": "c", "choices": [{"index": 0, "delta": {}, "finish_reason": finish}]},
        ]
        if self.usage_streamed:
            chunks.append({"id": "c", "choices": [], "usage": usage})
        events = [f"data: {json.dumps(chunk)}\n\n" for chunk in chunks]
        return "".join([*events, "data: [DONE]\n\n"]).encode()


@contextmanager
def chatting(chat: ChatServer) -> Iterator[ChatServer]:
    """The server on a free port of the loopback."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            page = chat.page(self.path.partition("?")[0])
            text = page if isinstance(page, str) else json.dumps(page or {"error": "not found"})
            self._send(200 if page is not None else 404, text.encode(), "application/json")

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers.get("content-length") or 0)))
            if not self.path.endswith("/chat/completions"):
                self._send(404, b"{}", "application/json")
                return
            if told := chat.refusal(body):
                error = {"error": {"message": told, "type": "invalid_request_error", "code": 400}}
                self._send(400, json.dumps(error).encode(), "application/json")
                return
            chat.bodies.append(body)
            kind = "text/event-stream" if body.get("stream") else "application/json"
            self._send(200, chat.answer(body), kind)
            if chat.drops_after_stream and body.get("stream"):
                self.close_connection = True

        def _send(self, status: int, body: bytes, kind: str) -> None:
            self.send_response(status)
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """Stay silent."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    chat.url = f"http://127.0.0.1:{server.server_address[1]}/v1"
    try:
        yield chat
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
