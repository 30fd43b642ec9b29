"""Recognises a candidate by id, declared name or file name in what a model wrote."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache

from evalstab.task.model import Candidate

LABEL_CHARACTERS = 300

_TOKEN = re.compile(r"[^\W_]+")
_MARKUP = " \t\r\n*_`~\"'„“”»«[]()<>#:.,;"


@dataclass(frozen=True, slots=True)
class Mention:
    """A candidate found in a text, with the code point offsets of the words that name it."""

    candidate: str
    start: int
    end: int


class Aliases:
    """All words for the candidates of a task; a word that fits two of them fits none.

    Case, markup, and the difference between spaces, ``-`` and ``_`` do not matter.
    """

    def __init__(self, candidates: Iterable[Candidate]) -> None:
        owners: dict[tuple[str, ...], set[str]] = {}
        for candidate in candidates:
            for alias in _words_for(candidate):
                owners.setdefault(alias, set()).add(candidate.id)
        self._by_words = {
            words: next(iter(ids)) for words, ids in owners.items() if words and len(ids) == 1
        }
        self._longest = max(map(len, self._by_words), default=0)

    def find(self, label: str) -> str | None:
        """The one candidate that a label names, ``None`` where it names none or several."""
        label = label[:LABEL_CHARACTERS]
        words = tuple(word for word, _, _ in _tokens(label))
        if (exact := self._by_words.get(words)) is not None:
            return exact
        named = {mention.candidate for mention in self.mentions(label)}
        return named.pop() if len(named) == 1 else None

    def mentions(self, text: str) -> Iterator[Mention]:
        """Candidates named in a text, in order; longest names first.

        Single letters and bare numbers are taken for a name only at the beginning.
        """
        tokens = _tokens(text)
        at = 0
        while at < len(tokens):
            for length in range(min(self._longest, len(tokens) - at), 0, -1):
                words = tuple(word for word, _, _ in tokens[at : at + length])
                candidate = self._by_words.get(words)
                if candidate is not None and (at == 0 or _distinctive(words)):
                    yield Mention(candidate, tokens[at][1], tokens[at + length - 1][2])
                    at += length
                    break
            else:
                at += 1


@lru_cache(maxsize=8)
def aliases_of(candidates: tuple[Candidate, ...]) -> Aliases:
    """The aliases of a task's candidates, built once."""
    return Aliases(candidates)


def plain(text: str) -> str:
    """A label or heading without case, markup and surplus space, for comparisons."""
    return " ".join(unicodedata.normalize("NFC", text).strip(_MARKUP).casefold().split())


def _words_for(candidate: Candidate) -> Iterator[tuple[str, ...]]:
    texts = [candidate.id, candidate.name or ""]
    if candidate.file:
        name = candidate.file.rpartition("/")[2]
        texts += [candidate.file, name, name.rpartition(".")[0]]
    for text in texts:
        yield tuple(word for word, _, _ in _tokens(text))


def _tokens(text: str) -> list[tuple[str, int, int]]:
    return [
        (unicodedata.normalize("NFC", found.group()).casefold(), found.start(), found.end())
        for found in _TOKEN.finditer(text)
    ]


def _distinctive(words: tuple[str, ...]) -> bool:
    return len(words) > 1 or (len(words[0]) > 1 and not words[0].isdigit())
