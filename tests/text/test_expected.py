"""What a language tag allows."""

import pytest

from evalstab.text.expected import Expectation, known_languages


@pytest.mark.parametrize(
    ("tag", "scripts"),
    [
        ("de", {"Latn"}),
        ("de-AT", {"Latn"}),
        ("en_US", {"Latn"}),
        ("sr", {"Latn", "Cyrl"}),
        ("sr-Latn", {"Latn"}),
        ("uz-Cyrl", {"Latn", "Cyrl"}),
        ("ja", {"Latn", "Hani", "Hira", "Kana"}),
        ("zh-Hant-TW", {"Latn", "Hani", "Bopo"}),
        ("ko", {"Latn", "Hang"}),
        ("IW", {"Latn", "Hebr"}),
    ],
)
def test_scripts(tag: str, scripts: set[str]) -> None:
    assert Expectation(tag).scripts == scripts


def test_every_known_language_is_usable() -> None:
    for tag in known_languages():
        expectation = Expectation(tag)
        assert "Latn" in expectation.scripts
        assert tag in expectation.candidates


@pytest.mark.parametrize(
    ("tag", "nearest"),
    [("german", "de"), ("englisch", "en"), ("xx", None), ("", None), ("djj", None)],
)
def test_unknown_language_names_the_nearest(tag: str, nearest: str | None) -> None:
    with pytest.raises(ValueError, match=r"unknown language .* the nearest known one is") as caught:
        Expectation(tag)
    if nearest:
        assert str(caught.value).endswith(repr(nearest))


def test_unknown_script_names_the_nearest() -> None:
    with pytest.raises(ValueError, match=r"unknown script 'Cyrilic'; .* 'Cyrillic'"):
        Expectation("de", ("Cyrilic",))


def test_candidates_leave_out_close_relatives() -> None:
    assert "nl" not in Expectation("de").candidates
    assert "nl" in Expectation("nl").candidates
    assert "cs" not in Expectation("sk").candidates
    assert "ru" in Expectation("uk").candidates


def test_gates() -> None:
    gates = {tag: Expectation(tag).gate for tag in ("de", "ru", "zh", "ja", "ko", "ar", "th")}
    assert gates == {
        "de": "words",
        "ru": "words",
        "zh": "han",
        "ja": "kana",
        "ko": "hangul",
        "ar": "letters",
        "th": "letters",
    }
