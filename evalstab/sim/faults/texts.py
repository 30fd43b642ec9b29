"""Foreign text in an answer: labelled leaks and sentences, put where prose allows it."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path
from typing import Any

from evalstab.sim.dice import Dice
from evalstab.sim.faults.draft import Draft

_DATA = Path(__file__).parent.parent / "data"
_PROSE_LINE = re.compile(r"^(?![|#`{}\[\]*])[^\n]{60,}$", re.M)
_BOUNDARY = re.compile(r"(?<=[.!?“”\"])[ ](?=[A-ZÄÖÜ„“])")
_GAP = re.compile(r"(?<=[a-zäöüß]) (?=[a-zäöüß])")
_LATIN = ("en", "fr", "es", "pl", "de")
_OTHER = ("zh", "ja", "ru")


@cache
def _json(name: str) -> Any:
    return json.loads((_DATA / name).read_text("utf-8"))


def leaks(code: str) -> list[Any]:
    """The labelled German sentences whose spans all have this code."""
    cases = _json("leaks.json")["cases"]
    return [case for case in cases if all(span["code"] == code for span in case["spans"])]


def labelled_sentences(languages: tuple[str, ...]) -> list[Any]:
    """The labelled sentences of these languages."""
    return [s for s in _json("sentences.json")["sentences"] if s["lang"] in languages]


def places(text: str, pattern: re.Pattern[str]) -> list[int]:
    """Offsets in prose lines where the pattern allows an insertion."""
    return [
        line.start() + gap.start()
        for line in _PROSE_LINE.finditer(text)
        for gap in pattern.finditer(line[0])
    ]


def channel_for(draft: Draft, dice: Dice) -> str | None:
    """A channel with prose that no other fault holds yet, reasoning most often."""
    free = [
        channel
        for channel in ("reasoning", "file", "content")
        if channel not in draft.taken and places(draft.text(channel), _BOUNDARY)
    ]
    if not free:
        return None
    return free[0] if dice.chance(0.6) else dice.pick(free)


def spans(code: str) -> Any:
    """The spoiler that inserts labelled spans of a code."""

    def spoil(draft: Draft, dice: Dice) -> bool:
        channel = channel_for(draft, dice)
        if channel is None:
            return False
        case = dice.pick(leaks(code))
        if draft.language == "de":
            shift = _insert(draft, dice, channel, case["text"], _BOUNDARY)
            found = [(shift + s["start"], shift + s["end"]) for s in case["spans"]]
        else:
            span = case["spans"][0]
            piece = case["text"][span["start"] : span["end"]]
            shift = _insert(draft, dice, channel, piece, _GAP)
            found = [(shift, shift + len(piece))]
        for place in found:
            draft.enter(code, "span", channel, place, {"case": case["id"]})
        return True

    return spoil


def foreign_sentence(draft: Draft, dice: Dice) -> bool:
    """Insert a sentence of another language in the same script."""
    return _sentence(draft, dice, "text.foreign_language", _LATIN)


def foreign_script_sentence(draft: Draft, dice: Dice) -> bool:
    """Insert a sentence in another script."""
    return _sentence(draft, dice, "text.foreign_script", _OTHER)


def _sentence(draft: Draft, dice: Dice, code: str, languages: tuple[str, ...]) -> bool:
    channel = channel_for(draft, dice)
    if channel is None:
        return False
    others = tuple(language for language in languages if language != draft.language)
    sentence = dice.pick(labelled_sentences(others))
    at = _insert(draft, dice, channel, sentence["text"], _BOUNDARY)
    place = (at, at + len(sentence["text"]))
    draft.enter(code, "sentence", channel, place, {"case": sentence["id"]})
    return True


def _insert(draft: Draft, dice: Dice, channel: str, piece: str, pattern: re.Pattern[str]) -> int:
    """Insert a piece with a space before it; the offset at which it then stands."""
    text = draft.text(channel)
    at = dice.pick(places(text, pattern) or places(text, _BOUNDARY))
    draft.set_text(channel, f"{text[:at]} {piece}{text[at:]}")
    draft.taken.add(channel)
    return at + 1


def broken_bytes(draft: Draft, dice: Dice) -> bool:
    """Replace a letter outside ASCII by two replacement characters, as split bytes come out."""
    text = draft.text("reasoning")
    letters = [at for at, letter in enumerate(text) if letter.isalpha() and letter > "\x7f"]
    if not letters or "reasoning" in draft.taken:
        return False
    at = dice.pick(letters)
    draft.set_text("reasoning", f"{text[:at]}\ufffd\ufffd{text[at + 1 :]}")
    draft.taken.add("reasoning")
    draft.enter("text.replacement_char", "broken-bytes", "reasoning", (at, at + 2))
    return True
