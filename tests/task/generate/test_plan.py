"""Difficulty shows in margins, ties, contradictions and decoys; the reading order says nothing."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from statistics import fmean

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evalstab.task.generate.chance import Chance, Decks
from evalstab.task.generate.lexicon import lexicon_for
from evalstab.task.generate.order import reading_order, unlike_alphabet, upset
from evalstab.task.generate.plan import DIFFICULTIES, Standing, standings
from evalstab.task.generate.request import DOMAINS
from evalstab.task.load import load_task
from tests.task.generate.making import made


def _standings(domain: str, difficulty: str, candidates: int, seed: int) -> list[Standing]:
    measured = lexicon_for("de", domain).measured
    return standings(measured, candidates, DIFFICULTIES[difficulty], Chance(seed))


def _gaps(domain: str, difficulty: str, candidates: int, seeds: range) -> list[int]:
    return [
        above.total - below.total
        for seed in seeds
        for above, below in pairwise(_standings(domain, difficulty, candidates, seed))
    ]


@pytest.mark.parametrize("candidates", [8, 11, 20])
@pytest.mark.parametrize("domain", DOMAINS)
def test_margins_shrink_and_ties_appear_with_difficulty(domain: str, candidates: int) -> None:
    easy, medium, hard = (
        _gaps(domain, difficulty, candidates, range(20)) for difficulty in DIFFICULTIES
    )
    assert fmean(easy) > fmean(medium) + 0.5 > fmean(hard) + 0.5
    assert min(easy) >= 2
    assert 0 < medium.count(0) < hard.count(0)


@pytest.mark.parametrize("difficulty", DIFFICULTIES)
@pytest.mark.parametrize("domain", DOMAINS)
@pytest.mark.parametrize("candidates", [3, 60])
def test_totals_fall_and_fit_the_rubric(domain: str, difficulty: str, candidates: int) -> None:
    measured = lexicon_for("de", domain).measured
    most = sum(m.points[-1] for m in measured)
    for seed in range(5):
        found = [s.total for s in _standings(domain, difficulty, candidates, seed)]
        assert found == sorted(found, reverse=True)
        assert found[0] > found[1]
        assert 0 < found[-1] <= found[0] <= most


def test_hard_tasks_have_more_contradictions_asides_and_decoys() -> None:
    counted: dict[str, dict[str, int]] = {}
    for difficulty in DIFFICULTIES:
        said = [
            statement.role
            for standing in _standings("bids", difficulty, 12, 4)
            for statement in standing.statements
        ]
        counted[difficulty] = {role: said.count(role) for role in ("overruled", "aside", "decoy")}
    for role in ("overruled", "aside", "decoy"):
        assert counted["easy"][role] < counted["medium"][role] < counted["hard"][role]
    assert counted["easy"]["overruled"] == 0


def test_weak_candidates_impress_most_in_hard_tasks() -> None:
    found = _standings("applicants", "hard", 10, 1)
    decoys = [sum(s.role == "decoy" for s in standing.statements) for standing in found]
    assert max(decoys[:5]) < min(decoys[5:])


@given(st.integers(3, 60), st.integers())
@settings(max_examples=60, deadline=None)
def test_the_reading_order_is_no_echo(candidates: int, seed: int) -> None:
    order = reading_order(candidates, Chance(seed))
    assert sorted(order) == list(range(candidates))
    assert 0.25 <= upset(order) <= 0.75


def test_the_reading_order_is_unrelated_to_the_ranking_on_average() -> None:
    shares = [upset(reading_order(6, Chance("order", seed))) for seed in range(400)]
    assert abs(fmean(shares) - 0.5) < 0.03


@given(st.lists(st.text(min_size=1), min_size=3, max_size=20, unique=True), st.integers())
@settings(max_examples=40, deadline=None)
def test_names_do_not_give_the_order_away(names: list[str], seed: int) -> None:
    order = unlike_alphabet(names, range(len(names)), Chance(seed))
    dealt = [names[position] for position in order]
    assert sorted(dealt) == sorted(names)
    assert dealt not in (sorted(names), sorted(names, reverse=True))


def test_the_order_of_the_task_is_neither_that_of_the_truth_nor_alphabetical(
    tmp_path: Path,
) -> None:
    for seed in range(6):
        task = load_task(made(tmp_path / str(seed), seed=seed, candidates=4, context=6_000))
        assert task.truth is not None
        ranked = [candidate for group in task.truth.order for candidate in group]
        assert ranked not in (list(task.candidates), list(task.candidates)[::-1])
        names = [candidate.name or "" for candidate in task.spec.candidates]
        assert names != sorted(names)


def test_draws_depend_on_the_key_alone() -> None:
    one, again, other = Chance("a", 1), Chance("a", 1), Chance("a1")
    draws = [one.number(1, 6) for _ in range(30)]
    assert draws == [again.number(1, 6) for _ in range(30)]
    assert draws != [other.number(1, 6) for _ in range(30)]
    assert set(draws) == {1, 2, 3, 4, 5, 6}
    with pytest.raises(IndexError):
        one.pick([])


def test_a_deck_deals_everything_before_it_begins_again() -> None:
    decks = Decks(Chance("deck"))
    dealt = [decks.deal("x", "abcd") for _ in range(8)]
    assert sorted(dealt[:4]) == sorted(dealt[4:]) == list("abcd")
