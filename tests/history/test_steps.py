"""Steps: found where a level changed, seldom where none did, never moved by one wild night."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalstab.history.steps import ALPHA, steps, steps_together


def test_a_clear_step_is_found_where_it_is() -> None:
    dice = np.random.default_rng(3)
    values = [*dice.normal(0.9, 0.02, 14), *dice.normal(0.6, 0.02, 8)]
    found = steps(values)
    assert [step.at for step in found] == [14]
    assert found[0].before == pytest.approx(0.9, abs=0.03)
    assert found[0].after == pytest.approx(0.6, abs=0.03)
    assert found[0].p <= 0.01


def test_two_steps_are_found_one_after_the_other() -> None:
    dice = np.random.default_rng(4)
    levels = [(0.9, 14), (0.5, 14), (0.8, 14)]
    values = [x for level, n in levels for x in dice.normal(level, 0.02, n)]
    assert [step.at for step in steps(values)] == [14, 28]


def test_one_wild_night_is_no_step() -> None:
    dice = np.random.default_rng(5)
    values = list(dice.normal(0.9, 0.02, 25))
    values[12] = -0.9
    assert steps(values) == ()


def test_quiet_nights_show_a_step_about_as_often_as_alpha_says() -> None:
    dice = np.random.default_rng(6)
    false = sum(bool(steps(dice.normal(0, 1, 25).tolist())) for _ in range(300))
    assert false <= 12  # 3 expected; P(more than 12) is below 1e-4


def test_a_clear_step_lies_where_it_is_also_after_a_high_night() -> None:
    low = [0.0, 0.1, 0.05, 0.02, 0.07, 0.11, 0.03, 0.01, 0.04, 0.06, 0.08, 0.09, 0.1, 0.5]
    assert [step.at for step in steps([*low, 9.0, 9.1, 9.2, 9.05, 9.3])] == [14]


def test_too_few_or_equal_nights_show_none() -> None:
    assert steps([]) == ()
    assert steps([0.9, 0.9, 0.9, 0.1, 0.1]) == ()
    assert steps([0.5] * 40) == ()


def test_the_answer_is_the_same_twice() -> None:
    values = [0.8, 0.9, 0.85, 0.8, 0.7, 0.4, 0.3, 0.35, 0.3, 0.2, 0.3, 0.31, 0.8, 0.2]
    assert steps(values) == steps(values)


@given(st.lists(st.floats(-1e9, 1e9), max_size=40))
def test_steps_lie_inside_and_apart(values: list[float]) -> None:
    found = steps(values)
    places = [0, *(step.at for step in found), len(values)]
    assert not found or all(b - a >= 3 for a, b in pairwise(places))
    assert all(0 < step.p <= 0.01 for step in found)


def test_more_numbers_are_no_more_false_alarms() -> None:
    dice = np.random.default_rng(7)
    nights = [dice.normal(0, 1, (8, 25)).tolist() for _ in range(200)]
    alone = sum(any(steps(values) for values in numbers) for numbers in nights)
    together = sum(any(steps_together(numbers)) for numbers in nights)
    assert alone >= 8  # 16 expected of eight numbers that are each judged at 1 %
    assert together <= 7  # 2 expected; P(more than 7) is below 1e-3


def test_a_number_that_never_varies_costs_the_others_nothing() -> None:
    dice = np.random.default_rng(8)
    moved = [*dice.normal(0.9, 0.02, 12), *dice.normal(0.7, 0.02, 4)]
    assert ALPHA / 7 < steps(moved)[0].p <= ALPHA
    quiet: list[float] = [1.0] * 16
    assert steps_together([moved]) == [steps(moved)]
    assert steps_together([quiet, moved, [0.0] * 16, quiet, quiet, quiet, []])[1] == steps(moved)
    noisy = [dice.normal(0, 1, 16).tolist() for _ in range(6)]
    assert steps_together([moved, *noisy])[0] == ()


def test_a_step_in_all_numbers_is_told_in_all() -> None:
    dice = np.random.default_rng(9)
    numbers = [[*dice.normal(0, 1, 14), *dice.normal(9, 1, 5)] for _ in range(5)]
    assert [[step.at for step in found] for found in steps_together(numbers)] == [[14]] * 5
    assert steps_together([]) == []
