"""Ballast turns: honest text, unlike itself, deterministic, of the asked size."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from evalstab.task.ballast import ballast_language, ballast_messages, length_of
from evalstab.text.degenerate import degenerate
from evalstab.text.expected import Expectation
from evalstab.text.language import channel_language
from evalstab.text.periodic import verbatim_loops
from evalstab.text.rewording import repeated_share
from evalstab.text.scripts import scan_scripts

CODE = (
    "import hashlib, json, sys; from evalstab.task.ballast import ballast_messages;"
    "text = json.dumps(ballast_messages('de', 60000, 5)).encode();"
    "print(hashlib.sha256(text).hexdigest())"
)


def _text(language: str, characters: int, seed: int = 3) -> str:
    return "\n\n".join(m["content"] for m in ballast_messages(language, characters, seed))


@pytest.mark.parametrize("language", ["de", "en"])
@pytest.mark.parametrize("characters", [1_000, 20_000, 400_000])
def test_size_and_form(language: str, characters: int) -> None:
    messages = ballast_messages(language, characters, 3)
    assert abs(length_of(messages) - characters) < 500
    roles = [message["role"] for message in messages]
    assert roles == ["user", "assistant"] * (len(roles) // 2)
    assert all(message["content"].strip() for message in messages)


@pytest.mark.parametrize("language", ["de", "en"])
def test_own_detectors_stay_silent(language: str) -> None:
    text = _text(language, 300_000)
    expectation = Expectation(language)
    assert not verbatim_loops(text)
    assert not degenerate(text)
    assert not scan_scripts(text, expectation)
    assert (repeated_share(text) or 0) < 0.05
    assert channel_language(text[:20_000], expectation).language in (language, None)


def test_no_turn_repeats() -> None:
    contents = [message["content"] for message in ballast_messages("de", 500_000, 3)]
    assert len(set(contents)) == len(contents)


def test_a_larger_ballast_begins_with_the_smaller_one() -> None:
    small, large = ballast_messages("de", 40_000, 3), ballast_messages("de", 90_000, 3)
    assert small[:-2] == large[: len(small) - 2]


def test_same_bytes_whatever_the_hash_seed_and_another_seed_other_bytes() -> None:
    digests = {
        subprocess.run(
            [sys.executable, "-c", CODE],
            env=os.environ | {"PYTHONHASHSEED": seed, "TZ": zone, "LC_ALL": "C"},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed, zone in (("1", "UTC"), ("2", "Asia/Tokyo"))
    }
    assert len(digests) == 1
    assert _text("de", 5_000, 3) != _text("de", 5_000, 4)


def test_names_to_avoid_do_not_occur() -> None:
    first = ballast_messages("en", 30_000, 3)[0]["content"]
    name = first.split("# ", 1)[1].split("\n", 1)[0].split(": ", 1)[-1]
    again = "\n".join(m["content"] for m in ballast_messages("en", 30_000, 3, avoid=[name]))
    assert name not in again


def test_answers_count_the_sections_they_name() -> None:
    messages = ballast_messages("de", 60_000, 3)
    for asked, answer in zip(messages[::2], messages[1::2], strict=True):
        sections = sum(line.startswith("## ") for line in asked["content"].split("\n"))
        assert str(sections) in answer["content"]


def test_other_languages_get_english_as_their_brief_does() -> None:
    assert ballast_language("fr") == "en"
    assert ballast_language("de-AT") == "de"
