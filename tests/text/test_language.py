"""Sentences of other languages, on labelled sentences and on small cases."""

import json
from itertools import permutations
from pathlib import Path

import pytest

from evalstab.text.expected import Expectation
from evalstab.text.inputs import InputIndex
from evalstab.text.language import channel_language, decidable, scan_languages
from evalstab.text.prose import sentences

FIXTURE = Path(__file__).parents[2] / "fixtures" / "text" / "sentences.jsonl"
ROWS = [json.loads(line) for line in FIXTURE.read_text(encoding="utf-8").splitlines()]
DE = Expectation("de")
LATIN = ("de", "en", "fr", "es", "pl")
ENGLISH = "The applicant has led two teams and knows the tax rules of both countries very well."
GERMAN = "Die Bewerberin hat zwei Teams geleitet und kennt die Steuerregeln beider Länder gut."


def labelled(language: str, size: str = "ML") -> list[str]:
    """Labelled sentences of a language; sizes S, M, L."""
    return [r["text"] for r in ROWS if r["lang"] == language and r["len_class"] in size]


@pytest.mark.parametrize("language", LATIN)
def test_own_sentences_are_never_flagged(language: str) -> None:
    own = labelled(language, "SML")
    assert own
    assert [t for t in own if scan_languages(t, Expectation(language))] == []


@pytest.mark.parametrize(("expected", "other"), [*permutations(LATIN, 2)])
def test_long_sentences_of_others_are_found(expected: str, other: str) -> None:
    texts = labelled(other, "L")
    found = [scan_languages(text, Expectation(expected)) for text in texts]
    hits = [spans[0].detail["language"] for spans in found if spans]
    assert len(hits) >= 0.95 * len(texts)
    assert hits.count(other) >= 0.95 * len(hits)


@pytest.mark.parametrize("language", ["ru", "uk", "sr", "el", "ar", "he", "ja", "ko", "zh", "th"])
def test_latin_sentence_in_a_text_of_another_script(language: str) -> None:
    (span,) = scan_languages(ENGLISH, Expectation(language))
    assert span.detail["language"] == "en"


@pytest.mark.parametrize("language", ["nl", "it", "pt", "cs", "tr", "vi", "ro", "hu", "sv", "da"])
def test_english_sentence_in_other_latin_languages(language: str) -> None:
    (span,) = scan_languages(ENGLISH, Expectation(language))
    assert (span.detail["language"], span.tier) == ("en", "sure")


def test_sentence_in_a_paragraph_is_found_with_its_bounds() -> None:
    text = f"{GERMAN} {ENGLISH} Danach folgt Profil neun."
    (span,) = scan_languages(text, DE)
    assert text[span.start : span.end] == ENGLISH
    assert (span.tier, span.script, span.detail["language"]) == ("sure", "Latin", "en")


def test_neighbouring_sentences_are_one_span() -> None:
    text = f"{ENGLISH} {ENGLISH}\n\n{ENGLISH}"
    assert len(scan_languages(text, DE)) == 2


def test_short_sentences_are_probable_or_not_judged() -> None:
    (span,) = scan_languages("It is not what they wanted to do.", DE)
    assert span.tier == "probable"
    assert scan_languages("Wait, no.", DE) == []
    assert scan_languages("Wait, das stimmt nicht.", DE) == []


def test_clause_inside_a_sentence_is_probable() -> None:
    text = (
        "Der Bewerber schreibt in der Mail that he would like to start as soon as possible und"
        " bittet deshalb um einen frühen Termin in der nächsten Woche."
    )
    (span,) = scan_languages(text, DE)
    assert span.tier == "probable"
    assert span.detail["clause"] is True
    assert "would like to start as soon as" in text[span.start : span.end]


def test_list_of_terms_is_at_most_probable() -> None:
    terms = "literal, locale, shell, shell-always, escape, share, verbose, export"
    assert all(span.tier == "probable" for span in scan_languages(terms, DE))


def test_what_stood_in_an_input_is_copied() -> None:
    inputs = InputIndex([f"Experience:\n- {ENGLISH[:-1]}\n- Team of five"])
    (span,) = scan_languages(f'Im Profil steht: "{ENGLISH}"', DE, inputs)
    assert span.copied is True
    shortened = ENGLISH.replace("The applicant has", "She has").replace(" very well", "")
    assert scan_languages(shortened, DE, inputs)[0].copied is True
    (other,) = scan_languages(ENGLISH.replace("two teams", "no team at all ever"), DE, inputs)
    assert scan_languages(labelled("en", "L")[0], DE, inputs)[0].copied is False
    assert other.detail["language"] == "en"


def test_code_urls_and_tables_are_not_prose() -> None:
    text = (
        f"```\n{ENGLISH}\n```\nSiehe `{ENGLISH}` und https://example.org/the/list/of/all/rules\n"
        "| Frontend Developer | Backend Developer | Senior Data Engineer |\n"
    )
    assert scan_languages(text, DE) == []


def test_japanese_expects_no_chinese_sentence() -> None:
    ja = Expectation("ja")
    (span,) = scan_languages("资料已经确认，请尽快决定优先级。", ja)
    assert span.detail["language"] == "zh-Hans"
    assert scan_languages("会議は明日です。資料を確認してください。東京都。", ja) == []
    assert [t for t in labelled("ja", "SML") if scan_languages(t, ja)] == []


def test_chinese_variant_matters_only_where_it_is_named() -> None:
    text = "资料已经确认，请尽快决定优先级，谢谢大家的帮助。"
    assert scan_languages(text, Expectation("zh")) == []
    assert scan_languages(text, Expectation("zh-Hans")) == []
    spans = scan_languages(text, Expectation("zh-Hant"))
    assert {span.detail["language"] for span in spans} == {"zh-Hans"}
    assert [t for t in labelled("zh", "SML") if scan_languages(t, Expectation("zh"))] == []


def test_unknown_to_the_detectors_gives_nothing() -> None:
    assert scan_languages(ENGLISH, Expectation("yi")) == []


def test_channel_language() -> None:
    chinese = "".join(labelled("zh", "ML"))
    thinks = channel_language(chinese, DE)
    assert (thinks.language, thinks.switched) == ("zh", True)
    english = channel_language(" ".join(labelled("en", "L")), DE)
    assert (english.language, english.switched) == ("en", True)
    mixed = channel_language("\n".join([GERMAN] * 20 + [ENGLISH]), DE)
    assert (mixed.language, mixed.switched) == ("de", False)
    assert 0 < mixed.shares["en"] < 0.1
    japanese = channel_language("".join(labelled("ja", "ML")), Expectation("ja"))
    assert (japanese.language, japanese.switched) == ("ja", False)


def test_channel_language_of_little_text_is_unknown() -> None:
    short = channel_language("Fertig.", DE)
    assert (short.language, short.switched) == (None, None)
    assert short.reason


@pytest.mark.parametrize(
    ("words", "answer"),
    [
        ("wir lesen nun das nächste Profil", True),
        ("Senior Data Engineer Frankfurt", False),
        ("das ist so", False),
        ("Der Product Owner priorisiert das Backlog", False),
    ],
)
def test_decidable(words: str, answer: bool) -> None:
    assert decidable(tuple(words.split())) is answer


def test_same_answer_every_time() -> None:
    texts = labelled("en", "M") + labelled("fr", "M")
    first = [scan_languages(text, DE) for text in texts]
    assert [scan_languages(text, DE) for text in reversed(texts)] == first[::-1]


def test_sentences_keep_their_places() -> None:
    text = "- Z. B. steht das\n- in `a b c d` und v2.0; danach (mehr folgt hier noch einmal)."
    for sentence in sentences(text):
        for word, (start, end) in zip(sentence.words, sentence.places, strict=True):
            assert text[start:end] == word
            assert sentence.start <= start < end <= sentence.end


def test_a_settled_language_needs_no_second_vote_for_short_sentences() -> None:
    text = "\n".join([ENGLISH] * 3 + ["It is not what they wanted to do."])
    assert [span.tier for span in scan_languages(text, DE)] == ["sure"] * 3 + ["probable"]


def test_short_sentences_that_are_long_together_are_sure() -> None:
    short = "Therefore it ranks first here. It is good and it is cheap too."
    spans = scan_languages(short, Expectation("de"))
    assert [(span.start, span.end, span.tier) for span in spans] == [(0, len(short), "sure")]
    alone = "It is good and it is cheap too. Die Werkstatt liegt am Rand der alten Stadt."
    assert all(span.tier == "probable" for span in scan_languages(alone, Expectation("de")))
    apart = short.replace(". ", ".\n\n")
    assert all(span.tier == "probable" for span in scan_languages(apart, Expectation("de")))
