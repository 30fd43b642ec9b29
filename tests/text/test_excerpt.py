"""Excerpts that nothing can break out of."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalstab.text.excerpt import excerpt, for_html, for_markdown, for_terminal, visible

HOSTILE = st.text(
    alphabet=st.one_of(
        st.characters(), st.sampled_from("\u202e\u2066\x1b\x00\n\u0301`|<>*_[]()&\u200d\ufe0f👩💻")
    ),
    max_size=300,
)


def test_span_is_marked_with_its_context() -> None:
    text = "Die Kandidatin erfüllt 符合要求 und ist sofort verfügbar."
    start = text.index("符")
    shown = excerpt(text, start, start + 4)
    assert shown == "… Kandidatin erfüllt ⟦符合要求⟧ und ist sofort verf…"


def test_whole_text_has_no_ellipsis() -> None:
    assert excerpt("ab", 0, 1) == "⟦a⟧b"
    assert excerpt("", 0, 0) == "⟦⟧"
    assert excerpt("ab", -5, 99) == "⟦ab⟧"


def test_invisible_characters_are_written_out() -> None:
    text = "Zugriff auf \u202egpj.exe\x1b[31m\n"
    assert excerpt(text, 12, 13) == "Zugriff auf ⟦<U+202E>⟧gpj.exe<U+001B>[31m⏎"


def test_combining_floods_are_cut() -> None:
    shown = excerpt("a" + "\u0301" * 5000, 0, 5001)
    assert sum(map(bool, map(unicodedata.combining, shown))) <= 6
    assert len(shown) <= 200


def test_emoji_sequences_stay_whole() -> None:
    assert excerpt("👩\u200d💻 ja", 0, 3) == "⟦👩\u200d💻⟧ ja"


def test_long_span_keeps_both_ends() -> None:
    shown = excerpt("A" + "x" * 1000 + "Z", 0, 1002)
    assert len(shown) <= 200
    assert shown.startswith("⟦Ax")
    assert shown.endswith("xZ⟧")


def test_markdown_and_html_are_escaped() -> None:
    assert for_markdown("a|b `c` <b> [x](y)") == "a\\|b \\`c\\` &lt;b\\> \\[x\\]\\(y\\)"
    assert for_html("<script>&") == "<bdi>&lt;script&gt;&amp;</bdi>"
    assert for_terminal("\x1b[2Jx") == "<U+001B>[2Jx"


def test_too_small_a_limit_is_refused() -> None:
    with pytest.raises(ValueError, match="at least 20"):
        excerpt("abc", 0, 1, limit=5)


@given(HOSTILE, st.integers(-5, 320), st.integers(-5, 320), st.integers(0, 40))
def test_nothing_breaks_out(text: str, start: int, end: int, context: int) -> None:
    shown = excerpt(text, start, end, context=context)
    assert len(shown) <= 200
    assert "\n" not in shown
    assert shown.count("⟦") >= 1
    for char in for_terminal(shown):
        assert char == "\u200d" or unicodedata.category(char) not in {"Cc", "Cs", "Co", "Zl", "Zp"}
        assert char not in "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200e\u200f"
    assert "<" not in for_html(shown).removeprefix("<bdi>").removesuffix("</bdi>")
    assert visible(visible(text)) == visible(text)
