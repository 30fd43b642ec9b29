"""How numbers and names are written."""

from __future__ import annotations

import pytest

from evalstab.report import labels, numbers


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (numbers.count(10070.4), "10,070"),
        (numbers.count(-1234), "−1,234"),
        (numbers.decimal(-0.001), "0.00"),
        (numbers.decimal(-0.1), "−0.10"),
        (numbers.significant(83.14), "83.1"),
        (numbers.significant(2010.4), "2,010"),
        (numbers.significant(9996), "10,000"),
        (numbers.significant(0.35), "0.350"),
        (numbers.significant(0), "0"),
        (numbers.plain(0.5), "0.5"),
        (numbers.plain(2000), "2,000"),
        (numbers.plain(0.004), "0.004"),
        (numbers.points(158.0), "158"),
        (numbers.points(2.5), "2.5"),
        (numbers.points(-0.001), "0"),
        (numbers.percent(0.4507), "45 %"),
        (numbers.percent(1), "100 %"),
        (numbers.percent(0.9999), "over 99 %"),
        (numbers.percent(0.0001), "under 1 %"),
        (numbers.interval(-0.25, 0.5), "−0.25 to 0.50"),
        (numbers.duration(4.21), "4.2 s"),
        (numbers.duration(48.2), "48 s"),
        (numbers.duration(1104.2), "18 min"),
        (numbers.duration(12_000), "3 h 20 min"),
        (numbers.context(61_920), "about 62,000 tokens"),
        (numbers.context(1_954), "about 2,000 tokens"),
        (numbers.context(812), "812 tokens"),
        (numbers.span([7, 3, 5]), "3 to 7"),
        (numbers.span([3, 3]), "3"),
        (numbers.times(1), "once"),
        (numbers.times(12), "12 times"),
        (numbers.plural(1, "trial"), "1 trial"),
        (numbers.plural(0, "trial"), "0 trials"),
    ],
)
def test_numbers(text: str, expected: str) -> None:
    assert text == expected


def test_long_names_keep_both_ends() -> None:
    shown = labels.name("model-" + "x" * 100 + "-awq-4bit")
    assert len(shown) == labels.NAME_LIMIT
    assert shown.startswith("model-")
    assert shown.endswith("-awq-4bit")


def test_what_cannot_be_seen_is_spelt_out_in_one_line() -> None:
    assert labels.visible("a\u202eb\n\tc\x1b[31m") == "a<U+202E>b c<U+001B>[31m"
