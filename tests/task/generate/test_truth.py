"""True points follow from what the documents say, by the rules that the rubric states."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from evalstab.task.generate.facts import read_facts
from evalstab.task.generate.request import DIFFICULTIES
from evalstab.task.load import load_task
from tests.task.generate.making import KINDS, inputs, made
from tests.task.generate.reader import Reader


@pytest.mark.parametrize("difficulty", DIFFICULTIES)
@pytest.mark.parametrize(("domain", "language"), KINDS)
def test_a_reader_who_follows_the_rubric_finds_the_truth(
    domain: str, language: str, difficulty: str, tmp_path: Path
) -> None:
    for seed in (1, 2, 3):
        folder = made(
            tmp_path / str(seed),
            domain=domain,
            language=language,
            difficulty=difficulty,
            seed=seed,
            candidates=7,
            context=14_000 + 9_000 * seed,
        )
        texts = inputs(folder)
        rubric = next(text for path, text in texts.items() if path.startswith("rubri"))
        truth = json.loads((folder / "truth.json").read_bytes())
        reader = Reader(rubric, f"{domain}-{language}")
        for path, text in texts.items():
            if "/" in path:
                candidate = Path(path).stem
                assert reader.points(text) == truth["criteria"][candidate], (seed, candidate)


def test_without_the_ground_rules_hard_tasks_are_misread(tmp_path: Path) -> None:
    folder = made(tmp_path / "t", difficulty="hard", candidates=6, context=20_000)
    truth = json.loads((folder / "truth.json").read_bytes())
    texts = inputs(folder)
    reader = Reader(texts["rubrik.md"], "applicants-de")
    wrong = 0
    for path, text in texts.items():
        if "/" in path:
            first = {key: said[0].points for key, said in reader.claims(text).items() if said}
            wrong += sum(truth["criteria"][Path(path).stem][key] != p for key, p in first.items())
    assert wrong >= 6


def test_totals_and_order_follow_from_the_points(tmp_path: Path) -> None:
    folder = made(tmp_path / "t", difficulty="hard", candidates=9)
    truth = json.loads((folder / "truth.json").read_bytes())
    assert truth["totals"] == {c: sum(points.values()) for c, points in truth["criteria"].items()}
    totals = [[truth["totals"][c] for c in group] for group in truth["order"]]
    assert all(len(set(group)) == 1 for group in totals)
    assert [group[0] for group in totals] == sorted({t for g in totals for t in g}, reverse=True)
    assert len(truth["order"][0]) == 1


def test_the_same_seed_asks_the_same_question_at_every_size_and_in_both_languages(
    tmp_path: Path,
) -> None:
    folders = [
        made(tmp_path / "small", difficulty="hard"),
        made(tmp_path / "large", difficulty="hard", context=40_000),
        made(tmp_path / "english", difficulty="hard", language="en"),
    ]
    truths = [json.loads((folder / "truth.json").read_bytes()) for folder in folders]
    assert truths[0] == truths[1] == truths[2]
    assert _names(folders[0]) == _names(folders[1])


def _names(folder: Path) -> list[str | None]:
    return [candidate.name for candidate in load_task(folder).spec.candidates]


def test_every_fact_stands_where_the_fact_sheet_says(tmp_path: Path) -> None:
    folder = made(tmp_path / "t", difficulty="hard", candidates=6, context=30_000)
    sheet = read_facts(folder)
    assert sheet is not None
    texts = inputs(folder)
    for fact in sheet.facts:
        piece = texts[fact.file][fact.start : fact.end]
        assert "\n" not in piece
        assert piece.strip() == piece
        assert fact.value is None or fact.value.split()[0] in piece
        before = texts[fact.file][: fact.start].rpartition("\n## ")[2]
        assert ("Fremdbeleg" in before) is (fact.origin == "third")
        assert f"{fact.date.day}. " in before
        assert str(fact.date.year) in before
    depths = [fact.depth for fact in sheet.facts]
    assert depths == sorted(depths)
    assert depths[0] < 0.25
    assert depths[-1] > 0.9


def test_contradictions_stand_far_apart(tmp_path: Path) -> None:
    folder = made(tmp_path / "t", difficulty="hard", candidates=8, context=40_000)
    sheet = read_facts(folder)
    assert sheet is not None
    texts = inputs(folder)
    distances = []
    for wrong in (fact for fact in sheet.facts if fact.role == "overruled"):
        (right,) = [
            fact
            for fact in sheet.facts
            if (fact.file, fact.criterion, fact.role) == (wrong.file, wrong.criterion, "counts")
        ]
        assert right.points != wrong.points
        distances.append(abs(right.start - wrong.start) / len(texts[wrong.file]))
    assert len(distances) > 15
    assert sorted(distances)[len(distances) // 2] > 0.4
