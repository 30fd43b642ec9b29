"""Answers of the responses and messages APIs read like those of chat completions."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from evalstab.endpoint.base import Attempt
from evalstab.intake.chat_forms import messages_of
from evalstab.intake.exchange import Exchange
from evalstab.intake.exchange_reply import attempt_of
from evalstab.intake.proxied import session_of

Json = dict[str, Any]
TOOL = {"name": "bash", "parameters": {"type": "object"}, "input_schema": {"type": "object"}}


def _sse(*events: Json) -> str:
    return "".join(
        f"event: {e['type']}\ndata: {msgspec.json.encode(e).decode()}\n\n" for e in events
    )


RESPONSES = _sse(
    {"type": "response.created", "response": {"id": "r"}},
    {"type": "response.reasoning_text.delta", "item_id": "rs", "delta": "Think."},
    {
        "type": "response.output_item.added",
        "item": {"type": "function_call", "id": "fc", "call_id": "call_1", "name": "bash"},
    },
    {"type": "response.function_call_arguments.delta", "item_id": "fc", "delta": '{"command":'},
    {"type": "response.function_call_arguments.delta", "item_id": "fc", "delta": ' "ls"}'},
    {
        "type": "response.completed",
        "response": {
            "model": "m",
            "usage": {
                "input_tokens": 1234,
                "output_tokens": 56,
                "input_tokens_details": {"cached_tokens": 1000},
                "output_tokens_details": {"reasoning_tokens": 20},
            },
        },
    },
)
MESSAGES = _sse(
    {
        "type": "message_start",
        "message": {
            "model": "m",
            "usage": {"input_tokens": 234, "cache_read_input_tokens": 1000, "output_tokens": 1},
        },
    },
    {"type": "content_block_start", "index": 0, "content_block": {"type": "thinking"}},
    {
        "type": "content_block_delta",
        "index": 0,
        "delta": {"type": "thinking_delta", "thinking": "Think."},
    },
    {
        "type": "content_block_start",
        "index": 1,
        "content_block": {"type": "tool_use", "id": "call_1", "name": "bash", "input": {}},
    },
    {
        "type": "content_block_delta",
        "index": 1,
        "delta": {"type": "input_json_delta", "partial_json": '{"command": "ls"}'},
    },
    {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 56}},
    {"type": "message_stop"},
)
PATHS = {"/v1/responses": RESPONSES, "/v1/messages": MESSAGES}


def _exchange(path: str, text: str, body: Json | None = None, end: str = "done") -> Exchange:
    pieces = [text[at : at + 50] for at in range(0, len(text), 50)]
    return Exchange(
        path=path,
        status=200,
        req_body={"stream": True, "tools": [TOOL], **(body or {})},
        chunks=[(0.1 * number, piece) for number, piece in enumerate(pieces, 1)],
        end=end,  # type: ignore[arg-type]
    )


def _codes(attempt: Attempt) -> list[str]:
    return [found.code for found in attempt.findings]


@pytest.mark.parametrize("path", PATHS)
def test_a_call_with_reasoning_arrives(path: str) -> None:
    attempt = attempt_of(_exchange(path, PATHS[path]))
    reply = attempt.reply
    assert reply is not None
    assert reply.reasoning == "Think."
    assert [(c.id, c.name, c.arguments, c.complete) for c in reply.tool_calls] == [
        ("call_1", "bash", '{"command": "ls"}', True)
    ]
    assert reply.finish == "tool_calls"
    assert reply.usage is not None
    assert (reply.usage.prompt_tokens, reply.usage.completion_tokens) == (1234, 56)
    assert reply.usage.cached_tokens == 1000
    assert _codes(attempt) == []
    assert attempt.clock is not None
    assert attempt.clock.first is not None


@pytest.mark.parametrize("path", PATHS)
def test_a_stream_that_breaks_off_in_a_call_is_dropped_and_truncated(path: str) -> None:
    text = PATHS[path]
    cut = text[: text.index("command") + 8]
    whole = cut[: cut.rindex("\n\n") + 2]
    last = "response.function_call" if path.endswith("responses") else "input_json"
    assert last in text
    attempt = attempt_of(_exchange(path, whole, end="upstream_reset"))
    assert "stream.dropped" in _codes(attempt)
    assert attempt.action == "end_trial"


def test_errors_inside_an_answer_are_seen() -> None:
    overloaded = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
    for path in PATHS:
        codes = _codes(attempt_of(_exchange(path, _sse(overloaded))))
        assert "server.overloaded" in codes or "server.error_in_stream" in codes


def test_errors_of_llama_cpp_are_seen_although_they_are_not_called_so() -> None:
    said = '{"code":500,"message":"Failed to parse input at pos 0: <tool","type":"server_error"}'
    streams = {
        "/v1/responses": f'data: {{"error":{said}}}\n\n',
        "/v1/messages": f"event: error\ndata: {said}\n\n",
    }
    for path, text in streams.items():
        begun = PATHS[path].split("\n\n")[0] + "\n\n"
        assert _codes(attempt_of(_exchange(path, begun + text))) == ["server.parse_error"]


def test_a_broken_event_and_a_missing_end_are_seen() -> None:
    for path, text in PATHS.items():
        first, rest = text.split("\n\n", 1)
        broken = f'{first}\n\nevent: x\ndata: {{"type": "content_block_del\n\n{rest}'
        attempt = attempt_of(_exchange(path, broken))
        assert _codes(attempt) == ["stream.bad_frame"]
        assert attempt.reply is not None
        assert len(attempt.reply.tool_calls) == 1
    without = MESSAGES[: MESSAGES.index("event: message_stop")]
    assert _codes(attempt_of(_exchange("/v1/messages", without))) == ["stream.no_done"]


def test_whole_bodies_are_read_too() -> None:
    whole = {
        "type": "message", "content": [{"type": "text", "text": "B, A"}], "model": "m",
        "stop_reason": "max_tokens", "usage": {"input_tokens": 9, "output_tokens": 3},
    }  # fmt: skip
    text = msgspec.json.encode(whole).decode()
    attempt = attempt_of(_exchange("/v1/messages", text, {"stream": False}))
    assert attempt.reply is not None
    assert (attempt.reply.content, attempt.reply.finish) == ("B, A", "length")
    response = {
        "object": "response", "model": "m", "usage": {"input_tokens": 9, "output_tokens": 3},
        "output": [{"type": "message", "content": [{"type": "output_text", "text": "B, A"}]}],
    }  # fmt: skip
    text = msgspec.json.format(msgspec.json.encode(response), indent=1).decode()
    attempt = attempt_of(_exchange("/v1/responses", text, {"stream": False}))
    assert attempt.reply is not None
    assert (attempt.reply.content, attempt.reply.finish) == ("B, A", "stop")


def test_requests_become_one_conversation() -> None:
    responses = {
        "instructions": "Work.",
        "input": [
            {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Go"}]},
            {"type": "reasoning", "summary": [{"type": "summary_text", "text": "Think."}]},
            {"type": "function_call", "call_id": "c", "name": "bash", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "c", "output": "done"},
        ],
    }
    messages = {
        "system": [{"type": "text", "text": "Work."}],
        "messages": [
            {"role": "user", "content": "Go"},
            {
                "role": "assistant",
                "content": [
                    {"type": "thinking", "thinking": "Think."},
                    {"type": "tool_use", "id": "c", "name": "bash", "input": {}},
                ],
            },
            {
                "role": "user",
                "content": [{"type": "tool_result", "tool_use_id": "c", "content": "done"}],
            },
        ],
    }
    one = messages_of("/v1/responses", responses)
    other = messages_of("/v1/messages", messages)
    assert one == other
    assert [message["role"] for message in one] == ["system", "user", "assistant", "tool"]
    assert one[2]["reasoning"] == "Think."


def test_an_answer_that_broke_off_and_was_gone_on_with_is_one_step() -> None:
    ask = {"type": "message", "role": "user", "content": "Go"}
    kept = {"type": "reasoning", "content": [{"type": "reasoning_text", "text": "Think."}]}
    cut = RESPONSES[: RESPONSES.index("event: response.output_item.added")]
    first = _exchange("/v1/responses", cut, {"input": [ask]}, end="upstream_reset")
    again = _exchange("/v1/responses", RESPONSES, {"input": [ask, kept]})
    again.t_req = 5.0
    session = session_of("one", [first, again])
    assert session is not None
    (step,) = session.steps
    assert [_codes(attempt) for attempt in step.attempts] == [["stream.dropped"], []]
    assert step.reply is not None
    assert len(step.reply.tool_calls) == 1


def test_what_only_names_a_session_is_no_condition_of_it() -> None:
    body = {
        "input": "Go", "temperature": 0.6, "prompt_cache_key": "a", "user": "b",
        "client_metadata": {"turn_id": "c"}, "metadata": {"user_id": "d"},
    }  # fmt: skip
    session = session_of("one", [_exchange("/v1/responses", RESPONSES, body)])
    assert session is not None
    assert session.started.fields.keys() == {"stream", "tools", "temperature", "via_proxy"}


def test_a_session_of_the_responses_api_has_its_results() -> None:
    ask = {"type": "message", "role": "user", "content": "Go"}
    call = {"type": "function_call", "call_id": "call_1", "name": "bash", "arguments": "{}"}
    output = {"type": "function_call_output", "call_id": "call_1", "output": "unsupported call: x"}
    first = _exchange("/v1/responses", RESPONSES, {"input": [ask]})
    done = _sse(
        {"type": "response.output_text.delta", "delta": "B, A"},
        {
            "type": "response.completed",
            "response": {"usage": {"input_tokens": 2000, "output_tokens": 5}},
        },
    )
    second = _exchange("/v1/responses", done, {"input": [ask, call, output]})
    second.t_req = 5.0
    session = session_of("one", [second, first])
    assert session is not None
    assert [len(step.results) for step in session.steps] == [1, 0]
    assert session.steps[0].results[0].error == "unsupported call: x"
    assert session.answer == "B, A"
    assert session.ended.outcome == "completed"
