"""How an answer ends, and what silence means."""

from __future__ import annotations

import json

import pytest

from evalstab.endpoint.reply import EndKind
from tests.endpoint.streams import DONE, body, delta, finish, frame, pieces, read, stream, usage

ANSWER = "note_b is the most complete of the three notes."
TEXT = pieces("content", ANSWER)


@pytest.mark.parametrize(
    ("tail", "end", "codes"),
    [
        (finish() + usage(2000, 20) + DONE, "closed", set()),
        (finish() + usage(2000, 20), "closed", {"stream.no_done"}),
        (finish() + usage(2000, 20), "grace", {"stream.no_done"}),
        (finish() + usage(2000, 20), "reset", {"stream.no_done"}),
        (finish() + DONE, "closed", {"stream.no_usage"}),
        (usage(2000, 20) + DONE, "closed", {"stream.no_finish"}),
        (finish("") + usage(2000, 20) + DONE, "closed", {"stream.no_finish"}),
        (b"", "closed", {"stream.dropped"}),
        (b"", "reset", {"stream.dropped"}),
        (b"", "stalled", {"stream.stalled"}),
        (b"", "time_limit", set()),
        (b'data: {"choices":[{"del', "reset", {"stream.dropped"}),
        (finish("abort") + usage(2000, 20) + DONE, "closed", {"server.aborted"}),
        (finish("eos") + usage(2000, 20) + DONE, "closed", set()),
        (b"data: {broken}\n\n" + finish() + usage(2000, 20) + DONE, "closed", {"stream.bad_frame"}),
    ],
)
def test_ends(tail: bytes, end: EndKind, codes: set[str]) -> None:
    reply, found = read(TEXT + tail, end)
    assert (reply.content, found) == (ANSWER, codes)


@pytest.mark.parametrize(
    ("end", "code"),
    [("connect", "server.dead"), ("stale", "stream.dropped"), ("redirect", "server.error")],
)
def test_no_answer_at_all(end: EndKind, code: str) -> None:
    _, found = read(b"", end)
    assert found == {code}


def test_nothing_but_comments() -> None:
    _, found = read(b": keep-alive\n\n" * 5, "stalled")
    assert found == {"stream.stalled"}


def test_page_with_status_200() -> None:
    _, found = read(b"<html>\n<body>\nPlease log in.\n</body>\n</html>\n")
    assert found == {"stream.bad_frame", "stream.dropped"}


def test_empty_body() -> None:
    for stream_asked in (True, False):
        assert read(b"", stream=stream_asked)[1] == {"stream.dropped"}


def test_last_chunk_without_model_name() -> None:
    last = frame(model="", choices=[{"index": 0, "delta": {"content": ""}}])
    assert read(TEXT + last)[1] == {"server.error_in_stream"}


def test_finish_without_call() -> None:
    assert read(stream(TEXT, reason="tool_calls"))[1] == {"tool.missing_call"}
    assert read(stream(delta(content=""), reason="function_call"))[1] == {"tool.missing_call"}


@pytest.mark.parametrize(("tokens", "codes"), [(2, set()), (212, {"server.parse_error"})])
def test_nothing_arrived(tokens: int, codes: set[str]) -> None:
    message: dict[str, object] = {"content": None, "reasoning": None, "tool_calls": []}
    assert read(body(message, "stop", tokens), stream=False)[1] == codes


def test_empty_answer_over_the_context() -> None:
    parts = delta(content="") + finish() + frame(choices=[], usage={"prompt_tokens": 9000}) + DONE
    assert read(parts, context_size=8192)[1] == {"context.overflow"}


@pytest.mark.parametrize(
    ("usages", "expected"),
    [
        ([{"prompt_tokens": 0, "completion_tokens": 0}], None),
        ([{"total_tokens": 0}, None], None),
        ([{"prompt_tokens": 9, "completion_tokens": 1}, {"prompt_tokens": 9,
          "completion_tokens": 7}], (9, 7)),
        ([{"prompt_tokens": 9, "completion_tokens": 7}, {"prompt_tokens": 0,
          "completion_tokens": 0}], (9, 7)),
        ([{"input_tokens": 9, "output_tokens": 7}], (9, 7)),
        ([{"prompt_tokens": "9", "completion_tokens": True}], None),
        ([{"prompt_tokens": 9.0, "completion_tokens": -1}], (9, None)),
        (["nonsense", ["x"]], None),
    ],
)  # fmt: skip
def test_usage_replaces(usages: list[object], expected: tuple[int, int] | None) -> None:
    parts = b"".join(frame(choices=[], usage=value) for value in usages)
    reply, codes = read(TEXT + finish() + parts + DONE)
    found = reply.usage and (reply.usage.prompt_tokens, reply.usage.completion_tokens)
    assert found == expected
    assert codes == ({"stream.no_usage"} if expected is None else set())


def test_usage_in_all_its_places() -> None:
    counts = {
        "prompt_tokens": 900,
        "completion_tokens": 100,
        "prompt_tokens_details": {"cached_tokens": 800},
        "completion_tokens_details": {"reasoning_tokens": 60},
    }
    choice = {"delta": {}, "finish_reason": "stop", "usage": counts}
    reply, _ = read(TEXT + frame(choices=[choice]) + DONE)
    assert reply.usage is not None
    assert (reply.usage.cached_tokens, reply.usage.reasoning_tokens) == (800, 60)
    top = {"prompt_tokens": 9, "completion_tokens": 8, "reasoning_tokens": 7,
           "prompt_cache_hit_tokens": 0}  # fmt: skip
    reply, _ = read(TEXT + finish() + frame(usage=top) + DONE)
    assert reply.usage is not None
    assert (reply.usage.cached_tokens, reply.usage.reasoning_tokens) == (0, 7)


def test_timings() -> None:
    timings = {"cache_n": 100, "prompt_n": 20, "prompt_ms": 40.0, "predicted_n": 5,
               "predicted_ms": 250.0, "draft_n": 8, "draft_n_accepted": 6}  # fmt: skip
    reply, codes = read(TEXT + frame(choices=[{"delta": {}, "finish_reason": "stop"}],
                                     timings=timings) + DONE, max_tokens=5)  # fmt: skip
    assert reply.timings is not None
    assert (reply.timings.prompt_seconds, reply.timings.decode_seconds) == (0.04, 0.25)
    assert reply.timings.context_used == 125
    assert codes == {"stream.no_usage", "text.truncated"}


@pytest.mark.parametrize(
    ("prompt", "estimate", "before", "found"),
    [
        (2050, 7900, None, True),
        (16387, 33363, None, True),
        (7000, 7900, None, False),
        (2050, None, 3800, True),
        (3790, None, 3800, False),
        (4200, 4300, 3800, False),
    ],
)
def test_silent_truncation(
    prompt: int, estimate: int | None, before: int | None, found: bool
) -> None:
    data = TEXT + finish() + usage(prompt, 20) + DONE
    _, codes = read(data, prompt_estimate=estimate, previous_context=before)
    assert codes == ({"context.silent_truncation"} if found else set())


@pytest.mark.parametrize(
    ("timings", "size", "found"),
    [
        ({"n_ctx": 4096, "n_past": 2390}, None, True),
        ({"n_ctx": 8192, "n_past": 4232}, None, False),
        (None, 4096, True),
        (None, 8192, False),
        ({"n_past": 2000}, None, True),
    ],
)
def test_shifted_context(timings: dict[str, int] | None, size: int | None, found: bool) -> None:
    last = frame(
        choices=[], usage={"prompt_tokens": 3820, "completion_tokens": 412}, timings=timings
    )
    _, codes = read(TEXT + finish() + last + DONE, context_size=size)
    assert codes == ({"context.shifted"} if found else set())


def test_cached_tokens_left_out_of_the_prompt() -> None:
    last = frame(
        choices=[],
        usage={"prompt_tokens": 40, "completion_tokens": 5},
        timings={"cache_n": 4000, "prompt_n": 40, "predicted_n": 5},
    )
    _, codes = read(TEXT + finish() + last + DONE, previous_context=3900, prompt_estimate=4100)
    assert codes == set()


def test_whole_body_for_a_streamed_request() -> None:
    reply, codes = read(body({"role": "assistant", "content": ANSWER}))
    assert (reply.content, codes) == (ANSWER, set())


def test_stream_for_a_plain_request() -> None:
    reply, codes = read(stream(TEXT), stream=False)
    assert (reply.content, codes) == (ANSWER, set())


def test_native_lines_of_ollama() -> None:
    lines = [
        {"model": "demo", "message": {"role": "assistant", "thinking": "Plan. "}, "done": False},
        {"model": "demo", "message": {"role": "assistant", "content": "note_b"}, "done": False},
        {"model": "demo", "message": {"role": "assistant", "content": ""}, "done": True,
         "done_reason": "stop", "prompt_eval_count": 30, "eval_count": 9},
    ]  # fmt: skip
    reply, codes = read(b"".join(json.dumps(line).encode() + b"\n" for line in lines))
    assert (reply.reasoning, reply.content, reply.finish) == ("Plan. ", "note_b", "stop")
    assert codes == {"stream.no_done"}


def test_call_cut_before_its_name() -> None:
    parts = delta(content=None) + finish("length") + usage(187, 10) + DONE
    assert read(parts, max_tokens=10)[1] == {"tool.truncated"}


def test_a_frame_that_was_not_read_is_no_fault_of_the_servers_parser() -> None:
    whole = stream(delta(content="Fertig."))
    _, codes = read(whole.replace(b"Fertig", b"Fer\x00tig"))
    assert codes == {"stream.bad_frame"}
    _, codes = read(whole.replace(b"Fertig.", b""))
    assert codes == {"server.parse_error"}


def test_the_servers_own_fingerprint_is_kept() -> None:
    parts = frame(system_fingerprint="", choices=[]), frame(system_fingerprint=None, choices=[])
    told = frame(system_fingerprint="b4567-abc" + "x" * 500, choices=[])
    reply, _ = read(stream(*parts, told, delta(content="Ja.")))
    assert reply.fingerprint is not None
    assert reply.fingerprint.startswith("b4567-abcx")
    assert len(reply.fingerprint) == 200
    odd = frame(system_fingerprint={"a": 1}, choices=[{"index": 0, "delta": {"content": "Ja."}}])
    reply, codes = read(stream(odd))
    assert (reply.content, reply.fingerprint, codes) == ("Ja.", None, set())
