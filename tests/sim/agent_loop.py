"""A tiny scripted client for the simulator's tests: plain HTTP, real tools, no endpoint code."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from evalstab.task.brief import opening_messages
from evalstab.task.model import Task
from evalstab.tools.toolbox import Toolbox
from evalstab.tools.workspace import Workspace

Json = dict[str, Any]


@dataclass
class Heard:
    """One answer put together from its frames."""

    reasoning: str = ""
    content: str = ""
    calls: list[Json] = field(default_factory=list)
    finish: str | None = None
    usage: Json | None = None
    raw: bytes = b""


@dataclass
class Trial:
    """A whole conversation: its answers, messages, and the files that it left."""

    answers: list[Heard]
    messages: list[Json]
    files: dict[str, bytes]

    @property
    def reasoning_tokens(self) -> list[int]:
        """Reasoning tokens of each step as the server states them."""
        return [
            a.usage["completion_tokens_details"]["reasoning_tokens"]
            for a in self.answers
            if a.usage
        ]


def post(url: str, body: Json, headers: dict[str, str] | None = None) -> bytes:
    """POST a JSON body; raises urllib.error.HTTPError for an error status."""
    request = urllib.request.Request(
        url,
        json.dumps(body).encode(),
        {"Content-Type": "application/json", **(headers or {})},
    )
    with urllib.request.urlopen(request, timeout=60) as answer:
        return bytes(answer.read())


def refused(
    url: str, body: Json | bytes, headers: dict[str, str] | None = None
) -> tuple[int, Json]:
    """Status and body of a POST that must be refused."""
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    request = urllib.request.Request(
        url, data, {"Content-Type": "application/json"} | (headers or {})
    )
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            raise AssertionError(f"not refused: {answer.read()[:300]!r}")
    except urllib.error.HTTPError as error:
        return error.code, json.loads(error.read())


def get(url: str, headers: dict[str, str] | None = None) -> Json:
    """A JSON document."""
    request = urllib.request.Request(url, headers=headers or {})
    with urllib.request.urlopen(request, timeout=60) as answer:
        return dict(json.loads(answer.read()))


def frames(raw: bytes) -> Iterator[Json]:
    """The JSON events of a stream."""
    for block in raw.decode().split("\n\n"):
        if block.startswith("data: ") and block != "data: [DONE]":
            yield json.loads(block[6:])


def hear(raw: bytes) -> Heard:
    """Put a stream together."""
    heard = Heard(raw=raw)
    for event in frames(raw):
        heard.usage = event.get("usage") or heard.usage
        for choice in event.get("choices", []):
            delta = choice["delta"]
            heard.reasoning += delta.get("reasoning") or delta.get("reasoning_content") or ""
            heard.content += delta.get("content") or ""
            heard.finish = choice.get("finish_reason") or heard.finish
            for part in delta.get("tool_calls") or []:
                if part["index"] == len(heard.calls):
                    heard.calls.append({"id": part["id"], "name": "", "arguments": ""})
                call = heard.calls[part["index"]]
                call["name"] += part["function"].get("name", "")
                call["arguments"] += part["function"].get("arguments", "")
    return heard


def body_for(model: str, task: Task, messages: list[Json], toolbox: Toolbox) -> Json:
    """A streaming request."""
    body: Json = {"model": model, "messages": messages, "stream": True}
    body["stream_options"] = {"include_usage": True}
    if toolbox.offered:
        body["tools"] = [tool.as_openai() for tool in toolbox.offered]
    return body


def ask(url: str, body: Json, header: str | None) -> Heard:
    """One streamed answer."""
    headers = {"X-Evalstab-Trial": header} if header else {}
    return hear(post(f"{url}/v1/chat/completions", body, headers))


def run(url: str, model: str, task: Task, root: Path, header: str | None) -> Trial:
    """Carry one trial to its end: a turn without a call, a terminal call, or 80 steps."""
    workspace = Workspace.create(root, task.inputs)
    toolbox = Toolbox(task, workspace)
    messages = opening_messages(task)
    answers: list[Heard] = []
    for _ in range(80):
        heard = ask(url, body_for(model, task, messages, toolbox), header)
        answers.append(heard)
        said: Json = {"role": "assistant", "content": heard.content, "reasoning": heard.reasoning}
        if heard.calls:
            said["tool_calls"] = [
                {
                    "id": call["id"],
                    "type": "function",
                    "function": {"name": call["name"], "arguments": call["arguments"]},
                }
                for call in heard.calls
            ]
        messages.append(said)
        ended = not heard.calls
        for call in heard.calls:
            try:
                outcome = toolbox.call(call["name"], json.loads(call["arguments"]))
            except ValueError:
                text = "Error: the arguments are no JSON object."
            else:
                text, ended = outcome.text, ended or outcome.terminal
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": text})
        if ended:
            break
    return Trial(answers, messages, workspace.snapshot())
