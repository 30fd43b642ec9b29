"""What is repeated, waited for, or ends the trial or the series."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from evalstab.endpoint.base import Action, Asked, Attempt
from evalstab.endpoint.reply import read_error_body
from evalstab.endpoint.retry import RULES, RetryPolicy, ask, decide, retry_after_seconds
from evalstab.findings import CODES
from tests.endpoint.case_server import CaseServer, case_server
from tests.endpoint.cases import Case, Response, all_cases
from tests.endpoint.reading import read_bytes
from tests.endpoint.streams import call, delta, pieces, stream
from tests.endpoint.test_cases_socket import client, request_for

NOW = "2026-01-01T00:00:00.000+00:00"
QUICK = RetryPolicy(first_pause=0.01)
CASES = {case.id: case for case in all_cases()}


def refusal(status: int, message: str, retry_after: float | None = None) -> Attempt:
    """An attempt that was answered with an error."""
    body = json.dumps({"error": {"message": message}}).encode()
    reply, text, findings = read_error_body(status, {}, body, Asked())
    return Attempt(
        number=1, at=NOW, status=status, error=text, retry_after=retry_after, reply=reply,
        findings=findings,
    )  # fmt: skip


def broken(data: bytes, end: Any = "reset") -> Attempt:
    """An attempt whose stream broke."""
    reply, findings = read_bytes([data], Asked(), end)
    status = None if end in ("connect", "stale") else 200
    return Attempt(number=1, at=NOW, status=status, reply=reply, findings=findings)


def after(attempt: Attempt, action: Action, waited: float = 0.0, times: int = 1) -> list[Attempt]:
    """Earlier attempts of the same kind."""
    done = Attempt(number=1, at=NOW, status=attempt.status, action=action, waited=waited,
                   findings=attempt.findings)  # fmt: skip
    return [done] * times


def test_rules_name_known_codes() -> None:
    assert set(RULES) <= set(CODES)


@pytest.mark.parametrize(
    ("attempt", "action"),
    [
        (refusal(400, "request (9 tokens) exceeds the available context size (8 tokens)"),
         "end_trial"),
        (refusal(400, "failed to parse grammar"), "end_series"),
        (refusal(400, "Jinja Exception"), "end_trial"),
        (refusal(402, "Insufficient credits"), "end_series"),
        (refusal(429, "Rate limit reached"), "wait"),
        (refusal(429, "insufficient_quota"), "end_series"),
        (refusal(429, "insufficient_quota", 5.0), "wait"),
        (refusal(429, "overloaded"), "wait"),
        (refusal(503, "Loading model"), "wait"),
        (refusal(500, "Failed to parse input at pos 3"), "repeat"),
        (refusal(500, "Failed to parse tool call arguments as JSON"), "end_trial"),
        (refusal(500, "EngineDeadError"), "end_trial"),
        (refusal(500, "boom"), "repeat"),
        (refusal(502, "Bad Gateway"), "repeat"),
        (refusal(401, "no key"), "end_series"),
        (refusal(404, "The model `x` does not exist"), "end_series"),
        (refusal(400, "model x not found"), "end_series"),
        (refusal(400, "messages must not be empty"), "end_trial"),
        (refusal(307, ""), "end_series"),
        (refusal(400, "invalid temperature: only 1 is allowed"), "end_series"),
        (refusal(400, "Unrecognized request argument supplied: stream_options"), "repeat"),
        (refusal(400, "Range of max_tokens should be [1, 262144]"), "end_series"),
        (broken(pieces("content", "half")), "repeat"),
        (broken(pieces("content", "half"), "stalled"), "repeat"),
        (broken(b"", "stale"), "repeat"),
        (broken(b"", "connect"), "wait"),
        (broken(pieces("content", "half"), "time_limit"), "end_trial"),
        (broken(b"data: [DONE]\n\n", "closed"), "repeat"),
        (broken(pieces("content", "whole") + b"data: [DONE]\n\n", "closed"), "accept"),
        (broken(stream(pieces("content", "whole")), "closed"), "accept"),
        (broken(stream(call(0, name="read_file", arguments="{broken")), "closed"), "accept"),
    ],
)  # fmt: skip
def test_first_attempt(attempt: Attempt, action: Action) -> None:
    assert decide(attempt, [], RetryPolicy()).action == action


def test_no_retries_means_none() -> None:
    never = RetryPolicy(retries=0)
    for attempt in (refusal(500, "boom"), refusal(503, "Loading model"), broken(b"", "reset")):
        assert decide(attempt, [], never).action == "end_trial"
    assert decide(broken(b"", "stale"), [], never).action == "repeat"


def test_repeats_are_bounded_and_slow_down() -> None:
    attempt, policy = refusal(500, "boom"), RetryPolicy(retries=3, first_pause=1.0)
    waits = [decide(attempt, after(attempt, "repeat", times=n), policy).wait for n in range(3)]
    assert waits == [0.0, 1.0, 2.0]
    assert decide(attempt, after(attempt, "repeat", times=3), policy).action == "end_trial"


def test_parse_errors_are_capped() -> None:
    attempt = refusal(500, "Failed to parse input at pos 3")
    policy = RetryPolicy(retries=10)
    assert decide(attempt, after(attempt, "repeat", times=1), policy).action == "repeat"
    assert decide(attempt, after(attempt, "repeat", times=2), policy).action == "end_trial"


def test_waits_are_bounded() -> None:
    attempt = refusal(503, "Loading model")
    policy = RetryPolicy(wait_limit=100.0)
    assert decide(attempt, after(attempt, "wait", 30.0, 3), policy).wait == 8.0
    assert decide(attempt, after(attempt, "wait", 50.0, 2), policy).action == "end_trial"
    asked = refusal(429, "overloaded", 3600.0)
    assert decide(asked, [], policy).action == "end_trial"
    assert decide(refusal(429, "overloaded", 7.0), [], policy).wait == 7.0


def test_stale_connections_do_not_count_as_failures() -> None:
    stale, failed = broken(b"", "stale"), broken(b"", "reset")
    policy = RetryPolicy(retries=1)
    assert decide(stale, after(stale, "repeat", times=2), policy).action == "repeat"
    assert decide(failed, after(stale, "repeat", times=2), policy).action == "repeat"
    assert decide(stale, after(stale, "repeat", times=3), RetryPolicy(retries=0)).action == (
        "end_trial"
    )


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        (None, None),
        ("", None),
        ("7", 7.0),
        (" 1.5 ", 1.5),
        ("0", 0.0),
        ("-3", None),
        ("soon", None),
        ("9" * 50, None),
        ("Thu, 01 Jan 2026 00:00:30 GMT", 30.0),
        ("Wed, 31 Dec 2025 23:59:30 GMT", 0.0),
        ("Thu, 01 Jan 2026 99:00:30 GMT", None),
    ],
)
def test_retry_after(value: str | None, seconds: float | None) -> None:
    assert retry_after_seconds(value, datetime(2026, 1, 1, tzinfo=UTC)) == seconds


def _response(status: int, message: str, headers: dict[str, str] | None = None) -> Response:
    body = json.dumps({"error": {"message": message}}).encode()
    return Response(
        status, {"content-type": "application/json"} | (headers or {}), (body,), (), "close"
    )


FINE = Response(
    200, {"content-type": "text/event-stream"}, (stream(delta(content="note_b")),), (), "close"
)


async def _ask(
    responses: Sequence[Response], policy: RetryPolicy, **fields: Any
) -> tuple[list[Attempt], CaseServer]:
    async with case_server(responses) as server:
        endpoint = client(server.base_url)
        request = request_for(CASES["c12-no-usage-at-all"])
        request = replace(request, fields=request.fields | fields)
        try:
            return await ask(endpoint, request, policy), server
        finally:
            await endpoint.close()


def _run(
    responses: Sequence[Response], policy: RetryPolicy = QUICK, **fields: Any
) -> tuple[list[Attempt], CaseServer]:
    return asyncio.run(_ask(responses, policy, **fields))


def test_every_attempt_is_kept_in_order() -> None:
    attempts, _ = _run([_response(500, "boom"), _response(503, "Loading model"), FINE])
    assert [(a.number, a.action, a.status) for a in attempts] == [
        (1, "repeat", 500),
        (2, "wait", 503),
        (3, "accept", 200),
    ]
    assert attempts[1].waited == 0.01
    assert [f.code for f in attempts[0].findings] == ["server.error"]


def test_retry_after_of_the_server_is_kept() -> None:
    attempts, _ = _run([_response(429, "overloaded", {"retry-after": "0.02"}), FINE])
    assert (attempts[0].retry_after, attempts[0].waited) == (0.02, 0.02)


def test_refused_bookkeeping_is_left_out_from_then_on() -> None:
    refused = _response(400, "Unrecognized request argument supplied: stream_options")
    policy = RetryPolicy(first_pause=0.01)
    attempts, server = _run([refused, FINE], policy)
    assert [a.action for a in attempts] == ["repeat", "accept"]
    assert attempts[0].findings[0].detail["dropped"] is True
    assert ["stream_options" in body for body in server.requests] == [True, False]
    _, later = _run([FINE], policy)
    assert "stream_options" not in later.requests[0]


def test_token_limit_is_renamed_once() -> None:
    message = "Unsupported parameter: 'max_tokens' is not supported. Use 'max_completion_tokens'."
    attempts, server = _run([_response(400, message), FINE], max_tokens=64)
    assert [a.action for a in attempts] == ["repeat", "accept"]
    assert server.requests[1].get("max_completion_tokens") == 64
    assert "max_tokens" not in server.requests[1]
    both = [_response(400, message), _response(400, message.replace("max_t", "max_completion_t"))]
    attempts, _ = _run(both, RetryPolicy(first_pause=0.01), max_tokens=64)
    assert [a.action for a in attempts] == ["repeat", "end_series"]


def test_deadline_of_the_trial_ends_the_waiting() -> None:
    async def late() -> list[Attempt]:
        async with case_server([_response(503, "Loading model")]) as server:
            endpoint = client(server.base_url)
            request = request_for(CASES["c12-no-usage-at-all"])
            request = replace(request, deadline=time.monotonic() + 1.0)
            try:
                return await ask(endpoint, request, RetryPolicy(first_pause=30.0))
            finally:
                await endpoint.close()

    assert [a.action for a in asyncio.run(late())] == ["end_trial"]


def test_attempts_are_told_as_they_come() -> None:
    async def told() -> list[str]:
        seen: list[str] = []
        async with case_server([_response(500, "boom"), FINE]) as server:
            endpoint = client(server.base_url)
            request = request_for(CASES["c12-no-usage-at-all"])
            try:
                await ask(endpoint, request, QUICK, lambda a: seen.append(a.action))
            finally:
                await endpoint.close()
        return seen

    assert asyncio.run(told()) == ["repeat", "accept"]


def test_connection_that_died_in_the_pool_is_repeated_at_once() -> None:
    async def twice() -> list[list[Attempt]]:
        stale = replace(FINE, end="stale")
        async with case_server([stale, FINE]) as server:
            endpoint = client(server.base_url)
            request = request_for(CASES["c12-no-usage-at-all"])
            try:
                never = RetryPolicy(retries=0)
                return [await ask(endpoint, request, never) for _ in range(2)]
            finally:
                await endpoint.close()

    first, second = asyncio.run(twice())
    assert [a.action for a in first] == ["accept"]
    assert [a.action for a in second] == ["repeat", "accept"]
    assert [(f.code, f.side, f.detail["end"]) for f in second[0].findings] == [
        ("stream.dropped", "endpoint", "stale")
    ]


@pytest.mark.parametrize("case", [c for c in CASES.values() if c.id.startswith("seq-c2")],
                         ids=lambda case: case.id)  # fmt: skip
def test_sequences_that_begin_with_a_refusal(case: Case) -> None:
    policy = RetryPolicy(first_pause=0.01)
    attempts, _ = _run(case.responses, policy)
    assert attempts[0].action == case.expect["retry"]
    assert attempts[-1].action == "accept"
    assert attempts[-1].reply is not None
    assert attempts[-1].reply.tool_calls[0].name == "write_file"
