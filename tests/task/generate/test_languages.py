"""Cases, endings, contractions and figures of German; articles and figures of English."""

from __future__ import annotations

from datetime import date

import pytest

from evalstab.task.generate import english, german
from evalstab.task.generate.lexicon import Action, Noun, Person, lexicon_for
from evalstab.task.generate.prose import tidy
from evalstab.task.generate.request import DOMAINS

PLAN, LISTE, FASS = Noun("Dienstplan", "m"), Noun("Liste", "f"), Noun("Fass", "n")
VOSS, HAGEN = Person("Birte", "Voss", female=True), Person("Ole", "Hagen", female=False)


@pytest.mark.parametrize(
    ("noun", "adjective", "options", "expected"),
    [
        (PLAN, "alt", "nom", "der alte Dienstplan"),
        (PLAN, "alt", "gen", "des alten Dienstplans"),
        (PLAN, "alt", "dat", "dem alten Dienstplan"),
        (PLAN, "alt", "akk", "den alten Dienstplan"),
        (PLAN, "alt", "ein.nom", "ein alter Dienstplan"),
        (PLAN, "alt", "ein.akk", "einen alten Dienstplan"),
        (PLAN, None, "ein.dat", "einem Dienstplan"),
        (LISTE, "neu", "nom", "die neue Liste"),
        (LISTE, "neu", "gen", "der neuen Liste"),
        (LISTE, "neu", "akk", "die neue Liste"),
        (LISTE, "neu", "ein.dat", "einer neuen Liste"),
        (LISTE, "neu", "ein.akk", "eine neue Liste"),
        (FASS, "zweit", "nom", "das zweite Fass"),
        (FASS, None, "gen", "des Fasses"),
        (FASS, "zweit", "ein.akk", "ein zweites Fass"),
        (FASS, "zweit", "ein.dat", "einem zweiten Fass"),
        (FASS, "zweit", "bare", "Fass"),
    ],
)
def test_german_noun_phrases(
    noun: Noun, adjective: str | None, options: str, expected: str
) -> None:
    assert german.phrase(noun, adjective, tuple(options.split("."))) == expected


@pytest.mark.parametrize(
    ("preposition", "text", "expected"),
    [
        ("in", "dem Hof", "im Hof"),
        ("In", "dem alten Hof", "Im alten Hof"),
        ("zu", "der Rampe", "zur Rampe"),
        ("von", "dem Tor", "vom Tor"),
        ("in", "das Büro", "ins Büro"),
        ("in", "der Halle", "in der Halle"),
        ("von", "Frau Voss", "von Frau Voss"),
        ("bei", "einem Regal", "bei einem Regal"),
    ],
)
def test_german_contractions(preposition: str, text: str, expected: str) -> None:
    assert german.after(preposition, text) == expected


def test_german_people_figures_and_dates() -> None:
    assert german.person(HAGEN, ("nom",)) == "Herr Hagen"
    assert german.person(HAGEN, ("dat",)) == "Herrn Hagen"
    assert german.person(VOSS, ("akk",)) == "Frau Voss"
    assert (german.pronoun(VOSS), german.pronoun(HAGEN)) == ("sie", "er")
    assert german.number(1_340_000, 0) == "1.340.000"
    assert german.number(96.4, 1) == "96,4"
    months = lexicon_for("de", "bids").lists["months"]
    assert german.day(date(2024, 3, 14), months) == "14. März 2024"
    assert german.day(date(2024, 5, 1), months, year=False) == "1. Mai"
    assert german.clock(425) == "7.05 Uhr"


@pytest.mark.parametrize(
    ("word", "adjective", "expected"),
    [
        ("desk", None, "a desk"),
        ("office", None, "an office"),
        ("office", "small", "a small office"),
        ("desk", "old", "an old desk"),
        ("carton", "unlabelled", "an unlabelled carton"),
        ("carton", "used", "a used carton"),
    ],
)
def test_english_articles(word: str, adjective: str | None, expected: str) -> None:
    assert english.phrase(Noun(word), adjective, ("a",)) == expected
    assert english.phrase(Noun(word), None, ()) == f"the {word}"


def test_english_figures_and_dates() -> None:
    assert english.number(1_340_000, 0) == "1,340,000"
    assert english.number(96.4, 1) == "96.4"
    months = lexicon_for("en", "bids").lists["months"]
    assert english.day(date(2024, 3, 14), months) == "14 March 2024"
    assert english.clock(425) == "7:05"
    assert english.person(VOSS, ("dat",)) == "Ms Voss"


@pytest.mark.parametrize(
    ("rough", "expected"),
    [
        ("er legte  den Plan ab .", "Er legte den Plan ab."),
        ("„ich habe es“ , sagte er", "„Ich habe es“, sagte er"),
        ("  zwei  Worte ", "Zwei Worte"),
        ("12 Kisten", "12 Kisten"),
    ],
)
def test_tidying(rough: str, expected: str) -> None:
    assert tidy(rough) == expected


@pytest.mark.parametrize("domain", DOMAINS)
def test_both_languages_word_the_same_things(domain: str) -> None:
    first, second = lexicon_for("de", domain), lexicon_for("en", domain)
    assert set(first.wording) == set(second.wording) == {m.id for m in first.measured}
    assert set(first.nouns) == set(second.nouns)
    assert set(first.actions) == set(second.actions) == set(first.titles)
    assert set(first.lists["topics"]) == set(first.actions)
    for m in first.measured:
        assert len(m.points) == 6
        assert m.points[0] == 0
        assert list(m.points) == sorted(set(m.points))
        assert len(m.bands or first.wording[m.id].words) == 6
        assert first.wording[m.id].fewer == second.wording[m.id].fewer
        assert len(first.wording[m.id].words) == len(second.wording[m.id].words)


@pytest.mark.parametrize("domain", DOMAINS)
def test_every_german_noun_has_a_gender_and_every_action_an_object(domain: str) -> None:
    lexicon = lexicon_for("de", domain)
    for nouns in lexicon.nouns.values():
        assert all(noun.gender in {"m", "f", "n"} for noun in nouns)
    actions: list[Action] = [a for group in lexicon.actions.values() for a in group]
    assert all("{" in action.rest for action in actions)
    assert all(action.participle.startswith(action.prefix) for action in actions)
