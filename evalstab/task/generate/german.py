"""German noun phrases, people, figures and dates."""

from __future__ import annotations

from datetime import date

from evalstab.task.generate.lexicon import Noun, Person

_CASES = {"nom": 0, "gen": 1, "dat": 2, "akk": 3}
_DEFINITE = {
    "m": ("der", "des", "dem", "den"),
    "f": ("die", "der", "der", "die"),
    "n": ("das", "des", "dem", "das"),
}
_INDEFINITE = {
    "m": ("ein", "eines", "einem", "einen"),
    "f": ("eine", "einer", "einer", "eine"),
    "n": ("ein", "eines", "einem", "ein"),
}
_WEAK = {"m": ("e", "en", "en", "en"), "f": ("e", "en", "en", "e"), "n": ("e", "en", "en", "e")}
_MIXED = {
    "m": ("er", "en", "en", "en"),
    "f": ("e", "en", "en", "e"),
    "n": ("es", "en", "en", "es"),
}
_CONTRACTIONS = {
    "in dem": "im",
    "an dem": "am",
    "zu dem": "zum",
    "zu der": "zur",
    "von dem": "vom",
    "bei dem": "beim",
    "in das": "ins",
    "an das": "ans",
}
_SEPARATORS = str.maketrans(",.", ".,")
PREPOSITIONS = ("in", "an", "zu", "von", "bei")


def phrase(noun: Noun, adjective: str | None, options: tuple[str, ...]) -> str:
    """A noun with article and ending, for example options ("ein", "dat"); "bare" is the word."""
    if "bare" in options:
        return noun.word
    case = next(_CASES[option] for option in options if option in _CASES)
    indefinite = "ein" in options
    article = (_INDEFINITE if indefinite else _DEFINITE)[noun.gender][case]
    ending = (_MIXED if indefinite else _WEAK)[noun.gender][case]
    word = _genitive(noun) if case == _CASES["gen"] else noun.word
    return " ".join([article, *([adjective + ending] if adjective else []), word])


def _genitive(noun: Noun) -> str:
    if noun.gender == "f":
        return noun.word
    return noun.word + ("es" if noun.word.endswith(("s", "ß", "x", "z")) else "s")


def after(preposition: str, text: str) -> str:
    """A preposition and the noun phrase behind it, contracted: "in" and "dem Hof" is "im Hof"."""
    article, _, rest = text.partition(" ")
    short = _CONTRACTIONS.get(f"{preposition.lower()} {article}")
    if short is None:
        return f"{preposition} {text}"
    return f"{short.capitalize() if preposition[0].isupper() else short} {rest}"


def person(somebody: Person, options: tuple[str, ...]) -> str:
    """Somebody with title: "Frau Voss", "Herrn Voss"."""
    if somebody.female:
        return f"Frau {somebody.surname}"
    return f"{'Herr' if 'nom' in options or not options else 'Herrn'} {somebody.surname}"


def pronoun(somebody: Person) -> str:
    """The pronoun in the nominative."""
    return "sie" if somebody.female else "er"


def number(value: float, decimals: int) -> str:
    """A figure as it is written in German: 340.000 or 96,4."""
    text = f"{value:,.{decimals}f}"
    return text.translate(_SEPARATORS)


def day(when: date, months: tuple[str, ...], *, year: bool = True) -> str:
    """A date: "14. März 2024", or without the year."""
    text = f"{when.day}. {months[when.month - 1]}"
    return f"{text} {when.year}" if year else text


def clock(minutes: int) -> str:
    """A time of day from minutes after midnight: "7.05 Uhr"."""
    return f"{minutes // 60}.{minutes % 60:02d} Uhr"
