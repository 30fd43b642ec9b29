"""The table for long texts gives the same spans as the pattern for short ones."""

import random

import pytest

from evalstab.text.expected import Expectation
from evalstab.text.scripts import scan_scripts
from evalstab.text.suspects import suspects

CHARACTERS = [
    "a",
    "b",
    " ",
    "\n",
    "ü",
    "ж",
    "中",
    "の",
    "。",
    "，",
    "\u200b",
    "\ufffd",
    "\x00",
    "\ud800",
    "𐌲",
]


@pytest.mark.parametrize("language", ["de", "ru", "ja", "ar"])
def test_long_and_short_texts_agree(language: str) -> None:
    rng = random.Random(language)
    expectation = Expectation(language)
    lines = ["".join(rng.choices(CHARACTERS, k=50)) for _ in range(1000)]
    lines[500:500] = ["plain ascii text without anything"] * 3000
    offset, expected = 0, []
    for line in lines:
        places = [
            position + offset
            for start, end in suspects(line, expectation)
            for position in range(start, end)
        ]
        expected += places
        offset += len(line) + 1
    long = "\n".join(lines)
    assert len(long) > 100_000
    found = [p for start, end in suspects(long, expectation) for p in range(start, end)]
    assert found == expected


def test_a_span_over_two_chunks_is_one() -> None:
    text = "a" * 65_533 + " " + "中" * 10 + " " + "b" * 10_000
    (span,) = scan_scripts(text, Expectation("de"))
    assert (span.start, span.end, span.graphemes) == (65_534, 65_544, 10)
