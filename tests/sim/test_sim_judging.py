"""How personas come to their totals: the five-run table, steadiness, points that add up."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalstab.sim.judge import Opinion, Question, opinion
from evalstab.sim.mind import Mind
from evalstab.sim.persona import Judgement, load
from evalstab.task.brief import opening_messages
from evalstab.task.brief_reading import Brief, parse_brief
from evalstab.task.load import load_task
from evalstab.task.model import Criterion, Truth

TASKS = Path(__file__).parents[2] / "tasks"


def _brief(name: str) -> tuple[Brief, Truth]:
    task = load_task(TASKS / name)
    brief = parse_brief(str(opening_messages(task)[-1]["content"]))
    assert brief is not None
    assert task.truth is not None
    return brief, task.truth


def _opinions(persona: str, seed: int | None, count: int, *, with_truth: bool) -> list[Opinion]:
    brief, truth = _brief("eleven-profiles")
    who = load(persona)
    seed = who.default_seed if seed is None else seed
    known = truth if with_truth else None
    return [Mind(who, seed, trial, known).opinion(brief) for trial in range(1, count + 1)]


def _tau(opinions: list[Opinion]) -> float:
    pairs = []
    for one, other in combinations(opinions, 2):
        signs = [
            (one.place(a) < one.place(b)) == (other.place(a) < other.place(b))
            for a, b in combinations(one.order, 2)
        ]
        pairs.append(2 * sum(signs) / len(signs) - 1)
    return sum(pairs) / len(pairs)


@pytest.mark.parametrize("with_truth", [True, False])
def test_the_default_seed_gives_the_five_run_table(with_truth: bool) -> None:
    five = _opinions("drifting", None, 5, with_truth=with_truth)
    assert [max(o.totals.values()) for o in five] == [158, 79, 75, 105, 80]
    assert sorted(o.winner for o in five) == ["person_06", "person_09", *["person_11"] * 3]
    places = {c: [o.place(c) for o in five] for c in five[0].order}
    moved = max(places, key=lambda c: max(places[c]) - min(places[c]))
    assert places[moved] == [5, 6, 3, 1, 7]
    assert five[3].winner == moved


@pytest.mark.parametrize("seed", [2, 3, 17])
def test_other_seeds_and_later_trials_drift_as_well(seed: int) -> None:
    ten = _opinions("drifting", seed, 10, with_truth=True)
    tops = [max(o.totals.values()) for o in ten]
    assert len({o.winner for o in ten}) >= 3
    assert max(tops) / min(tops) > 1.4
    assert _tau(ten) < 0.6
    assert tops != [max(o.totals.values()) for o in _opinions("drifting", 1, 10, with_truth=True)]


@pytest.mark.parametrize("seed", range(1, 9))
@pytest.mark.parametrize("with_truth", [True, False])
def test_steady_keeps_winner_order_and_scale_and_is_not_frozen(seed: int, with_truth: bool) -> None:
    twenty = _opinions("steady", seed, 20, with_truth=with_truth)
    tops = [max(o.totals.values()) for o in twenty]
    mean = sum(tops) / len(tops)
    deviation = (sum((top - mean) ** 2 for top in tops) / (len(tops) - 1)) ** 0.5
    assert len({o.winner for o in twenty}) == 1
    assert _tau(twenty) > 0.88
    assert deviation / mean < 0.05
    assert len({tuple(o.totals.items()) for o in twenty}) > 5


def test_perfect_gives_the_truth_and_echo_the_reading_order() -> None:
    brief, truth = _brief("eleven-profiles")
    perfect = Mind(load("perfect"), 1, 1, truth).opinion(brief)
    assert perfect.totals == truth.totals
    assert perfect.points == truth.criteria
    echo = Mind(load("echo"), 1, 4, truth).opinion(brief)
    assert list(echo.order) == [c.id for c in brief.candidates]


def test_a_cold_first_trial_differs_and_the_later_ones_are_equal() -> None:
    first, *later = _opinions("cold-first", None, 6, with_truth=True)
    assert all(o == later[0] for o in later)
    assert first != later[0]


def test_the_order_of_reading_does_not_move_a_judge() -> None:
    ids = tuple(f"c{number}" for number in range(9))
    key = (1, "steady", 3)
    one = opinion(Judgement(), Question(ids), key)
    other = opinion(Judgement(), Question(tuple(reversed(ids))), key)
    assert one.totals == other.totals
    assert one.order == other.order


criteria_lists = st.lists(
    st.tuples(st.integers(0, 3), st.sampled_from([1, 2, 5, 10, 2.5, 40])), min_size=1, max_size=20
)


@given(criteria_lists, st.integers(2, 60), st.integers(1, 50), st.sampled_from([0.0, 0.1, 0.5]))
def test_points_stay_in_range_and_add_up(
    bounds: list[tuple[int, float]], candidates: int, trial: int, noise: float
) -> None:
    criteria = tuple(
        Criterion(id=f"k{n}", title=f"k{n}", min=low, max=low + reach)
        for n, (low, reach) in enumerate(bounds)
    )
    ids = tuple(f"p{number}" for number in range(candidates))
    how = Judgement(noise=noise, keep_winner=noise < 0.2)
    found = opinion(how, Question(ids, criteria), (trial, "any"))
    assert sorted(found.order) == sorted(ids)
    totals = [found.totals[c] for c in found.order]
    assert totals == sorted(totals, reverse=True)
    for candidate in ids:
        points = found.points[candidate]
        assert sum(points.values()) == pytest.approx(found.totals[candidate])
        assert all(c.min <= points[c.id] <= c.max for c in criteria)
