"""Hostile and broken bytes: no exception, nothing unbounded, and every result can be stored."""

from __future__ import annotations

import json
import random
from collections.abc import Callable

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from evalstab.endpoint.base import Asked, Attempt
from evalstab.endpoint.faults import find_error
from evalstab.endpoint.markup import find_leaks
from evalstab.endpoint.replay import assistant_message
from evalstab.endpoint.reply import EndKind, read_error_body
from evalstab.endpoint.retry import RetryPolicy, decide
from tests.endpoint.cases import TOOLS, Case, all_cases
from tests.endpoint.reading import Reading, cuts, read_bytes
from tests.endpoint.streams import body, delta, frame, stream
from tests.endpoint.test_markup import LEAKS

CASES = all_cases()
BODIES = [r.body for case in CASES for r in case.responses] + [
    stream(delta(content=text)) for text in LEAKS.values()
]
ENDS: tuple[EndKind, ...] = ("closed", "reset", "stalled", "grace", "time_limit", "bound")
WORDS = (
    *(word.encode() for word in (
        "\r\n", "\n\n", "data:", "data: ", ": ", "event: error\n", "[DONE]", "null", "{}", "[]",
        '"', "\\", "{", "}", "[", "]", ",", "\\ud83d", "\\u0000", "\ufeff", "<think>", "</think>",
        "`", "<tool_call>", "</tool_call>", "<|channel|>analysis<|message|>", "```", "1e999",
        "-1", "NaN", "99999999999999999999", "true", '"index":7', '"id":""',
        '"finish_reason":"length"', '"tool_calls":[{"index":0}]', '"arguments":{"a":1}',
        '"error":"x"', "<｜DSML｜invoke ", "[TOOL_CALLS]", "functions.read_file:0{", "x" * 300,
    )),
    b"\xff", b"\xf0\x9f",
)  # fmt: skip
MAX_DETAIL = 4000


def check(reading: Reading) -> None:
    """What must hold for every reading: it can be stored, sent back, and points into its texts."""
    reply, findings = reading
    msgspec.json.encode(findings)
    for found in findings:
        assert len(found.excerpt or "") <= 200
        assert len(msgspec.json.encode(found.detail)) <= MAX_DETAIL
    if reply is None:
        return
    msgspec.json.encode(reply)
    message = json.loads(msgspec.json.encode(assistant_message(reply)))
    for made in message.get("tool_calls", ()):
        assert isinstance(json.loads(made["function"]["arguments"]), dict)
    assert len({call.id for call in reply.tool_calls}) == len(reply.tool_calls)
    texts = {"content": reply.content or "", "reasoning": reply.reasoning or ""}
    for found in findings:
        if found.start is not None and found.end is not None and found.channel in texts:
            assert 0 <= found.start <= found.end <= len(texts[found.channel])
    status = 200
    attempt = Attempt(number=1, at="", status=status, reply=reply, findings=findings)
    decide(attempt, [attempt], RetryPolicy())


def _flip(data: bytearray, rng: random.Random) -> None:
    data[rng.randrange(len(data))] = rng.randrange(256)


def _insert(data: bytearray, rng: random.Random) -> None:
    at = rng.randrange(len(data) + 1)
    data[at:at] = rng.choice(WORDS)


def _remove(data: bytearray, rng: random.Random) -> None:
    at = rng.randrange(len(data))
    del data[at : at + rng.choice((1, 1, 3, 20, 400))]


def _repeat(data: bytearray, rng: random.Random) -> None:
    at = rng.randrange(len(data))
    piece = bytes(data[at : at + rng.choice((1, 9, 80, 300))])
    data[at:at] = piece * rng.choice((1, 2, 30))


def _swap(data: bytearray, rng: random.Random) -> None:
    events = bytes(data).split(b"\n\n")
    if len(events) > 2:
        a, b = rng.randrange(len(events)), rng.randrange(len(events))
        events[a], events[b] = events[b], events[a]
    data[:] = b"\n\n".join(events)


def _mix(data: bytearray, rng: random.Random) -> None:
    other = rng.choice(BODIES)
    at = rng.randrange(len(data) + 1)
    data[at:] = other[rng.randrange(len(other) + 1) :]


MUTATIONS: tuple[Callable[[bytearray, random.Random], None], ...] = (
    _flip, _insert, _insert, _remove, _repeat, _swap, _mix,
)  # fmt: skip


def mutant(seed: int) -> tuple[bytes, Asked, EndKind]:
    """A case's bytes after a few blows, what was asked, and how the transport ends."""
    rng = random.Random(seed)
    data = bytearray(rng.choice(BODIES))
    for _ in range(rng.choice((1, 1, 2, 4, 12))):
        if data:
            rng.choice(MUTATIONS)(data, rng)
    asked = Asked(
        tools=rng.choice((TOOLS, ())),
        stream=rng.random() < 0.8,
        max_tokens=rng.choice((None, 48, 64, 1024)),
        thinking=rng.choice((None, True, False)),
        prompt_estimate=rng.choice((None, 2000)),
        previous_context=rng.choice((None, 2100)),
        context_size=rng.choice((None, 4096)),
    )
    return bytes(data), asked, rng.choice(ENDS)


def _survives(seed: int) -> None:
    data, asked, end = mutant(seed)
    whole = read_bytes([data], asked, end)
    check(whole)
    again = read_bytes(cuts(data, seed), asked, end)
    assert [f.code for f in again[1]] == [f.code for f in whole[1]]
    reply, _, findings = read_error_body(500, {}, data, asked)
    check((reply, findings))


@pytest.mark.parametrize("block", range(10))
def test_mutated_cases(block: int) -> None:
    for seed in range(block * 100, block * 100 + 100):
        _survives(seed)


@pytest.mark.nightly
@pytest.mark.parametrize("block", range(20))
def test_many_mutated_cases(block: int) -> None:
    for seed in range(10_000 + block * 1000, 11_000 + block * 1000):
        _survives(seed)


TEXT = st.text(st.characters(exclude_categories=()), max_size=20)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXT
    | st.sampled_from(["stop", "length", "tool_calls", "<think>", "</think>", "<tool_call>", "{}"]),
    lambda inner: st.lists(inner, max_size=4)
    | st.dictionaries(
        st.sampled_from([
            "choices", "delta", "message", "content", "reasoning", "reasoning_content", "usage",
            "reasoning_details", "tool_calls", "function", "name", "arguments", "id", "index",
            "finish_reason", "error", "type", "text", "thinking", "timings", "base_resp", "data",
            "model", "object", "detail", "code", "status_code", "prompt_tokens", "success", "done",
            "completion_tokens", "completion_tokens_details", "n_ctx", "prompt_n", "predicted_n",
        ]),
        inner,
        max_size=5,
    ),
    max_leaves=25,
)  # fmt: skip


@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(values=st.lists(JSON, max_size=4), as_stream=st.booleans())
def test_any_json(values: list[object], as_stream: bool) -> None:
    encoded = [json.dumps(value).encode() for value in values]
    pieces = [b"data: " + e + b"\n\n" if as_stream else e + b"\n" for e in encoded]
    check(read_bytes(pieces, Asked(tools=TOOLS, thinking=True, max_tokens=9)))
    for value in values:
        find_error(value)


FIELDS = (
    "content", "reasoning", "reasoning_content", "reasoning_details", "tool_calls",
    "function_call", "role", "refusal",
)  # fmt: skip
DELTAS = st.fixed_dictionaries({}, optional=dict.fromkeys(FIELDS, JSON))


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    deltas=st.lists(DELTAS, max_size=5), reason=st.sampled_from([None, "stop", "length", "abort"])
)
def test_any_delta(deltas: list[dict[str, object]], reason: str | None) -> None:
    parts = [frame(choices=[{"delta": fields}]) for fields in deltas]
    check(read_bytes([stream(*parts, reason=reason)], Asked(tools=TOOLS)))
    for fields in deltas:
        check(read_bytes([body(fields, reason)], Asked(tools=TOOLS, stream=False)))


@settings(max_examples=300, deadline=None)
@given(text=st.text(st.characters(exclude_categories=()), max_size=300))
def test_any_text(text: str) -> None:
    for key in ("content", "reasoning"):
        check(read_bytes([stream(delta(**{key: text}))], Asked(tools=TOOLS)))


@settings(max_examples=300, deadline=None)
@given(pieces=st.lists(st.sampled_from(sorted(LEAKS.values())) | TEXT, max_size=6),
       cut=st.integers(0, 400))  # fmt: skip
def test_any_markup(pieces: list[str], cut: int) -> None:
    text = "".join(pieces)[:cut]
    leaks = find_leaks(text, {tool.name for tool in TOOLS})
    for region in leaks.regions:
        assert 0 <= region.start < region.end <= len(text)
    check(read_bytes([stream(delta(content=text))], Asked(tools=TOOLS)))


@settings(max_examples=200, deadline=None)
@given(case=st.sampled_from(CASES), data=st.binary(max_size=60), at=st.floats(0, 1))
def test_bytes_thrown_in(case: Case, data: bytes, at: float) -> None:
    raw = case.responses[0].body
    place = int(at * len(raw))
    check(read_bytes([raw[:place], data, raw[place:]], case.asked))
