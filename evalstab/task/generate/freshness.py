"""Holds that nothing is said twice in a task: no sentence, and no run of twelve words."""

from __future__ import annotations

import re
from collections.abc import Sequence

RUN = 12
_WORD = re.compile(r"\w+")
_MARK = re.compile(r"[\ue000-\ue0ff]")


class Freshness:
    """Remembers what the documents of a task have said so far.

    ``months``: their names do not begin a sentence, so that "14. März" holds no end of one.
    """

    def __init__(self, months: Sequence[str] = ()) -> None:
        no_end = rf"(?! (?:{'|'.join(months)})\b)" if months else ""
        self._sentence = re.compile(rf"[^\s|][^|\n]*?[.!?](?=[”“]?(?:\s|$)){no_end}")
        self._runs: set[str] = set()
        self._sentences: set[str] = set()
        self._tail: list[str] = []

    def begin(self) -> None:
        """A new document: runs of words do not cross its beginning."""
        self._tail = []

    def take(self, text: str) -> bool:
        """Remember a passage and say True; False, and nothing remembered, where it repeats."""
        plain = _MARK.sub("", text)
        words = [*self._tail, *(word.casefold() for word in _WORD.findall(plain))]
        runs = [" ".join(words[i : i + RUN]) for i in range(len(words) - RUN + 1)]
        said = [
            " ".join(found)
            for sentence in self._sentence.findall(plain)
            if len(found := _WORD.findall(sentence.casefold())) > 1
        ]
        new, fresh = set(runs), set(said)
        if len(new) < len(runs) or len(fresh) < len(said):
            return False
        if not self._runs.isdisjoint(new) or not self._sentences.isdisjoint(fresh):
            return False
        self._runs |= new
        self._sentences |= fresh
        self._tail = words[-(RUN - 1) :]
        return True
