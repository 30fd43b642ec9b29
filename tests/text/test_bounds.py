"""Hostile texts: no exception, no quadratic work, valid places."""

import sys
from collections.abc import Callable
from itertools import pairwise
from types import FrameType

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evalstab.text.excerpt import excerpt, visible
from evalstab.text.expected import Expectation
from evalstab.text.inputs import InputIndex
from evalstab.text.language import scan_languages
from evalstab.text.repetition import (
    TailWatch,
    degenerate,
    low_entropy,
    repeated_share,
    rewording_profile,
    verbatim_loops,
)
from evalstab.text.scripts import scan_scripts
from evalstab.text.special_tokens import special_tokens

DE = Expectation("de")
_PIECES = [
    "ж", "中", "の", "한", "a", "é", "e\u0301", "\u0301" * 9, "\u200d", "\u202e", "\ufffd",
    "\ud800", "，", "。", "Ａ", "`", "```\n", "~~~\n", "$", "$$", "\\(", "\\[", "\\u4e2d",
    "\\", "&#20013;", "http://", "/", "/*", '"""', "'", '"', "„", "“", "(", ")", "<s>",
    "<|", "|>", "|", "#", "- ", "> ", "\n", "\n\n", " ", "\t", ". ", "!", "0", "1.",
    "\x00", "\x1b[", "👩", "🏴\U000e0067", "ค", "ا", "α", "Wort ", "the list of ", "und ",
    "nan ", "İ", "ß",
]  # fmt: skip
PIECES = st.sampled_from(_PIECES)
TEXTS = st.lists(PIECES, max_size=80).map("".join) | st.text(max_size=200)
LANGUAGES = st.sampled_from(["de", "ru", "sr", "zh", "ja", "ko", "ar", "th", "el"])

HOSTILE: dict[str, str] = {
    "one letter": "a",
    "one foreign letter": "ж",
    "combining marks": "\u0301",
    "marks on a foreign letter": "ж\u0301",
    "scripts by turns": "aж",
    "scripts by turns with spaces": "a ж ",
    "scripts of one word": "жαа",
    "foreign and common": "中。",
    "foreign lines": "中\n",
    "broken characters": "\ufffd\x00",
    "invisible": "a\u200b",
    "joiners": "👩\u200d",
    "tags": "\U000e0061",
    "code marks": "`中",
    "fences": "```\n中\n",
    "unclosed comments": "/*中",
    "quotes": "\"'中",
    "brackets": "(",
    "closing": ".\")'",
    "addresses": "http://中",
    "slashes": "/中",
    "formulas": "$中",
    "escapes": "\\u4e2d",
    "entities": "&#20013;",
    "control tokens": "<|",
    "struck": "<s>",
    "byte marks": "Ġa",
    "list marks": "- ",
    "dots": ".",
    "digits": "1 ",
    "colons": "a: ",
    "pipes": "|a",
    "quotations": '"a b c d e f g h i j k l m n o ',
    "sentences": "The list of all rules is here. ",
}


def everything(text: str) -> None:
    """Every scan on one text."""
    index = InputIndex([text[: len(text) // 2]])
    scan_scripts(text, DE, index)
    scan_scripts(text, DE, None, "arguments")
    degenerate(text)
    special_tokens(text)
    verbatim_loops(text)
    low_entropy(text)
    repeated_share(text)
    rewording_profile(text)
    visible(text)


def calls(work: Callable[[], object]) -> int:
    """Number of Python and C calls that a piece of work makes."""
    count = 0

    def tick(_frame: FrameType, event: str, _arg: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(tick)
    try:
        work()
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.parametrize("name", HOSTILE)
def test_work_grows_with_the_length_only(name: str) -> None:
    piece = HOSTILE[name]
    small, large = piece * (2000 // len(piece)), piece * (8000 // len(piece))
    everything(small)
    assert calls(lambda: everything(large)) <= 5 * calls(lambda: everything(small)) + 2000


@pytest.mark.parametrize("name", HOSTILE)
def test_sentence_work_grows_with_the_length_only(name: str) -> None:
    piece = HOSTILE[name]
    small, large = piece * (2000 // len(piece)), piece * (8000 // len(piece))
    scan_languages(small, DE)
    first = calls(lambda: scan_languages(small, DE))
    assert calls(lambda: scan_languages(large, DE)) <= 5 * first + 2000


@pytest.mark.parametrize("name", ["combining marks", "brackets", "dots", "slashes", "quotations"])
def test_a_hundred_thousand_characters(name: str) -> None:
    text = HOSTILE[name] * (100_000 // len(HOSTILE[name]))
    everything(text)
    scan_languages(text, DE)


@settings(max_examples=60, deadline=None)
@given(TEXTS, LANGUAGES, st.sampled_from(["content", "arguments"]))
def test_script_spans_are_valid(text: str, language: str, channel: str) -> None:
    spans = scan_scripts(text, Expectation(language), InputIndex([text[::2]]), channel)
    assert all(0 <= span.start < span.end <= len(text) for span in spans)
    assert all(a.end <= b.start for a, b in pairwise(spans))
    assert all(span.graphemes >= 0 for span in spans)


@settings(max_examples=60, deadline=None)
@given(TEXTS)
def test_everything_that_is_scanned_is_copied_from_itself(text: str) -> None:
    assert all(span.copied for span in scan_scripts(text, DE, InputIndex([text])))


@settings(max_examples=40, deadline=None)
@given(TEXTS, LANGUAGES)
def test_language_spans_are_valid(text: str, language: str) -> None:
    spans = scan_languages(text, Expectation(language), InputIndex([text[::-1]]))
    assert all(0 <= span.start < span.end <= len(text) for span in spans)
    assert all(a.end <= b.start for a, b in pairwise(spans))


@settings(max_examples=60, deadline=None)
@given(TEXTS, st.integers(1, 60))
def test_loops_are_valid(text: str, times: int) -> None:
    repeated = text * times
    for loop in verbatim_loops(repeated):
        assert 0 <= loop.start < loop.end <= len(repeated)
        assert loop.copies is not None
        assert loop.copies >= 3
    for span in [*degenerate(repeated), *special_tokens(repeated)]:
        assert 0 <= span.start < span.end <= len(repeated)
    found = low_entropy(repeated)
    assert found is None or 0 <= found.start < found.end <= len(repeated)
    share = repeated_share(repeated)
    assert share is None or 0.0 <= share <= 1.0


@settings(max_examples=30, deadline=None)
@given(st.lists(TEXTS, max_size=20), st.integers(1, 50))
def test_tail_watch_takes_anything(parts: list[str], every: int) -> None:
    watch = TailWatch(every=every, min_tokens=60)
    for part in parts:
        watch.feed(part)


def test_excerpt_of_a_megabyte_looks_at_its_ends_only() -> None:
    text = "a" + "\u0301" * 1_000_000
    assert calls(lambda: excerpt(text, 0, len(text))) < 3000
