"""The documents repeat nothing, and the detectors of the product find nothing in them."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from evalstab.task.generate.freshness import Freshness
from evalstab.text.expected import Expectation
from evalstab.text.language import scan_languages
from evalstab.text.repetition import degenerate, low_entropy, verbatim_loops
from evalstab.text.rewording import judge_rewording, rewording_profile
from evalstab.text.scripts import scan_scripts
from evalstab.text.special_tokens import special_tokens
from tests.task.generate.making import KINDS, inputs, made

WORD = re.compile(r"\w+")
LARGE = {"candidates": 3, "context": 250_000, "difficulty": "hard"}


def _repeated_runs(texts: list[str], size: int) -> list[str]:
    runs: Counter[str] = Counter()
    for text in texts:
        words = WORD.findall(text.casefold())
        runs.update(" ".join(words[i : i + size]) for i in range(len(words) - size + 1))
    return [run for run, times in runs.items() if times > 1]


def _repeated_passages(texts: list[str]) -> list[str]:
    """Paragraphs, list items and sentences that occur twice; headings, meta lines, cells apart."""
    seen: Counter[str] = Counter()
    for text in texts:
        for line in text.split("\n"):
            if line and not line.startswith(("#", "*", "|", "Betreff", "Subject")):
                prose = [s for s in re.split(r"(?<=[^\d][.!?])\s+", line) if s[-1] in ".!?"]
                seen.update({line, *prose} if len(line.split()) > 6 else set())
    return [passage for passage, times in seen.items() if times > 1]


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize(("domain", "language"), KINDS)
def test_detectors_find_nothing(domain: str, language: str, seed: int, tmp_path: Path) -> None:
    difficulty = ("hard", "easy")[seed % 2]
    folder = made(
        tmp_path / "t", domain=domain, language=language, seed=seed, difficulty=difficulty
    )
    texts = inputs(folder)
    for text in [*texts.values(), "\n\n".join(texts.values())]:
        assert not verbatim_loops(text)
        assert low_entropy(text) is None
        assert not degenerate(text)
        assert not special_tokens(text)
        assert not scan_scripts(text, Expectation(language))
    assert not scan_languages("\n\n".join(texts.values()), Expectation(language))


@pytest.mark.parametrize(("domain", "language"), [("applicants", "en"), ("incidents", "de")])
def test_a_quarter_of_a_million_tokens_in_three_documents_repeat_nothing(
    domain: str, language: str, tmp_path: Path
) -> None:
    texts = inputs(made(tmp_path / "t", domain=domain, language=language, **LARGE))
    assert not _repeated_runs(list(texts.values()), 12)
    assert not _repeated_passages(list(texts.values()))
    for text in texts.values():
        assert not verbatim_loops(text)
        assert low_entropy(text) is None
        assert not degenerate(text)
        assert not scan_scripts(text, Expectation(language))
    profile = rewording_profile("\n\n".join(texts.values()))
    assert profile.tfidf_tail is not None
    assert profile.tfidf_tail < 0.40
    assert not judge_rewording(profile, []).reworded


@pytest.mark.parametrize(("domain", "language"), KINDS)
def test_many_candidates_repeat_nothing(domain: str, language: str, tmp_path: Path) -> None:
    folder = made(tmp_path / "t", domain=domain, language=language, candidates=60, context=60_000)
    texts = list(inputs(folder).values())
    assert len(texts) == 62
    assert not _repeated_runs(texts, 12)
    assert not _repeated_passages(texts)


@pytest.mark.parametrize(("domain", "language"), KINDS)
def test_no_slot_and_no_mark_is_left(domain: str, language: str, tmp_path: Path) -> None:
    for text in inputs(made(tmp_path / "t", domain=domain, language=language)).values():
        assert not re.search(r"[{}\ue000-\uf8ff]|  |\n\n\n| [,.;]|\.\.|\bNone\b", text)
        assert text.endswith("\n")


def test_freshness_refuses_a_sentence_and_a_run_of_twelve_words() -> None:
    fresh = Freshness()
    words = [f"w{n}" for n in range(40)]
    assert fresh.take(" ".join(words[:20]) + ". Das war schon alles.")
    fresh.begin()
    assert not fresh.take("Anders begonnen. Das war schon alles.")
    assert not fresh.take("x " + " ".join(words[5:17]))
    assert fresh.take("x " + " ".join(words[5:16]) + " y z")
    assert not fresh.take("z z. Neu hier, neu hier. Neu hier, neu hier.")


def test_freshness_refuses_an_end_that_would_force_a_repetition() -> None:
    fresh = Freshness()
    words = [f"w{n}" for n in range(20)]
    assert fresh.take(" ".join(words))
    fresh.begin()
    assert not fresh.take("x " + " ".join(words[3:12]))
    assert fresh.take("x " + " ".join(words[3:12]), heading=True)
    assert fresh.take("y " + " ".join(words[3:11]))


def test_freshness_knows_that_a_day_of_a_month_ends_no_sentence() -> None:
    fresh = Freshness(("März", "April"))
    assert fresh.take("Am 14. März kam er an. Es waren 14. Danach kam sie.")
    assert fresh.take("Am 14. April ging er fort.")
    assert not fresh.take("Es waren 14.")


def test_freshness_sees_runs_across_passages() -> None:
    fresh = Freshness()
    words = [f"w{n}" for n in range(16)]
    assert fresh.take(" ".join(words))
    fresh.begin()
    assert fresh.take(" ".join(words[:8]))
    assert not fresh.take(" ".join(words[8:]))
