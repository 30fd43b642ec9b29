"""Numbers and places as people and models write them."""

import pytest

from evalstab.task.numbers import number_after, number_in, place_in


@pytest.mark.parametrize(
    ("value", "number"),
    [
        (7, 7),
        (7.5, 7.5),
        ("7,5", 7.5),
        ("**79/160**", 79),
        ("79 von 160 Punkten", 79),
        ("-3", -3),
        ("(8)", 8),
        (True, None),
        (None, None),
        ("", None),
        ("7 apples", None),
        ("1.234,5", None),
        (float("inf"), None),
        (10**12, None),
        ([7], None),
        ("9" * 200, None),
        ("7%", None),
    ],
)
def test_numbers(value: object, number: float | None) -> None:
    assert number_in(value) == number


@pytest.mark.parametrize(
    ("value", "place"),
    [
        (1, 1),
        ("1.", 1),
        ("2nd", 2),
        ("#3", 3),
        ("🥉", 3),
        ("🥇 1", 1),
        ("T4", 4),
        (0, 0),
        ("1-2", None),
        (-1, None),
        (1.5, None),
        (True, None),
        ("", None),
        (10**30, None),
    ],
)
def test_places(value: object, place: int | None) -> None:
    assert place_in(value) == place


@pytest.mark.parametrize(
    ("text", "number"),
    [
        (": 13", 13),
        (" – 13,5 Punkte", 13.5),
        (" (13/15)", 13),
        (" is good, 13 points", 13),
        (" is good since 2019", None),
        (": 95%", None),
        ("", None),
        (" 13.5.", 13.5),
    ],
)
def test_points_behind_a_name(text: str, number: float | None) -> None:
    assert number_after(text) == number
