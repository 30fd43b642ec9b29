"""What the simulator's APIs answer, put together for tests: plain HTTP, plain events."""

from __future__ import annotations

import json
from collections.abc import Iterator

from tests.sim.agent_loop import Heard, Json, hear, post

PATHS = {
    "chat": "/v1/chat/completions",
    "responses": "/v1/responses",
    "messages": "/v1/messages",
}
_ROLES = {"system": "developer", "user": "user"}


def request_for(api: str, body: Json) -> Json:
    """A chat request (its opening messages and tools only) as one of another API."""
    if api == "chat":
        return body | {"stream_options": {"include_usage": True}} if body.get("stream") else body
    kept: Json = {key: body[key] for key in ("model", "stream") if key in body}
    messages = body["messages"]
    functions = [tool["function"] for tool in body.get("tools", [])]
    if api == "responses":
        items = [
            {"type": "message", "role": _ROLES[m["role"]], "content": [
                {"type": "input_text", "text": m["content"]}]}
            for m in messages
        ]  # fmt: skip
        limit = {"max_output_tokens": body["max_tokens"]} if "max_tokens" in body else {}
        tools = [{"type": "function", **function} for function in functions]
        return {**kept, **limit, "input": items, "tools": [*tools, {"type": "web_search"}]}
    tools = [
        {"name": f["name"], "description": f["description"], "input_schema": f["parameters"]}
        for f in functions
    ]
    lead = [m["content"] for m in messages if m["role"] == "system"]
    turns = [
        {"role": m["role"], "content": [{"type": "text", "text": m["content"]}]}
        for m in messages
        if m["role"] != "system"
    ]
    made = {**kept, "max_tokens": body.get("max_tokens", 4000), "messages": turns}
    return {**made, "tools": tools, "system": "\n".join(lead)}


def ask_by(api: str, url: str, body: Json, header: str = "s/1/1") -> Heard:
    """The streamed answer to a chat request, asked for by an API."""
    asked = request_for(api, body | {"stream": True})
    raw = post(f"{url}{PATHS[api]}", asked, {"X-Evalstab-Trial": header})
    return {"chat": hear, "responses": of_responses, "messages": of_messages}[api](raw)


def events(raw: bytes) -> Iterator[Json]:
    """The events of a stream; each must be named as its type, where it has one."""
    for block in raw.decode().split("\n\n"):
        lines = block.split("\n")
        if len(lines) == 2 and lines[0].startswith("event: "):
            event = json.loads(lines[1].removeprefix("data: "))
            assert lines[0] == f"event: {event['type']}"
            yield event
        elif block:
            yield json.loads(block.removeprefix("data: "))


def of_responses(raw: bytes) -> Heard:
    """Put a stream of the responses API together; what its parts say must be its end's."""
    heard = Heard(raw=raw)
    calls: dict[str, Json] = {}
    for event in events(raw):
        kind = event.get("type")
        if kind == "response.reasoning_text.delta":
            heard.reasoning += event["delta"]
        elif kind == "response.output_text.delta":
            heard.content += event["delta"]
        elif kind == "response.output_item.added" and event["item"]["type"] == "function_call":
            item = event["item"]
            calls[item["id"]] = {"id": item["call_id"], "name": item["name"], "arguments": ""}
        elif kind == "response.function_call_arguments.delta":
            calls[event["item_id"]]["arguments"] += event["delta"]
        elif kind == "response.completed":
            heard.finish, heard.usage = event["response"]["status"], event["response"]["usage"]
    heard.calls = list(calls.values())
    return heard


def of_messages(raw: bytes) -> Heard:
    """Put a stream of the messages API together."""
    heard = Heard(raw=raw)
    calls: dict[int, Json] = {}
    usage: Json = {}
    for event in events(raw):
        kind, delta = event.get("type"), event.get("delta", {})
        if kind == "message_start":
            usage |= event["message"]["usage"]
        elif kind == "content_block_start" and event["content_block"]["type"] == "tool_use":
            block = event["content_block"]
            calls[event["index"]] = {"id": block["id"], "name": block["name"], "arguments": ""}
        elif kind == "content_block_delta":
            heard.reasoning += delta.get("thinking", "")
            heard.content += delta.get("text", "")
            if "partial_json" in delta:
                calls[event["index"]]["arguments"] += delta["partial_json"]
        elif kind == "message_delta":
            heard.finish = delta["stop_reason"]
            usage |= event["usage"]
    heard.calls, heard.usage = list(calls.values()), usage
    return heard
