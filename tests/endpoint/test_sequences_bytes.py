"""The responses of sequences read one after the other: all that can be told without the loop."""

from __future__ import annotations

from dataclasses import replace

import pytest

from evalstab.endpoint.base import Attempt, Reply
from evalstab.endpoint.retry import RetryPolicy, decide
from tests.endpoint.cases import Case, all_cases, codes_of, compare_calls, compare_codes
from tests.endpoint.reading import read_response

SEQUENCES = [case for case in all_cases() if case.id.startswith("seq-")]
BY_THE_LOOP = ("trial.", "tool.repeated", "tool.retry_storm", "reasoning.not_replayed")


@pytest.mark.parametrize("case", SEQUENCES, ids=lambda case: case.id)
def test_reads_as_expected(case: Case) -> None:
    codes: set[str] = set()
    replies: list[Reply] = []
    before: int | None = None
    for response in case.responses:
        asked = replace(case.asked, previous_context=before)
        reply, findings = read_response(case, response, asked=asked)
        codes |= codes_of(findings)
        replies.append(reply or Reply())
        if reply is not None and reply.usage is not None:
            before = reply.usage.prompt_tokens
    known = [code for code in case.expect["findings"] if not code.startswith(BY_THE_LOOP)]
    assert compare_codes(case.expect | {"findings": known}, codes) == []
    if "tool_calls" not in case.expect.get("unchecked", ()):
        assert compare_calls(case.expect["tool_calls"], replies) == []
    if "sizes" in case.expect:
        sizes = case.expect["sizes"]
        assert replies[-1].context_sizes == (sizes["prompt"], sizes["limit"])


def test_overflow_ends_the_trial() -> None:
    for case in SEQUENCES:
        if "overflow" in case.id:
            reply, findings = read_response(case, case.responses[-1])
            status = case.responses[-1].status
            attempt = Attempt(number=1, at="", status=status, reply=reply, findings=findings)
            assert decide(attempt, [], RetryPolicy()).action == "end_trial"
