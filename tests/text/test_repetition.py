"""Loops of every kind, and honest texts that are none."""

import json
from pathlib import Path

import pytest

from evalstab.text.repetition import (
    RewordingProfile,
    TailWatch,
    compression_ratio,
    degenerate,
    judge_rewording,
    low_entropy,
    repeated_share,
    rewording_profile,
    runaway,
    verbatim_loop,
    verbatim_loops,
)

from .reasoning import honest_reasoning, looping_reasoning

FIXTURE = Path(__file__).parents[2] / "fixtures" / "text" / "sentences.jsonl"
ANSWER = "\n\nSchluss jetzt. Ergebnis: Quast vor Ruhland, dahinter Paulsen und die übrigen."


def honest_texts() -> list[str]:
    """Real sentences joined by language, and synthetic reasoning."""
    rows = [json.loads(line) for line in FIXTURE.read_text(encoding="utf-8").splitlines()]
    languages = sorted({row["lang"] for row in rows})
    real = [" ".join(r["text"] for r in rows if r["lang"] == name) for name in languages]
    return real + [honest_reasoning(seed, 40_000) for seed in range(5)]


@pytest.mark.parametrize("kind", ["token", "sentence", "block", "flip"])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_verbatim_loops_are_found_where_they_begin(kind: str, seed: int) -> None:
    text = looping_reasoning(kind, seed, 40_000)
    loop = verbatim_loop(text)
    assert loop is not None
    assert loop.tier == "sure"
    assert abs(loop.start - 20_002) < 120
    assert loop.end > len(text) - 80
    assert loop.period is not None
    assert loop.copies is not None
    assert loop.copies >= 3
    assert abs(loop.period * loop.copies - (loop.end - loop.start)) < loop.period + 4
    repeated = text[loop.start : loop.start + loop.period]
    assert text[loop.start + loop.period :].startswith(repeated.strip())


@pytest.mark.parametrize("kind", ["sentence", "block"])
def test_loop_that_recovers(kind: str) -> None:
    text = looping_reasoning(kind, 7, 30_000) + ANSWER
    loop = verbatim_loop(text)
    assert loop is not None
    assert (loop.detail["recovered"], loop.tier) == (True, "sure")
    assert loop.end <= len(text) - len(ANSWER) + 2


def test_tail_loop_wins_over_a_longer_recovered_one() -> None:
    text = honest_reasoning(1, 5000) + " eins zwei drei vier" * 60 + ANSWER + " und so" * 40
    loop = verbatim_loop(text)
    assert loop is not None
    assert (loop.period, loop.detail["recovered"]) == (7, False)
    assert len(verbatim_loops(text)) == 2


@pytest.mark.parametrize(
    ("piece", "copies"), [("ab", 200), ("</think> ok ", 30), ("候选人很好。", 15), ("ที่ดี ", 40)]
)
def test_periods_of_characters_and_unspaced_scripts(piece: str, copies: int) -> None:
    loop = verbatim_loop(honest_reasoning(2, 3000) + "\n" + piece * copies)
    assert loop is not None
    assert loop.period is not None
    assert loop.period == pytest.approx(len(piece), abs=1)


def test_too_little_to_be_a_loop() -> None:
    assert verbatim_loop("noch einmal " * 24) is None
    assert verbatim_loop("a b c d e f g h i j k l m n o p q r s t u v w x y z " * 2) is None
    assert verbatim_loop("") is None


def test_loop_beyond_the_block_size() -> None:
    text = honest_reasoning(3, 2_050_000) + " Ich prüfe das noch einmal ganz genau." * 9000
    loop = verbatim_loop(text)
    assert loop is not None
    assert loop.start == pytest.approx(2_050_001, abs=100)
    assert loop.end == pytest.approx(len(text), abs=3)
    assert loop.detail["recovered"] is False


@pytest.mark.parametrize("kind", ["token", "sentence", "counter", "flip", "near"])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_low_entropy_finds_inexact_loops(kind: str, seed: int) -> None:
    text = looping_reasoning(kind, seed, 40_000)
    loop = low_entropy(text)
    assert loop is not None
    assert (loop.tier, loop.period, loop.copies) == ("sure", None, None)
    assert abs(loop.start - 20_000) < 1500
    assert loop.end > 39_000


def test_short_counter_is_probable() -> None:
    text = looping_reasoning("counter", 4, 25_000, onset=0.82)
    loop = low_entropy(text)
    assert loop is not None
    assert loop.tier == "probable"


def test_tables_and_data_are_never_sure() -> None:
    row = '{{"id": {}, "points": {}, "reason": ""}},\n'
    data = "".join(row.format(i, i * 7 % 10) for i in range(400))
    found = low_entropy(data)
    assert found is None or found.tier == "probable"


def test_honest_texts_have_no_loop() -> None:
    for text in honest_texts():
        assert verbatim_loops(text) == []
        assert low_entropy(text) is None
        assert degenerate(text) == []


@pytest.mark.parametrize(
    ("text", "cause", "symbol"),
    [
        ("!!!!!!!!!!", "symbol", "!"),
        ("Gut." + "!" * 60, "symbol", "!"),
        ("Hm " + "？" * 50, "symbol", "？"),
        ("0" * 100, "symbol", "0"),
        ("! " * 40, "symbol", "!"),
        ("nan " * 20, "nan", "n"),
        ("Ergebnis: " + "NaN, " * 15, "nan", "N"),
        ("3 14 15 92 " * 80, "numbers", "3"),
        ("-" * 1200, "symbol", "-"),
    ],
)
def test_degenerate(text: str, cause: str, symbol: str) -> None:
    (span,) = degenerate(text)
    assert (span.kind, span.detail["cause"], span.detail["symbol"]) == ("degenerate", cause, symbol)


@pytest.mark.parametrize(
    "text",
    ["", "Ja!!!", "-" * 80, "=" * 120, "| --- " * 30, "Kapitel " + "." * 90 + " 7", "NaN, NaN",
     "***", "1, 2, 3, 4, 5", "aaah", "███████████████████████████████████████████████░░░ 95 %"],
)  # fmt: skip
def test_not_degenerate(text: str) -> None:
    assert degenerate(text) == []


@pytest.mark.parametrize("kind", ["token", "sentence", "counter", "flip"])
def test_tail_watch_stops_soon_and_once(kind: str) -> None:
    text = looping_reasoning(kind, 5, 60_000)
    watch = TailWatch()
    seen = [
        (place, loop)
        for place in range(0, len(text), 13)
        if (loop := watch.feed(text[place : place + 13])) is not None
    ]
    ((place, loop),) = seen
    assert watch.done
    assert 30_000 < place < 30_000 + 12_000
    assert loop.end <= place + 13
    assert loop.start > 28_000


def test_tail_watch_is_quiet_on_honest_text() -> None:
    watch = TailWatch(every=2000)
    text = honest_reasoning(11, 120_000)
    assert not any(watch.feed(text[i : i + 400]) for i in range(0, len(text), 400))


def test_tail_watch_refuses_nonsense() -> None:
    with pytest.raises(ValueError, match="must be positive"):
        TailWatch(every=0)


def profiles(count: int, characters: int, first: int = 0) -> list[RewordingProfile]:
    """Profiles of honest texts."""
    seeds = range(first, first + count)
    return [rewording_profile(honest_reasoning(seed, characters)) for seed in seeds]


def test_reworded_loop_against_references_of_its_length() -> None:
    references = profiles(10, 50_000)
    for seed in range(3):
        loop = rewording_profile(looping_reasoning("reworded", seed, 50_000))
        judged = judge_rewording(loop, references)
        assert (judged.reworded, judged.basis) == (True, "same_length")
        assert len(judged.over) >= 2
    for honest in profiles(5, 50_000, first=40):
        assert judge_rewording(honest, references).reworded is False


def test_reworded_loop_against_references_of_other_lengths() -> None:
    references = [p for size in (25_000, 35_000, 130_000, 180_000) for p in profiles(3, size)]
    loop = rewording_profile(looping_reasoning("reworded", 1, 70_000))
    judged = judge_rewording(loop, references)
    assert (judged.reworded, judged.basis) == (True, "regression")
    (honest,) = profiles(1, 70_000, first=60)
    assert judge_rewording(honest, references).reworded is False


def test_reworded_loop_without_references() -> None:
    loop = rewording_profile(looping_reasoning("reworded", 1, 70_000))
    judged = judge_rewording(loop, [])
    assert (judged.reworded, judged.basis) == (True, "absolute")
    assert judge_rewording(profiles(1, 50_000)[0], []).reworded is False


def test_all_trials_loop() -> None:
    seeds = range(9)
    looping = [rewording_profile(looping_reasoning("reworded", s, 70_000)) for s in seeds]
    judged = judge_rewording(looping[0], looping[1:])
    assert (judged.reworded, judged.basis) == (True, "absolute")


def test_short_text_has_no_profile() -> None:
    profile = rewording_profile("zu kurz")
    assert (profile.tfidf_tail, profile.seen_6grams, profile.new_pairs) == (None, None, None)
    assert profile.reason
    judged = judge_rewording(profile, [])
    assert (judged.reworded, judged.reason) == (None, profile.reason)


def test_runaway_is_long_and_progressing() -> None:
    (honest,) = profiles(1, 180_000)
    found = runaway(honest, usual_tokens=5_000)
    assert found is not None
    assert found.tokens == honest.tokens > found.limit == 16_000
    assert found.new_share > 0.25
    assert runaway(honest, usual_tokens=20_000) is None
    loop = rewording_profile(looping_reasoning("sentence", 1, 180_000))
    assert runaway(loop, usual_tokens=5_000) is None


def test_repeated_share() -> None:
    once = honest_reasoning(5, 8000)
    low, high = repeated_share(once), repeated_share(once + once)
    assert low is not None
    assert high is not None
    assert low < 0.2
    assert high == pytest.approx(0.5 + low / 2, abs=0.03)
    assert repeated_share("kurz") is None


def test_compression_ratio() -> None:
    assert compression_ratio("") is None
    assert compression_ratio("ab" * 4000) == pytest.approx(0.005, abs=0.005)
