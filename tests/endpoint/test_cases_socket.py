"""Every wire case of one response over a real socket through the real client, and its retries."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from evalstab.endpoint.base import Attempt, ChatRequest, History
from evalstab.endpoint.openai_chat import OpenAIChat
from evalstab.endpoint.retry import RetryPolicy, ask
from evalstab.settings import EndpointSettings, Timeouts
from tests.endpoint.case_server import CaseServer, case_server
from tests.endpoint.cases import Case, codes_of, compare, singles
from tests.endpoint.reading import text_codes

REPEATED = {"no": ("accept", "end_trial", "end_series"), "yes": ("repeat",), "wait": ("wait",)}
DECIDED = [case for case in singles() if "retry" not in case.expect.get("unchecked", ())]


def _named(case: Case) -> str:
    return case.id


def client(base_url: str) -> OpenAIChat:
    """The real client with limits that suit a test."""
    timeouts = Timeouts(connect=5, first_token=5, idle=1)
    return OpenAIChat(EndpointSettings(base_url=base_url, model="demo", timeouts=timeouts), None)


def request_for(case: Case) -> ChatRequest:
    """The request of a case, in the form in which the loop sends it."""
    history = History()
    history.append({"role": "user", "content": "Rank the three notes."})
    fields: dict[str, Any] = {"model": "demo", "stream": case.request["stream"]}
    if case.request["stream"]:
        fields["stream_options"] = {"include_usage": True}
    if case.request.get("max_tokens"):
        fields["max_tokens"] = case.request["max_tokens"]
    return ChatRequest(history=history, fields=fields, asked=case.asked)


async def _converse(case: Case, policy: RetryPolicy) -> tuple[list[Attempt], CaseServer]:
    async with case_server(case.responses) as server:
        endpoint = client(server.base_url)
        try:
            return await ask(endpoint, request_for(case), policy), server
        finally:
            await endpoint.close()


@pytest.mark.parametrize("case", singles(), ids=_named)
def test_reads_as_expected(case: Case) -> None:
    """One step and no retries: what was read is what is expected."""
    attempts, server = asyncio.run(_converse(case, RetryPolicy(retries=0)))
    reply = attempts[-1].reply
    found = [finding for attempt in attempts for finding in attempt.findings]
    codes = codes_of(found) | text_codes(reply, case)
    assert compare(case, reply, codes) == []
    assert len(server.requests) == case.expect.get("requests", 1)


@pytest.mark.parametrize("case", DECIDED, ids=_named)
def test_repeats_as_expected(case: Case) -> None:
    """What the policy makes of the first answer, with retries allowed."""
    attempts, _ = asyncio.run(_converse(case, RetryPolicy(retries=1, first_pause=0.01)))
    assert attempts[0].action in REPEATED[case.expect["retry"]]
