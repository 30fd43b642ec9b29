"""The wanted size is reached, and what cannot be reached is refused with the size it needs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from evalstab.errors import UsageError
from evalstab.task.brief import opening_messages
from evalstab.task.generate.facts import read_facts
from evalstab.task.generate.request import CHARS_PER_TOKEN
from evalstab.task.load import load_task
from tests.task.generate.making import made, request

SIZES = [
    (3, 4_000, "bids", "hard"),
    (3, 4_000, "incidents", "medium"),
    (8, 8_000, "incidents", "easy"),
    (11, 16_000, "applicants", "hard"),
    (11, 60_000, "bids", "medium"),
    (60, 80_000, "applicants", "hard"),
    (30, 250_000, "incidents", "medium"),
]


def _characters(folder: Path) -> int:
    task = load_task(folder)
    opening = sum(len(message["content"]) for message in opening_messages(task))
    return opening + sum(len(data.decode()) for data in task.inputs.values())


@pytest.mark.parametrize("language", ["de", "en"])
@pytest.mark.parametrize(("candidates", "context", "domain", "difficulty"), SIZES)
def test_sizes_are_reached_within_two_percent(
    candidates: int, context: int, domain: str, difficulty: str, language: str, tmp_path: Path
) -> None:
    folder = made(
        tmp_path / "t",
        candidates=candidates,
        context=context,
        domain=domain,
        difficulty=difficulty,
        language=language,
    )
    tokens = _characters(folder) / CHARS_PER_TOKEN[language]
    assert abs(tokens / context - 1) < 0.02
    sheet = read_facts(folder)
    assert sheet is not None
    assert sheet.made.tokens_source == "estimate"
    assert abs(sheet.made.reached_tokens - tokens) < 40


@pytest.mark.parametrize("language", ["de", "en"])
def test_a_tokenizer_decides_where_there_is_one(language: str, tmp_path: Path) -> None:
    pieces = re.compile(r"\w{1,3}|[^\w\s]|\s+(?=\W)")
    asked: list[int] = []

    def count(text: str) -> int:
        asked.append(len(text))
        return len(pieces.findall(text))

    folder = made(tmp_path / "t", context=20_000, language=language, count_tokens=count)
    task = load_task(folder)
    texts = [*(data.decode() for data in task.inputs.values())]
    texts += [message["content"] for message in opening_messages(task)]
    assert abs(sum(len(pieces.findall(text)) for text in texts) / 20_000 - 1) < 0.02
    sheet = read_facts(folder)
    assert sheet is not None
    assert sheet.made.tokens_source == "tokenizer"
    assert len(asked) <= 6 * 8


def test_another_ratio_gives_another_length(tmp_path: Path) -> None:
    short = made(tmp_path / "short", chars_per_token=2.5)
    long = made(tmp_path / "long", chars_per_token=5.0)
    assert 1.9 < _characters(long) / _characters(short) < 2.1


def test_too_little_room_is_refused_with_the_size_that_is_needed(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"Ask for about (\d+) tokens") as refused:
        made(tmp_path / "t", candidates=40, context=8_000)
    assert not (tmp_path / "t").exists()
    found = re.search(r"about (\d+) tokens", str(refused.value))
    assert found is not None
    assert made(tmp_path / "t", candidates=40, context=int(found[1])).is_dir()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"candidates": 2}, "from 3 to 60"),
        ({"candidates": 61}, "from 3 to 60"),
        ({"language": "fr"}, "--language 'fr'"),
        ({"domain": "applicant"}, "Did you mean 'applicants'"),
        ({"difficulty": "hrad"}, "Did you mean 'hard'"),
        ({"context": 10}, "--context 10"),
        ({"chars_per_token": 0.0}, "0.5 to 20"),
    ],
)
def test_nonsense_is_refused(changes: dict[str, object], message: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=re.escape(message)):
        made(tmp_path / "t", **changes)
    assert not (tmp_path / "t").exists()


def test_the_ratio_of_a_language_is_the_default(tmp_path: Path) -> None:
    assert request(tmp_path, language="en").ratio == CHARS_PER_TOKEN["en"]
    assert request(tmp_path, chars_per_token=3.0).ratio == 3.0
