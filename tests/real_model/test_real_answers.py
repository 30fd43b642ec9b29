"""The client against a real llama.cpp: closing connections, refusals, faults, thinking."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import pytest

from evalstab.chat import Json, ToolSpec
from evalstab.endpoint.base import Asked, Attempt, ChatRequest, History, Reply
from evalstab.endpoint.fields import request_fields
from evalstab.endpoint.openai_chat import OpenAIChat
from evalstab.endpoint.preflight import preflight
from evalstab.endpoint.retry import RetryPolicy, ask
from evalstab.errors import EndpointUnusable
from evalstab.settings import EndpointSettings

QUESTION = "What is the capital of France?"
READ = ToolSpec(
    name="read_file",
    description="Read a file.",
    parameters={
        "type": "object",
        "properties": {"path": {"type": "string", "enum": ["a.md", "b.md"]}},
        "required": ["path"],
        "additionalProperties": False,
    },
)
ONE_CALL: dict[str, Any] = {"tool_choice": "required", "parallel_tool_calls": False}


def asked(url: str, *messages: str | Json, count: int = 1, **options: Any) -> list[list[Attempt]]:
    """The attempts at one request, ``count`` times in a row over one client, at temperature 0."""
    tools: tuple[ToolSpec, ...] = options.pop("tools", ())
    limit: int | None = options.pop("max_tokens", None)
    options |= {"sampling": {"temperature": 0}, "model": "smollm2-135m-instruct"}
    settings = EndpointSettings(base_url=url, **options)
    history = History()
    for message in messages:
        history.append(
            {"role": "user", "content": message} if isinstance(message, str) else message
        )
    request = ChatRequest(
        history=history,
        fields=request_fields(settings, tools, max_tokens=limit),
        asked=Asked(tools=tools, stream=settings.stream, max_tokens=limit),
    )

    async def send() -> list[list[Attempt]]:
        client = OpenAIChat(settings, None)
        try:
            policy = RetryPolicy(first_pause=0.01)
            return [await ask(client, request, policy) for _ in range(count)]
        finally:
            await client.close()

    return asyncio.run(send())


def last(url: str, *messages: str | Json, **options: Any) -> Attempt:
    """What came of one request in the end."""
    return asked(url, *messages, **options)[0][-1]


def reply_of(attempt: Attempt) -> Reply:
    """The reply of an attempt that brought one."""
    assert attempt.reply is not None
    return attempt.reply


def codes(attempt: Attempt) -> set[str]:
    """The finding codes of an attempt."""
    return {found.code for found in attempt.findings}


@pytest.mark.parametrize("stream", [True, False])
def test_answers_right_after_each_other(real_url: str, *, stream: bool) -> None:
    answered = asked(real_url, "Say hi.", count=12, max_tokens=2, stream=stream)
    assert [attempts[-1].action for attempts in answered] == ["accept"] * 12
    lost = [attempt for attempts in answered for attempt in attempts[:-1]]
    assert {(f.code, f.detail["end"]) for a in lost for f in a.findings} <= {
        ("stream.dropped", "stale")
    }
    assert {attempt.waited for attempt in lost} <= {0.0}
    assert stream or not lost


@pytest.mark.parametrize("stream", [True, False])
def test_a_required_call(real_url: str, *, stream: bool) -> None:
    attempt = last(real_url, "Read a.md", tools=(READ,), stream=stream, **ONE_CALL)
    (call,) = reply_of(attempt).tool_calls
    assert (call.name, call.complete, attempt.findings) == ("read_file", True, ())
    assert msgspec.json.decode(call.arguments)["path"] in ("a.md", "b.md")


def test_a_call_cut_by_our_own_limit(real_url: str) -> None:
    attempt = last(real_url, "Read a.md", tools=(READ,), max_tokens=12, **ONE_CALL)
    (found,) = attempt.findings
    assert (found.code, found.side) == ("tool.truncated", "harness")
    assert reply_of(attempt).finish == "length"


@pytest.mark.parametrize("stream", [True, False])
def test_prose_where_the_parser_wants_a_call(real_url: str, *, stream: bool) -> None:
    """The error stands in the middle of a stream with status 200, else it is a 500."""
    (attempts,) = asked(real_url, "Tell me of a.md.", tools=(READ,), stream=stream, max_tokens=40)
    refused = [attempt for attempt in attempts if "server.parse_error" in codes(attempt)]
    assert len(refused) == 3
    assert {attempt.status for attempt in refused} == {200 if stream else 500}
    assert attempts[-1].action == "end_trial"


@pytest.mark.parametrize("stream", [True, False])
def test_more_than_the_context_holds(real_url: str, *, stream: bool) -> None:
    attempt = last(real_url, "word " * 9000, stream=stream)
    (found,) = attempt.findings
    assert (found.code, attempt.status, attempt.action) == ("context.overflow", 400, "end_trial")
    assert found.detail["prompt"] > found.detail["limit"] == 8192


def test_a_cut_call_in_the_history_is_ours(real_url: str) -> None:
    call = {"name": "read_file", "arguments": '{"path": "a'}
    cut = {"role": "assistant", "tool_calls": [{"id": "1", "type": "function", "function": call}]}
    told = {"role": "tool", "tool_call_id": "1", "content": "Error"}
    attempt = last(real_url, "Read a.md", cut, told, tools=(READ,), **ONE_CALL)
    (found,) = attempt.findings
    assert (found.code, found.side, attempt.status) == ("server.bad_request", "harness", 500)


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"tool_choice": "banana", "tools": (READ,)}, "server.refused_parameter"),
        ({"extra_body": {"n": 2}}, "server.refused_parameter"),
        ({"extra_body": {"grammar": "root ::= ("}}, "server.grammar_error"),
    ],
)
def test_refusals_end_the_series(real_url: str, options: dict[str, Any], code: str) -> None:
    attempt = last(real_url, QUESTION, **options)
    assert (codes(attempt), attempt.status, attempt.action) == ({code}, 400, "end_series")


def test_preflight_finds_the_model_and_refuses_another(real_url: str) -> None:
    async def found(model: str) -> str:
        settings = EndpointSettings(base_url=real_url, model=model)
        client = OpenAIChat(settings, None)
        try:
            return (await preflight(client, settings)).settings.model
        finally:
            await client.close()

    assert asyncio.run(found("")) == "smollm2-135m-instruct"
    with pytest.raises(EndpointUnusable, match="does not serve 'smollm3'"):
        asyncio.run(found("smollm3"))


def test_properties_name_context_and_template(real_url: str) -> None:
    async def properties() -> Json:
        client = OpenAIChat(EndpointSettings(base_url=real_url.removesuffix("/v1")), None)
        try:
            found: Json = msgspec.json.decode(await client.get("/props"))
            return found
        finally:
            await client.close()

    found = asyncio.run(properties())
    assert found["default_generation_settings"]["n_ctx"] == 8192
    assert found["chat_template_caps"]["supports_tool_calls"] is True
    assert found["model_path"].endswith("SmolLM2-135M-Instruct.Q4_1.gguf")


def test_thinking_arrives_on_its_own_channel_and_is_never_closed(thinking_url: str) -> None:
    attempt = last(thinking_url, QUESTION, max_tokens=40)
    reply = reply_of(attempt)
    assert reply.reasoning
    assert (reply.reasoning_field, reply.content or "") == ("reasoning_content", "")
    assert "reasoning.unclosed" in codes(attempt)


def test_thinking_switched_off(thinking_url: str) -> None:
    reply = reply_of(last(thinking_url, QUESTION, max_tokens=40, thinking="off"))
    assert reply.content
    assert not reply.reasoning


def test_thinking_then_a_call(thinking_url: str) -> None:
    budget = {"reasoning_budget_tokens": 24}
    attempt = last(thinking_url, "Read a.md", tools=(READ,), extra_body=budget, **ONE_CALL)
    reply = reply_of(attempt)
    assert reply.reasoning
    assert [call.name for call in reply.tool_calls] == ["read_file"]
    assert attempt.findings == ()
