"""Whole texts are cut by tables, deltas by a regular expression: both cut alike."""

from hypothesis import given, settings
from hypothesis import strategies as st

from evalstab.text.tokens import iterate_tokens, token_keys, tokenise

POOLS = (
    "aäößAÄ  \n\t.,;!!!---|=_#„“–€é\u0301\u0308ıяЖ1²½'\"()",
    "漢字かカ\u0301\u0308\u3099ไทย\u0e31abc  !!",
    "\u0301\u0301漢aA \ud800\U000e0100\U0001f600\U00030000",
)
TEXTS = st.one_of(
    st.text(),
    *(st.lists(st.sampled_from(pool), max_size=300).map("".join) for pool in POOLS),
    st.integers(0, 130).map(lambda n: "x" * n + " yx" + "!" * n),
)


@settings(max_examples=300, deadline=None)
@given(TEXTS)
def test_tables_and_expression_cut_alike(text: str) -> None:
    pieces = list(iterate_tokens(text))
    tokens = tokenise(text)
    assert list(zip(tokens.starts, tokens.ends, strict=True)) == [p[1:] for p in pieces]
    numbers: dict[str, int] = {}
    words = (_folded(word) for word, _, _ in pieces)
    assert list(tokens.ids) == [numbers.setdefault(word, len(numbers)) for word in words]
    keys = token_keys(text)
    assert len(set(keys.tolist())) == len(numbers)


def _folded(word: str) -> str:
    """Lower and upper case alike, one character for one."""
    return "".join(c.casefold() if len(c.casefold()) == 1 else c for c in word)


def test_a_token_is_a_word_a_number_or_a_run_of_one_symbol() -> None:
    words = [word for word, _, _ in iterate_tokens("Don't!!! 12 | ## 漢字")]
    assert words == ["Don", "'", "t", "!!!", "12", "漢", "字"]
    assert list(tokenise("A a b A!").ids) == [0, 0, 1, 0, 2]
