"""What is sent back after a reply, in the form that this server reads."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import pytest

from evalstab.chat import ToolCall, Usage
from evalstab.endpoint.base import Reply
from evalstab.endpoint.replay import UNNAMED, assistant_message, reasoning_dropped, substituted
from tests.endpoint.cases import Case, all_cases
from tests.endpoint.reading import read_response
from tests.endpoint.streams import body, call, delta, pieces, read, stream

THOUGHT = "First I compare."
ANSWER = "note_b"
GOOD = call(0, id="functions.read_file:0", name="read_file", arguments='{"path": "a"}')


def _message(*parts: bytes, **asked: Any) -> dict[str, Any]:
    return assistant_message(read(stream(*parts, reason="tool_calls"), **asked)[0])


@pytest.mark.parametrize("key", ["reasoning", "reasoning_content"])
def test_reasoning_goes_back_under_the_key_in_which_it_came(key: str) -> None:
    message = _message(pieces(key, THOUGHT), pieces("content", ANSWER))
    assert message == {"role": "assistant", "content": ANSWER, key: THOUGHT}


@pytest.mark.parametrize(
    "text",
    [
        f"<think>\n{THOUGHT}\n</think>\n\n{ANSWER}",
        f"<think>{THOUGHT}</think>{ANSWER}",
        f"[THINK]{THOUGHT}[/THINK]{ANSWER}",
    ],
)
def test_inline_thinking_goes_back_unchanged(text: str) -> None:
    assert _message(pieces("content", text))["content"] == text


def test_details_go_back_verbatim() -> None:
    details = [
        {"type": "reasoning.text", "text": THOUGHT, "signature": "s", "index": 0},
        {"type": "reasoning.encrypted", "data": "AAA", "index": 1},
    ]
    message = _message(delta(reasoning_details=details), pieces("content", ANSWER))
    assert message["reasoning_details"] == details
    only_encrypted = _message(delta(reasoning_details=details[1:]), pieces("content", ANSWER))
    assert only_encrypted["reasoning_details"] == details[1:]
    assert "reasoning" not in message


def test_typed_blocks_go_back_as_blocks() -> None:
    content = [
        {"type": "thinking", "thinking": [{"type": "text", "text": THOUGHT}]},
        {"type": "text", "text": ANSWER},
    ]
    reply, _ = read(body({"content": content}))
    assert assistant_message(reply)["content"] == content


@pytest.mark.parametrize(
    ("form", "expected"),
    [
        ("none", {"content": ANSWER}),
        ("reasoning", {"content": ANSWER, "reasoning": THOUGHT}),
        ("reasoning_content", {"content": ANSWER, "reasoning_content": THOUGHT}),
        ("inline", {"content": f"<think>{THOUGHT}</think>{ANSWER}"}),
        ("reasoning_details", {"content": ANSWER, "reasoning_details": [
            {"type": "reasoning.text", "text": THOUGHT}]}),
    ],
)  # fmt: skip
def test_the_form_can_be_chosen(form: Any, expected: dict[str, Any]) -> None:
    reply = Reply(reasoning=THOUGHT, content=ANSWER, reasoning_field="reasoning")
    assert assistant_message(reply, form) == {"role": "assistant"} | expected


def test_ids_go_back_byte_for_byte() -> None:
    message = _message(GOOD)
    assert message["content"] is None
    assert message["tool_calls"] == [
        {
            "id": "functions.read_file:0",
            "type": "function",
            "function": {"name": "read_file", "arguments": '{"path": "a"}'},
        }
    ]


@pytest.mark.parametrize(
    "arguments", ['{"path": "a', '{"path" "a"}', "[1]", '"text"', '{"path": NaN}', "{" * 5000]
)
def test_arguments_that_are_no_object_are_never_sent(arguments: str) -> None:
    reply, _ = read(stream(call(0, id="c1", name="read_file", arguments=arguments), GOOD))
    sent = [made["function"]["arguments"] for made in assistant_message(reply)["tool_calls"]]
    assert all(isinstance(json.loads(text), dict) for text in sent)
    assert sent[0] == "{}"
    assert substituted(reply) == ("c1",)


def test_cut_call_that_parses_goes_back_as_it_came() -> None:
    reply, _ = read(stream(GOOD, reason="length", tokens=9), max_tokens=9)
    assert not reply.tool_calls[0].complete
    assert substituted(reply) == ()
    assert assistant_message(reply)["tool_calls"][0]["function"]["arguments"] == '{"path": "a"}'


def test_call_without_a_name_gets_one() -> None:
    reply = Reply(tool_calls=(ToolCall(id="c", name="", arguments="{}", complete=False),))
    assert assistant_message(reply)["tool_calls"][0]["function"]["name"] == UNNAMED


def test_silence_goes_back_as_an_empty_text() -> None:
    assert assistant_message(Reply()) == {"role": "assistant", "content": ""}


def _carries(message: dict[str, Any], wanted: dict[str, Any]) -> bool:
    """Whether a message that is sent back holds what a case asks for."""
    calls = message.get("tool_calls", [])
    if "ids" in wanted and [made["id"] for made in calls] != wanted["ids"]:
        return False
    if "reasoning" in wanted:
        field = wanted.get("field")
        names = [field] if field else ["reasoning", "reasoning_content"]
        texts = [str(message.get(name, "")).strip() for name in names]
        if field == "inline":
            opened, tag, rest = str(message["content"]).partition("<think>")
            thought, closed, _ = rest.partition("</think>")
            return bool(not opened and tag and closed) and thought.strip() == wanted["reasoning"]
        if wanted["reasoning"] not in texts:
            return False
    objects = [isinstance(json.loads(made["function"]["arguments"]), dict) for made in calls]
    return all(objects)


WITH_SENT_BACK = [case for case in all_cases() if case.expect.get("sent_back")]


@pytest.mark.parametrize("case", WITH_SENT_BACK, ids=lambda case: case.id)
def test_cases_that_say_what_goes_back(case: Case) -> None:
    replies = [read_response(case, response)[0] for response in case.responses]
    messages = [assistant_message(reply) for reply in replies if reply is not None]
    for wanted in case.expect["sent_back"]:
        assert any(_carries(message, wanted) for message in messages), wanted


@pytest.mark.parametrize(
    ("reasoning", "grew", "other", "dropped"),
    [
        ("x" * 1500, 81, 120, True),
        ("x" * 1500, 400, 120, False),
        ("x" * 1500, 600, 8000, True),
        ("x" * 1500, 2400, 8000, False),
        ("x" * 100, 10, 0, False),
        ("x" * 1500, -50, 0, False),
        ("x" * 1500, None, 0, False),
    ],
)
def test_dropped_reasoning(reasoning: str, grew: int | None, other: int, dropped: bool) -> None:
    before = Reply(reasoning=reasoning, usage=Usage(prompt_tokens=2000, completion_tokens=310))
    after = Reply(usage=Usage(prompt_tokens=2000 + grew) if grew is not None else None)
    assert (reasoning_dropped(before, after, other) is not None) is dropped


def test_dropped_reasoning_in_the_cases() -> None:
    for case in all_cases():
        if not case.id.startswith("seq-") or "reasoning" not in str(case.expect):
            continue
        replies = [reply for r in case.responses if (reply := read_response(case, r)[0])]
        found = [
            reasoning_dropped(before, after, sum(len(c.arguments) for c in before.tool_calls))
            for before, after in pairwise(replies)
            if before.reasoning and after.usage
        ]
        wanted = "reasoning.not_replayed" in case.expect["findings"]
        assert any(found) is wanted, case.id
