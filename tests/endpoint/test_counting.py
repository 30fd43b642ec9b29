"""Counting tokens the way each server offers it, against the simulator's own usage."""

from __future__ import annotations

import asyncio

import pytest

from evalstab.endpoint.counting import TokenCounter
from evalstab.endpoint.openai_chat import OpenAIChat
from evalstab.endpoint.probe import Probe, probe
from evalstab.settings import EndpointSettings
from evalstab.sim.open import open_sim
from evalstab.task.ballast import ballast_messages

TOOLS = [
    {
        "type": "function",
        "function": {"name": "list_files", "parameters": {"type": "object", "properties": {}}},
    }
]


def _ask(url: str, dialect: str) -> tuple[int | None, int | None, Probe]:
    messages = [*ballast_messages("de", 6_000, 1), {"role": "user", "content": "Und weiter?"}]

    async def work() -> tuple[int | None, int | None, Probe]:
        settings = EndpointSettings(base_url=f"{url}/v1", model="sim-steady")
        client = OpenAIChat(settings, None)
        fields = {
            "model": "sim-steady",
            "stream": True,
            "stream_options": {"include_usage": True},
        }
        try:
            plain = await TokenCounter(client, fields).count(messages)
            tools = await TokenCounter(client, fields | {"tools": TOOLS}).count(messages)
            return plain, tools, await probe(client, fields, messages, header=True)
        finally:
            await client.close()

    return asyncio.run(work())


@pytest.mark.parametrize("dialect", ["vllm", "sglang", "llamacpp"])
def test_the_count_is_that_of_the_usage(dialect: str) -> None:
    with open_sim("steady", dialect=dialect) as url:
        plain, tools, probed = _ask(url, dialect)
    assert plain == probed.prompt_tokens
    assert tools is not None
    assert plain is not None
    assert tools > plain + 10


def test_a_rendered_template_is_counted_within_a_few_tokens_a_message() -> None:
    with open_sim("steady", dialect="ik_llamacpp") as url:
        plain, _, probed = _ask(url, "ik_llamacpp")
    assert plain is not None
    assert plain == pytest.approx(probed.prompt_tokens, rel=0.05)


@pytest.mark.parametrize("dialect", ["ollama", "minimax"])
def test_a_server_that_counts_nothing_says_nothing_but_usage(dialect: str) -> None:
    with open_sim("steady", dialect=dialect) as url:
        plain, _, probed = _ask(url, dialect)
    assert plain is None
    assert probed.prompt_tokens
    assert probed.problem is None


def test_a_server_that_refuses_is_a_problem_in_words() -> None:
    async def work() -> Probe:
        settings = EndpointSettings(base_url="http://127.0.0.1:9/v1", model="none")
        client = OpenAIChat(settings, None)
        try:
            return await probe(client, {"model": "none"}, [{"role": "user", "content": "x"}])
        finally:
            await client.close()

    assert asyncio.run(work()).problem
