"""The labelled leak cases, each compared span by span."""

import json
from pathlib import Path
from typing import Any

import pytest
from fontTools.unicodedata import script_name

from evalstab.text.expected import Expectation
from evalstab.text.inputs import InputIndex
from evalstab.text.language import scan_languages
from evalstab.text.scripts import scan_scripts
from evalstab.text.spans import Span

FIXTURE = Path(__file__).parents[2] / "fixtures" / "text" / "leaks.json"
CASES: list[dict[str, Any]] = json.loads(FIXTURE.read_text(encoding="utf-8"))["cases"]
CHANNELS = {"tool_args": "arguments", "files": "file"}


def scan(case: dict[str, Any]) -> list[Span]:
    """All spans that are leaks: in no input and in prose."""
    expectation = Expectation(case["expected_lang"])
    inputs = InputIndex([case["source_text"]])
    channel = CHANNELS.get(case["channel"], case["channel"])
    found = scan_scripts(case["text"], expectation, inputs, channel)
    found += scan_languages(case["text"], expectation, inputs)
    return [span for span in found if not span.copied and span.zone is None]


def script_matches(span: Span, code: str) -> bool:
    """The label's script: ISO code, "Jpan" for mixed runs, a language tag for sentences."""
    if span.kind == "language":
        return span.detail["language"] == code
    if code == "Jpan":
        return span.detail["group"] == "Jpan"
    return bool(span.script == script_name(code))


@pytest.mark.parametrize("case", [c for c in CASES if not c["ambiguous"]], ids=lambda c: c["id"])
def test_labelled_case(case: dict[str, Any]) -> None:
    found = sorted(scan(case), key=lambda span: span.start)
    expected = sorted(case["expected"], key=lambda label: label["start"])
    assert [(s.start, s.end, s.kind) for s in found] == [
        (label["start"], label["end"], label["cls"]) for label in expected
    ]
    assert all(script_matches(s, x["script"]) for s, x in zip(found, expected, strict=True))


@pytest.mark.parametrize("case", [c for c in CASES if c["ambiguous"]], ids=lambda c: c["id"])
def test_ambiguous_case_is_no_sure_leak(case: dict[str, Any]) -> None:
    assert not [span for span in scan(case) if span.counts]


def test_hard_and_soft_classes() -> None:
    tiers = {span.kind: span.tier for case in CASES for span in scan(case) if case["is_leak"]}
    assert tiers == {
        "script": "sure",
        "homoglyph": "sure",
        "language": "sure",
        "width": "probable",
        "punct": "probable",
        "invisible": "probable",
    }
