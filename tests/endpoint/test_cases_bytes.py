"""Every wire case read from its bytes, however the network cuts them."""

from __future__ import annotations

import pytest

from tests.endpoint.cases import Case, all_cases, codes_of, compare, singles
from tests.endpoint.reading import Reading, cuts, read_case, read_response, text_codes

STREAMS = [case for case in all_cases() if any(r.status == 200 for r in case.responses)]


def _named(case: Case) -> str:
    return case.id


def _comparable(reading: Reading) -> tuple[object, ...]:
    """A reading without the ids that the client makes up."""
    reply, findings = reading
    calls = [
        (call.name, call.arguments, call.complete, "" if len(call.id) == 29 else call.id)
        for call in (reply.tool_calls if reply else ())
    ]
    parts = reply and (reply.reasoning, reply.content, reply.finish, reply.usage, reply.timings)
    return calls, parts, findings


@pytest.mark.parametrize("case", singles(), ids=_named)
def test_reads_as_expected(case: Case) -> None:
    reply, findings = read_case(case)
    codes = codes_of(findings) | text_codes(reply, case)
    assert compare(case, reply, codes) == []


@pytest.mark.parametrize("case", STREAMS, ids=_named)
def test_cuts_change_nothing(case: Case) -> None:
    for response in case.responses:
        if response.status != 200:
            continue
        whole = _comparable(read_response(case, response))
        single = (response.body[i : i + 1] for i in range(len(response.body)))
        assert _comparable(read_response(case, response, single)) == whole
        assert _comparable(read_response(case, response, [response.body])) == whole
        for seed in range(3):
            assert _comparable(read_response(case, response, cuts(response.body, seed))) == whole
