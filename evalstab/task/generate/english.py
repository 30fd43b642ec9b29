"""English noun phrases, people, figures and dates."""

from __future__ import annotations

import re
from datetime import date

from evalstab.task.generate.lexicon import Noun, Person

_VOWEL = re.compile(r"[aeio]|u[mnp](?!i)", re.IGNORECASE)
PREPOSITIONS: tuple[str, ...] = ()


def phrase(noun: Noun, adjective: str | None, options: tuple[str, ...]) -> str:
    """A noun with article: "the" by default, options ("a",) for a or an, ("bare",) for none."""
    if "bare" in options:
        return noun.word
    words = f"{adjective} {noun.word}" if adjective else noun.word
    if "a" not in options:
        return f"the {words}"
    return f"{'an' if _VOWEL.match(words) else 'a'} {words}"


def after(preposition: str, text: str) -> str:
    """A preposition and what stands behind it."""
    return f"{preposition} {text}"


def person(somebody: Person, options: tuple[str, ...]) -> str:
    """Somebody with title: "Ms Calderwell"; the options play no part."""
    del options
    return f"{'Ms' if somebody.female else 'Mr'} {somebody.surname}"


def pronoun(somebody: Person) -> str:
    """The pronoun as a subject."""
    return "she" if somebody.female else "he"


def number(value: float, decimals: int) -> str:
    """A figure as it is written in English: 340,000 or 96.4."""
    return f"{value:,.{decimals}f}"


def day(when: date, months: tuple[str, ...], *, year: bool = True) -> str:
    """A date: "14 March 2024", or without the year."""
    text = f"{when.day} {months[when.month - 1]}"
    return f"{text} {when.year}" if year else text


def clock(minutes: int) -> str:
    """A time of day from minutes after midnight: "7:05"."""
    return f"{minutes // 60}:{minutes % 60:02d}"
