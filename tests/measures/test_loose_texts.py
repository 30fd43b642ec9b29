"""A text that belongs to no trial gets the findings that it would get in one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evalstab.measures.loose_texts import findings_in
from evalstab.text.expected import Expectation

CASES = json.loads(
    (Path(__file__).parents[2] / "fixtures" / "text" / "leaks.json").read_text("utf-8")
)["cases"]
CHANNELS: dict[str, Any] = {"files": "file", "tool_args": "arguments"}


@pytest.mark.parametrize(
    "case", [case for case in CASES if not case["ambiguous"]], ids=lambda case: case["id"]
)
def test_labelled_texts(case: dict[str, Any]) -> None:
    given_texts = [case["source_text"]] if case["source_text"] else []
    channel = CHANNELS.get(case["channel"], case["channel"])
    found = findings_in(case["text"], channel, Expectation(case["expected_lang"]), given_texts)
    expected = [(span["start"], span["end"]) for span in case["expected"]]
    assert [(one.start, one.end) for one in found] == expected


def test_offsets_in_arguments_are_those_of_the_text_with_its_escapes() -> None:
    value = 'Die "Frau"\n\U0001d11e 符合要求 ist sofort verfügbar und sehr gut geeignet.'
    text = json.dumps({"path": "符合要求", "content": value}, indent=2)
    found = findings_in(text, "arguments", Expectation("de"), ["符合"])
    spans = [text[one.start : one.end] for one in found]
    assert [json.loads(f'"{span}"') for span in spans] == ["符合要求", "符合要求"]
    assert all(one.channel == "arguments" for one in found)


def test_keys_are_no_values_and_broken_arguments_are_read_as_they_came() -> None:
    assert findings_in('{"符合要求": "gut"}', "arguments", Expectation("de")) == []
    broken = '{"content": "Die Kandidatin \\u7b26\\u5408\\u8981\\u6c42 und'
    (one,) = findings_in(broken, "arguments", Expectation("de"))
    assert one.code == "text.foreign_script"
    assert broken[one.start : one.end].startswith("\\u7b26")


def test_loops_carry_the_code_of_their_channel() -> None:
    text = "I must check the note again and again. " * 80
    for channel, code in (("reasoning", "reasoning.loop"), ("file", "text.loop")):
        (one,) = findings_in(text, channel, Expectation("en"))  # type: ignore[arg-type]
        assert one.code == code
        assert one.detail["copies"] == pytest.approx(80, abs=1)
    assert findings_in("", "content", Expectation("en")) == []


@settings(max_examples=150, deadline=None)
@given(st.text(max_size=60), st.sampled_from(["content", "arguments", "reasoning", "file"]))
def test_any_text_is_read_and_every_span_lies_in_it(text: str, channel: Any) -> None:
    for shown in (text, json.dumps({"content": text})):
        for one in findings_in(shown, channel, Expectation("de")):
            assert one.start is not None
            assert one.end is not None
            assert 0 <= one.start <= one.end <= len(shown)
