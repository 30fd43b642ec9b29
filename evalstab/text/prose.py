"""Sentences of a text, without everything in them that belongs to no language."""

from collections.abc import Iterator
from dataclasses import dataclass

import regex

from .zones import Zones

_LEAD = regex.compile(
    r"[ \t>]*+(?:(?:[-*+•–—]|\d{1,3}[.)]|[a-zA-Z][.)]|\#{1,6}|\[[ xX]\])[ \t]+)*+"
)
_ITEM = regex.compile(r"[ \t>]*+(?:[-*+•]|\d{1,3}[.)]|\#{1,6})[ \t]")
_BOUNDARY = regex.compile(
    r"(?<=[.!?…][)\]\"'“”«»’*_]{0,3})[ \t\n]+(?=[\p{Lu}\p{N}\p{Lo}\"'„“«»(¿¡*_\[-])"
    r"|(?<=[。！？；])|(?<=[:;])[ \t\n]+|[ \t]+[–—][ \t]+|[|\t]|(?<=:)(?=[\"„“«»])"
    r"|(?<=\w[,.]?)[\"“”«»](?=[\s.,;:)]|$)[,]?|(?<=[\s(])[\"„“«»](?=\w)|^[\"„“«»](?=\w)"
)
_ABBREVIATION = regex.compile(
    r"(?:\b(?:\p{L}|\p{L}\.\s?\p{L}|bzw|ca|vgl|etc|usw|evtl|ggf|inkl|max|min|Nr|Abs|Art|Dr|Prof"
    r"|Mr|Mrs|Ms|St|Sr|Jr|No|vs|Fig|approx|z|ex|env|p|pp|cf|tzn|np|itp|tj|ok|Sra|Ud|Uds|pág)"
    r"|\s\d{1,3})\.$"
)
_NOISE = regex.compile(
    r"https?://\S++|www\.\S++|[\w.+-]{1,64}@[\w-]{1,64}\.[\w.-]{1,64}"
    r"|</?[A-Za-z][^<>\n]{0,200}>|&\#?\w{1,10};"
    r"|(?<![\p{L}\p{N}])[\"'][\w.-]{1,60}[\"']\s*:"
    r"|(?<!\S)-{1,2}[A-Za-z][\w-]*+(?:=\S*+)?"
    r"|\S*+[\\/_@=<>{}\[\]$^~%&]\S*+"
    r"|\p{L}++\(\d?\)?"
    r"|\p{Ll}++\p{Lu}\w*+|\p{Lu}{2,}\w*+"
    r"|\S*\p{N}\S*"
    r"|[*\#`|\"„“”«»()…]++"
)
_WORD = regex.compile(r"\p{L}[\p{L}\p{M}’'-]*+")
_MAX_SENTENCE = 1200
_WRAPPED = 50


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence of the original text (`start`, `end`) and its words for a language test."""

    start: int
    end: int
    words: tuple[str, ...]
    places: tuple[tuple[int, int], ...]

    @property
    def prose(self) -> str:
        """The words with single spaces."""
        return " ".join(self.words)

    @property
    def letters(self) -> int:
        """Number of letters in the words."""
        return sum(len(word) for word in self.words)


def sentences(text: str) -> Iterator[Sentence]:
    """Sentences, list items and table cells outside code and formulas, in order.

    Fenced and inline code, URLs, mail addresses, paths, identifiers, options, JSON keys, tags,
    marks and anything with a digit give no words. Linear in the text.
    """
    zones = Zones(text)
    for start, end in _blocks(text, zones):
        for first, last in _split(text, start, end):
            sentence = _sentence(text, first, last)
            if sentence is not None:
                yield sentence
