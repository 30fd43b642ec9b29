"""Reading the wire cases of ``fixtures/wire`` and comparing a reading with what is expected.

A case is one JSON file: the bytes a server sends and what a correct client makes of them; a new
case is a new file. The rules of comparison stand in ``compare``.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evalstab.chat import ToolSpec
from evalstab.endpoint.base import Asked, Reply
from evalstab.findings import CODES, Finding

FOLDER = Path(__file__).parents[2] / "fixtures" / "wire"
_TEXT = {"type": "string"}


def _tool(name: str, *parameters: str) -> ToolSpec:
    return ToolSpec(
        name=name,
        description=name.replace("_", " "),
        parameters={
            "type": "object",
            "properties": dict.fromkeys(parameters, _TEXT),
            "required": list(parameters),
        },
    )


TOOLS = (
    _tool("list_files"),
    _tool("read_file", "path"),
    _tool("write_file", "path", "content"),
    _tool("edit_file", "path", "old", "new"),
)


@dataclass(frozen=True, slots=True)
class Response:
    """One answer of the server: chunks are written one by one, pauses in milliseconds."""

    status: int
    headers: dict[str, str]
    chunks: tuple[bytes, ...]
    pauses: tuple[int, ...]
    end: str

    @property
    def body(self) -> bytes:
        return b"".join(self.chunks)


@dataclass(frozen=True, slots=True)
class Case:
    """One case file."""

    id: str
    request: dict[str, Any]
    responses: tuple[Response, ...]
    expect: dict[str, Any]
    workspace: dict[str, str]

    @property
    def asked(self) -> Asked:
        request = self.request
        return Asked(
            tools=TOOLS,
            stream=request["stream"],
            max_tokens=request.get("max_tokens", request.get("max_completion_tokens")),
            thinking=request.get("thinking"),
            prompt_estimate=request.get("prompt_estimate"),
        )


def load(path: Path) -> Case:
    """Read one case file."""
    value = json.loads(path.read_text(encoding="utf-8"))
    return Case(
        id=value["id"],
        request=value["request"],
        responses=tuple(_response(item) for item in value["responses"]),
        expect=value["expect"],
        workspace=value.get("workspace", {}),
    )


def _response(value: dict[str, Any]) -> Response:
    return Response(
        status=value["status"],
        headers=value["headers"],
        chunks=tuple(
            chunk.encode("utf-8", "surrogatepass")
            if isinstance(chunk, str)
            else base64.b64decode(chunk["b64"])
            for chunk in value["chunks"]
        ),
        pauses=tuple(value.get("pause_ms", ())),
        end=value["end"],
    )


def all_cases() -> list[Case]:
    """Every case file, by name."""
    return [load(path) for path in sorted(FOLDER.glob("*.json"))]


def singles() -> list[Case]:
    """Cases of one response, judged alone."""
    return [case for case in all_cases() if not case.id.startswith("seq-")]


def compare(case: Case, reply: Reply | None, codes: Iterable[str]) -> list[str]:
    """What differs from the expectation, in words; empty where all is as it should be."""
    reply = reply or Reply()
    expect = case.expect
    unchecked = set(expect.get("unchecked", ()))
    problems = compare_codes(expect, codes)
    for key, found in (
        ("reasoning", _stripped(reply.reasoning)),
        ("content", _stripped(reply.content)),
        ("finish", reply.finish),
        ("usage", _usage(reply)),
    ):
        wanted = expect[key]
        wanted = _stripped(wanted) if key in ("reasoning", "content") else wanted
        if key not in unchecked and found != wanted:
            problems.append(f"{key}: {found!r}, expected {wanted!r}")
    if "tool_calls" not in unchecked:
        problems += compare_calls(expect["tool_calls"], [reply])
    if "sizes" in expect:
        wanted_sizes = (expect["sizes"]["prompt"], expect["sizes"]["limit"])
        if reply.context_sizes != wanted_sizes:
            problems.append(f"sizes: {reply.context_sizes}, expected {wanted_sizes}")
    return problems


def compare_codes(expect: dict[str, Any], codes: Iterable[str]) -> list[str]:
    """Missing codes and false alarms; informational codes are never false alarms."""
    found = set(codes)
    wanted = set(expect["findings"])
    informational = {code for code, meaning in CODES.items() if meaning.informational}
    problems = [f"missing {code}" for code in sorted(wanted - found)]
    extra = found - wanted - set(expect["allowed"]) - informational
    problems += [f"false alarm {code}" for code in sorted(extra)]
    for group in expect.get("either", ()):
        if not found & set(group):
            problems.append(f"none of {group}")
    return problems


def compare_calls(wanted: Sequence[dict[str, Any]], replies: Sequence[Reply]) -> list[str]:
    """Calls in order over all replies; those that cannot be used by name and state only."""
    found = []
    for call in (call for reply in replies for call in reply.tool_calls):
        if call.complete:
            arguments = json.loads(call.arguments)
            found.append({"name": call.name, "arguments": arguments, "complete": True})
        else:
            found.append({"name": call.name, "complete": False})
    return [] if found == list(wanted) else [f"tool_calls: {found}, expected {list(wanted)}"]


def codes_of(findings: Iterable[Finding]) -> set[str]:
    """The codes of some findings."""
    return {found.code for found in findings}


def _stripped(text: str | None) -> str | None:
    return (text.strip() or None) if text else None


def _usage(reply: Reply) -> dict[str, int | None] | None:
    if reply.usage is None:
        return None
    return {
        "prompt_tokens": reply.usage.prompt_tokens,
        "completion_tokens": reply.usage.completion_tokens,
    }
