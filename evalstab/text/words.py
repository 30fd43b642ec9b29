"""Words that mix letters of scripts which pass for one another."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby

import regex

from .characters import CASED, is_mark, script_of
from .runs import Atom

_GREEK_LOOKALIKE = frozenset("ΑΒΕΖΗΙΚΜΝΟΡΤΥΧο")
_CYRILLIC_LOOKALIKE = frozenset("АВЕЅІЈКМНОРСТУХавеѕіјкморстухԁԛԝһ")
_LATIN_LOOKALIKE = frozenset("ABCEHIJKMOPSTXYaceiopsxyju")
_LOOKALIKE = {
    "Grek": _GREEK_LOOKALIKE,
    "Cyrl": _CYRILLIC_LOOKALIKE,
    "Latn": _LATIN_LOOKALIKE,
}
_GLUED = 4
_SYMBOL = 2


@dataclass(frozen=True, slots=True)
class MixedWord:
    """One word with letters of two cased scripts, and which of them does not belong."""

    start: int
    end: int
    intruder: str
    letters: Counter[str]


def boundaries(text: str, allowed: frozenset[str]) -> list[int]:
    """Places where two allowed scripts meet inside a word; the pre-filter cannot see these."""
    pattern = _boundary_pattern(frozenset(allowed & CASED))
    return [match.start() for match in pattern.finditer(text)] if pattern else []


@lru_cache(maxsize=64)
def _boundary_pattern(scripts: frozenset[str]) -> regex.Pattern[str] | None:
    others = sorted(scripts - {"Latn"})
    if "Latn" not in scripts or not others:
        return None
    foreign = "".join(rf"\p{{Script={code}}}" for code in others)
    return regex.compile(
        rf"(?V1)[{foreign}](?=\p{{M}}{{0,4}}\p{{Latin}})|\p{{Latin}}(?=\p{{M}}{{0,4}}[{foreign}])"
    )


def judge_words(
    text: str, atoms: list[Atom], meetings: Iterable[int], allowed: frozenset[str]
) -> tuple[list[MixedWord], list[Atom]]:
    """Mixed words, and the atoms that lie in none of them.

    Not mixed: Greek symbols of one or two letters ("kΩ", "Δt") unless they pass for Latin
    letters in a longer word, two words glued together, and honest compounds where both scripts
    are allowed. Each character is looked at once.
    """
    places = [atom.start for atom in atoms if _touches_other(text, atom)]
    words: list[MixedWord] = []
    last = 0
    for place in sorted([*places, *meetings]):
        if place < last:
            continue
        start, end = _word_around(text, place, last)
        last = end
        word = _judge(text, start, end, allowed)
        if word is not None:
            words.append(word)
    return words, _outside(atoms, words)


def _outside(atoms: list[Atom], words: list[MixedWord]) -> list[Atom]:
    kept: list[Atom] = []
    index = 0
    for atom in atoms:
        while index < len(words) and words[index].end <= atom.start:
            index += 1
        if index == len(words) or atom.end <= words[index].start:
            kept.append(atom)
    return kept


def _touches_other(text: str, atom: Atom) -> bool:
    if atom.script not in CASED:
        return False
    before = text[atom.start - 1] if atom.start else " "
    after = text[atom.end] if atom.end < len(text) else " "
    return is_mark(before) or script_of(before) in CASED or script_of(after) in CASED


def _word_around(text: str, place: int, floor: int) -> tuple[int, int]:
    start = end = place
    while start > floor and _in_word(text[start - 1]):
        start -= 1
    while end < len(text) and _in_word(text[end]):
        end += 1
    return start, max(end, place + 1)


def _in_word(char: str) -> bool:
    return script_of(char) in CASED or is_mark(char)


def _judge(text: str, start: int, end: int, allowed: frozenset[str]) -> MixedWord | None:
    letters = [char for char in text[start:end] if script_of(char) in CASED]
    runs = [(script, list(chars)) for script, chars in groupby(letters, script_of)]
    counts = Counter(map(script_of, letters))
    if len(counts) < 2:
        return None
    foreign = [script for script in counts if script not in allowed]
    intruder = min(foreign or counts, key=lambda script: counts[script])
    if counts.keys() == {"Grek", *counts.keys() - {"Grek"}} and _greek_symbol(letters, counts):
        return None
    if len(runs) == 2 and _honest_pair(runs, intruder, both_allowed=not foreign):
        return None
    return MixedWord(start, end, intruder, counts)


def _greek_symbol(letters: list[str], counts: Counter[str]) -> bool:
    if counts["Grek"] > _SYMBOL or len(counts) != 2:
        return False
    greek = {char for char in letters if script_of(char) == "Grek"}
    return not (greek <= _GREEK_LOOKALIKE and len(letters) - counts["Grek"] >= 3)


def _honest_pair(runs: list[tuple[str, list[str]]], intruder: str, *, both_allowed: bool) -> bool:
    """Whether a word of two stretches is two words glued together, or a compound."""
    (_, first), (_, second) = runs
    if len(first) >= _GLUED and len(second) >= _GLUED:
        return True
    odd = first if runs[0][0] == intruder else second
    passes = _LOOKALIKE.get(intruder, frozenset()).issuperset(odd)
    if both_allowed:
        latin = first if runs[0][0] == "Latn" else second
        return not passes or (len(latin) > 1 and all(map(str.isupper, latin)))
    return len(odd) >= _GLUED and not passes
