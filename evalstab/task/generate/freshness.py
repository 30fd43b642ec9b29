"""Holds that nothing is said twice in a task: no sentence, and no run of twelve words."""

from __future__ import annotations

import re
from collections.abc import Sequence

RUN = 12
_END = 9
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
        self._said: set[str] = set()
        self._tail: list[str] = []

    def begin(self) -> None:
        """A new document: runs of words do not cross its beginning."""
        self._tail = []

    def take(self, text: str, *, heading: bool = False) -> bool:
        """Remember a passage and say True; False, and nothing remembered, where it repeats.

        A passage is also refused where its last words stood somewhere before: whatever follows
        could be forced to repeat then. Headings may end alike, as all of them end in a date.
        """
        plain = _MARK.sub("", text)
        words = [*self._tail, *(word.casefold() for word in _WORD.findall(plain))]
        runs, ends = _runs(words, RUN), _runs(words, _END)
        said = [
            " ".join(found)
            for sentence in self._sentence.findall(plain)
            if len(found := _WORD.findall(sentence.casefold())) > 1
        ]
        new, fresh = set(runs), set(said)
        last = set() if heading else set(ends[-1:])
        if len(new) < len(runs) or len(fresh) < len(said):
            return False
        if not self._runs.isdisjoint(new | last) or not self._said.isdisjoint(fresh):
            return False
        self._runs |= new | set(ends)
        self._said |= fresh
        self._tail = words[-(RUN - 1) :]
        return True


def _runs(words: list[str], size: int) -> list[str]:
    return [" ".join(words[i : i + size]) for i in range(len(words) - size + 1)]
