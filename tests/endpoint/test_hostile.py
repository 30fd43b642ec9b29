"""Servers that mean harm: everything is bounded, named, and can be written down."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from evalstab.endpoint.assemble import MAX_CALLS
from evalstab.endpoint.base import Asked
from evalstab.endpoint.collect import MAX_TEXT_CHARS
from evalstab.endpoint.reply import ReplyReader, StreamEnd
from evalstab.endpoint.wire import Bound, SseReader
from tests.endpoint.cases import TOOLS
from tests.endpoint.reading import read_bytes
from tests.endpoint.streams import DONE, call, delta, frame, pieces, read, stream, usage
from tests.endpoint.test_fuzz import check

HALF = "x\ud83dy"


def _nested(depth: int) -> Any:
    return json.loads('{"a":' * depth + "1" + "}" * depth)


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(stream(reason=HALF), id="finish"),
        pytest.param(stream(delta(reasoning_details=[{"type": HALF, "text": "a", "z": [HALF]}])),
                     id="details"),
        pytest.param(stream(delta(reasoning_details=[{"n": 10**30, "x": 1e300}])), id="numbers"),
        pytest.param(frame(error=HALF) + DONE, id="error text"),
        pytest.param(frame(error={"message": HALF, "type": HALF, "code": HALF, "param": HALF}),
                     id="error object"),
        pytest.param(frame(base_resp={"status_code": HALF, "status_msg": HALF}), id="base_resp"),
        pytest.param(stream(call(0, id=HALF, name=HALF, arguments="{}")), id="call"),
        pytest.param(stream(call(0, id="a", name="read_file", arguments={"path": HALF})),
                     id="argument object"),
        pytest.param(stream(delta(content="<tool_call>" + json.dumps(
            {"name": HALF, "arguments": {"path": HALF}}) + "</tool_call>")), id="markup"),
        pytest.param(frame(model=HALF, provider=HALF, choices=[{"delta": {"content": HALF}}]),
                     id="model"),
        pytest.param(stream(delta(reasoning_details=[_nested(800)])), id="deep details"),
        pytest.param(stream(call(0, id="a", name="read_file", arguments=_nested(800))),
                     id="deep arguments"),
        pytest.param(frame(error=_nested(800)), id="deep error"),
        pytest.param(frame(choices=[], usage=_nested(800)), id="deep usage"),
    ],
)  # fmt: skip
def test_everything_can_be_stored(data: bytes) -> None:
    check(read_bytes([data], Asked(tools=TOOLS)))


def test_a_million_calls() -> None:
    reader = ReplyReader(Asked(tools=TOOLS))
    wire = SseReader()
    for start in range(0, 1_000_000, 10_000):
        calls = [
            {"index": index, "id": f"c{index}", "function": {"name": "list_files"}}
            for index in range(start, start + 10_000)
        ]
        for event in wire.feed(delta(tool_calls=calls)):
            reader.feed(event)
    reply, findings = reader.finish(StreamEnd("bound"))
    assert reply is not None
    assert len(reply.tool_calls) == MAX_CALLS
    assert reader.bound == Bound("tool_calls", MAX_CALLS)
    assert any(found.detail.get("bound") == "tool_calls" for found in findings)


@pytest.mark.parametrize("index", [10**9, 2**63 - 1, 2**70, -5])
def test_indexes_without_measure(index: int) -> None:
    reply, codes = read(stream(call(index, id="a", name="list_files", arguments="{}")))
    assert (len(reply.tool_calls), codes) == (1, set())


def test_new_ids_on_arguments_that_never_close() -> None:
    parts = [
        call(0, id=f"c{n}", name="write_file", arguments='{"content": "' + "x" * 500)
        for n in range(3000)
    ]
    reply, codes = read(stream(*parts, reason="tool_calls"))
    assert len(reply.tool_calls) == 1
    assert codes == {"tool.truncated"}


def test_endless_text_is_cut_and_named() -> None:
    reader = ReplyReader(Asked())
    wire = SseReader()
    piece = delta(content="word " * 20_000)
    for _ in range(MAX_TEXT_CHARS // 100_000 + 20):
        for event in wire.feed(piece):
            reader.feed(event)
    assert reader.bound == Bound("text_chars", MAX_TEXT_CHARS)
    reply, findings = reader.finish(StreamEnd("bound"))
    assert reply is not None
    assert len(reply.content or "") <= MAX_TEXT_CHARS
    assert [found.detail.get("bound") for found in findings] == ["text_chars"]


def _gigabyte_line() -> Iterator[bytes]:
    block = b"x" * 65536
    yield b'data: {"choices": [{"delta": {"content": "'
    for _ in range(16384):
        yield block


def test_line_of_a_gigabyte() -> None:
    wire, fed = SseReader(), 0
    for block in _gigabyte_line():
        fed += len(block)
        if any(isinstance(event, Bound) for event in wire.feed(block)):
            break
    assert wire.closed
    assert fed < 2 * wire.max_line
    _, findings = read_bytes(_gigabyte_line(), Asked())
    assert [found.detail.get("bound") for found in findings] == ["line_bytes"]


@pytest.mark.parametrize(
    "unit",
    [
        "<tool_call>",
        "<tool_call>{",
        '<tool_call>{"name": "read_file", ',
        "<think>",
        "</think>",
        "<think>\n",
        "\n<think> ",
        "<|channel|>analysis<|message|>",
        "<|channel|>commentary to=functions.x <|message|>{",
        "<|start|>assistant<|channel|>",
        "functions.read_file:0{",
        "[TOOL_CALLS]",
        "<function=read_file>",
        '<invoke name="read_file">',
        "<｜DSML｜invoke ",
        "<|open|>call ",
        "to=read_file          ",
        "`",
        "```\n",
        "` `` ``` ",
        "call:read_file{",
        '{"a":',
        "[[[[",
        "((((",
        "\n\n\n",
        "          ",
    ],
)
def test_markers_without_end(unit: str) -> None:
    text = unit * (300_000 // len(unit))
    for key in ("content", "reasoning"):
        reply, findings = read_bytes([stream(delta(**{key: text}))], Asked(tools=TOOLS))
        check((reply, findings))


@pytest.mark.parametrize("unit", ['{"a": 1}', '{"a": "', "{", '"', "\\", "[", " ", "{}"])
def test_arguments_without_end(unit: str) -> None:
    text = unit * (300_000 // len(unit))
    parts = (call(0, id="a", name="read_file", arguments=text[i : i + 3000])
             for i in range(0, len(text), 3000))  # fmt: skip
    check(read_bytes([stream(*parts)], Asked(tools=TOOLS)))


def test_error_text_without_end() -> None:
    message = "This model's maximum context length is " + "9" * 5000 + " tokens " * 50_000
    reply, findings = read_bytes([frame(error={"message": message})], Asked())
    check((reply, findings))
    assert {found.code for found in findings} == {"context.overflow"}


def test_keys_without_end() -> None:
    many = {f"key{n}": n for n in range(200_000)}
    reply, codes = read(stream(delta(content="note_b", **many)) + frame(**many) + usage(9, 9))
    assert (reply.content, codes) == ("note_b", set())


def test_findings_stay_small() -> None:
    long = "x" * 100_000
    parts = [call(n, id=long + str(n), name=long, arguments=long) for n in range(20)]
    _, findings = read_bytes([stream(*parts, pieces("content", "a"))], Asked(tools=TOOLS))
    assert len(findings) == 40
    assert len(msgspec.json.encode(findings)) < 40 * 2000
