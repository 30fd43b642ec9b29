"""Loops and rewording, and the quick look that must not miss what the slow one finds."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path

import pytest

from evalstab.findings import finding
from evalstab.measures import loops
from evalstab.measures.base import Measured
from evalstab.measures.loops import repetition_in
from evalstab.measures.score import score_series
from evalstab.measures.suspicion import SHORT, may_repeat
from evalstab.measures.view import read_trial
from evalstab.task.load import load_task
from evalstab.text.repetition import degenerate, low_entropy, verbatim_loop
from evalstab.trial.record import Step
from tests.measures.series_making import (
    Written,
    counted,
    make_series,
    make_step,
    make_task,
    write_trial,
    writes,
)

_CHOICE = random.Random(0)
_LETTERS = "eeeeennniiissrrraattdhhullcggmobwfkzpv"
WORDS = [
    "".join(_CHOICE.choices(_LETTERS, k=_CHOICE.randint(2, 11))).capitalize() for _ in range(1500)
]


def honest(characters: int, seed: int) -> str:
    """Text of sentences that do not repeat; no language, but no loop either."""
    rng = random.Random(seed)
    parts: list[str] = []
    while sum(map(len, parts)) < characters:
        words = [rng.choice(WORDS) for _ in range(rng.randint(6, 18))]
        parts.append(f"{' '.join(words)} {rng.randint(1, 999)}. ")
    return "".join(parts)[:characters]


BLOCK = honest(900, 5)
LOOPING = {
    "word": "und " * 300,
    "phrase": "Ich prüfe das noch einmal. " * 60,
    "block": BLOCK * 4,
    "long block": honest(3000, 9) * 3,
    "counter": "".join(f"Schritt {n}: Ich vergleiche die Punkte erneut. " for n in range(400)),
    "flip": "Nein, A ist besser. Nein, B ist besser. Doch A. Aber B ist auch gut. " * 140,
    "symbols": "!" * 200,
    "wide symbols": "！" * 200,
    "not a number": "nan, " * 80,
    "digits": "".join(f"{n * 7919 % 1000}.{n * 104729 % 97} " for n in range(400)),
}


def measure(root: Path, steps: Sequence[Step]) -> Measured:
    series = make_series(root / "series", make_task(root / "task"))
    write_trial(series, 1, Written(list(steps)))
    return loops.compute(read_trial(series.trial(1), load_task(series.task_folder)))


def slow(text: str) -> bool:
    """Whether the slow look finds anything sure."""
    tiers = [span.tier for span in degenerate(text)]
    tiers += [loop.tier for loop in (verbatim_loop(text), low_entropy(text)) if loop is not None]
    return "sure" in tiers


@pytest.mark.parametrize("kind", LOOPING)
@pytest.mark.parametrize("before", [0, 500, 20_000])
@pytest.mark.parametrize("after", [0, 3_000])
def test_the_quick_look_sees_every_loop(kind: str, before: int, after: int) -> None:
    text = f"{honest(before, 1)}\n{LOOPING[kind]}\n{honest(after, 2)}"
    assert slow(text)
    assert may_repeat(text)


@pytest.mark.parametrize("seed", range(5))
def test_the_quick_look_clears_honest_text(seed: int) -> None:
    text = honest(30_000, seed)
    assert not slow(text)
    assert not may_repeat(text)


def test_short_texts_are_always_looked_at() -> None:
    assert may_repeat("")
    assert may_repeat("a" * SHORT)


def test_a_loop_in_reasoning(tmp_path: Path) -> None:
    before = honest(2_000, 3)
    text = before + LOOPING["phrase"]
    measured = measure(tmp_path, [make_step(4, reasoning=text, usage=counted(9_000, 1_000))])
    (found,) = measured.findings
    assert found.code == "reasoning.loop"
    assert (found.step, found.channel) == (4, "reasoning")
    assert found.start is not None
    assert abs(found.start - len(before)) < 40
    assert found.detail["kind"] == "verbatim"
    assert found.detail["copies"] >= 55
    assert found.context_tokens is not None
    assert 9_000 < found.context_tokens < 10_000
    values = measured.values["loops"]
    assert values["found"] == 1
    assert values["tokens_burnt"] > 300


def test_a_loop_in_a_file(tmp_path: Path) -> None:
    write, result = writes("bericht.md", honest(500, 4) + LOOPING["block"])
    measured = measure(tmp_path, [make_step(1, calls=[write], results=[result])])
    assert [(f.code, f.channel) for f in measured.findings] == [("text.loop", "file")]


def test_exclamation_marks_are_no_language(tmp_path: Path) -> None:
    measured = measure(tmp_path, [make_step(1, content="!" * 300)])
    assert [f.code for f in measured.findings] == ["text.degenerate"]


def test_what_the_server_told_is_not_told_twice(tmp_path: Path) -> None:
    told = finding("reasoning.loop", channel="reasoning", detail={"by": "server"})
    step = make_step(1, reasoning=LOOPING["phrase"], findings=[told])
    measured = measure(tmp_path, [step])
    assert measured.findings == []
    assert measured.values["loops"]["found"] == 1


def test_repetition_in_nothing() -> None:
    assert repetition_in("") == ([], None)


def reworded(seed: int, characters: int) -> str:
    """The same few sentences again and again in shuffled order, never word for word in a row."""
    rng = random.Random(seed)
    sentences = [s.strip() + ". " for s in honest(4_000, 77).split(".") if s.strip()]
    parts: list[str] = []
    while sum(map(len, parts)) < characters:
        parts += rng.sample(sentences, len(sentences))
    return "".join(parts)[:characters]


def test_rewording_is_judged_against_the_other_trials(tmp_path: Path) -> None:
    series = make_series(tmp_path / "series", make_task(tmp_path / "task"), repeats=10)
    for index in range(1, 11):
        text = honest(22_000, 100 + index)
        if index == 4:
            text = honest(8_000, 104) + reworded(1, 14_000)
        steps = [make_step(1, reasoning=text, usage=counted(30_000, 6_000))]
        write_trial(series, index, Written(steps))
    scores = score_series(series, detect_languages=False)
    assert scores["loops"]["blocks_judged"] == 10
    assert scores["loops"]["reworded"] == 1
    counts = {t["index"]: t["finding_counts"] for t in scores["trials"]}
    assert counts.pop(4)["reasoning.reworded_loop"] == 1
    assert not any("reasoning.reworded_loop" in count for count in counts.values())
    (found,) = [
        f for f in scores["trials"][3]["findings"] if f["code"] == "reasoning.reworded_loop"
    ]
    assert found["detail"]["basis"] in ("same_length", "regression")
    assert len(found["detail"]["measured"]) >= 2


def test_a_runaway_is_no_loop(tmp_path: Path) -> None:
    series = make_series(tmp_path / "series", make_task(tmp_path / "task"), repeats=4)
    for index in range(1, 5):
        words = 200_000 if index == 3 else 12_000
        rng = random.Random(index)
        text = " ".join(f"w{rng.randrange(10**6)}" for _ in range(words // 8))
        write_trial(series, index, Written([make_step(1, reasoning=text)]))
    block = score_series(series, detect_languages=False)["loops"]
    assert [(r["trial"], r["step"]) for r in block["runaways"]] == [(3, 1)]
    assert block["reworded"] == 0
