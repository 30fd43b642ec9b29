"""Numbers that no ranking means: they are refused, the trial is scored all the same."""

from __future__ import annotations

import pytest

from evalstab.task.numbers import LARGEST, number_in, place_in

HUGE = 10**400
"""More than a float can hold, and JSON allows it."""


@pytest.mark.parametrize("value", [HUGE, -HUGE, 1e308, float("inf"), float("nan"), LARGEST * 2])
def test_a_number_beyond_all_bounds_is_no_total_and_no_place(value: float) -> None:
    assert number_in(value) is None
    assert place_in(value) is None
