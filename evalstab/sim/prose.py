"""What the simulated model thinks: sentences about what was really read, scored and ranked.

Every sentence comes from a form in ``data/prose.LANG.toml``; its slots are filled with names,
points and passages of the files. Forms are dealt like cards, passages are used once, so that a
long text stays an analysis and does not turn into a loop.
"""

from __future__ import annotations

import itertools
import re
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from evalstab.sim import tokens
from evalstab.sim.dice import Dice
from evalstab.sim.judge import Opinion
from evalstab.task.model import Criterion

_DATA = Path(__file__).parent / "data"
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+")
_MARKS = re.compile(r"[*_`#>]+|^\s*(?:[-+]|\d+[.)])\s+")
_PARAGRAPH = "\n\n"
FACT_LENGTH = 150


@dataclass(frozen=True, slots=True)
class Subject:
    """A candidate as the model knows it: id, name, and passages of its file."""

    id: str
    name: str
    facts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class View:
    """What the model has in mind while it thinks: the subjects, its opinion, the rubric."""

    subjects: tuple[Subject, ...]
    opinion: Opinion
    criteria: tuple[Criterion, ...] = ()

    def ranked(self) -> list[Subject]:
        """The subjects, best first."""
        by_id = {subject.id: subject for subject in self.subjects}
        return [by_id[c] for c in self.opinion.order]


@lru_cache(maxsize=8)
def phrases(language: str) -> dict[str, Any]:
    """The sentence forms of a language; English where there are none of its own."""
    path = _DATA / f"prose.{language.split('-', maxsplit=1)[0].lower()}.toml"
    if not path.is_file():
        path = _DATA / "prose.en.toml"
    return tomllib.loads(path.read_text("utf-8"))


@lru_cache(maxsize=512)
def facts(text: str) -> tuple[str, ...]:
    """Passages of a text that can be quoted: sentences of 30 to 150 characters, in order."""
    found: list[str] = []
    for line in text[:400_000].splitlines():
        if line.lstrip().startswith(("|", "```", "---", "#")):
            continue
        for passage in _SENTENCE_END.split(_MARKS.sub("", line)):
            sentence = passage.strip(' »«„“”"')
            if len(sentence) > FACT_LENGTH:
                found.append(sentence[:FACT_LENGTH].rsplit(" ", 1)[0].rstrip(" ,;:–-") + " …")
            elif len(sentence) >= 30:
                found.append(sentence)
    return tuple(dict.fromkeys(found))


def number(value: float) -> str:
    """A number as a person writes it: without needless zeros."""
    return f"{value:g}"


class Writer:
    """Deals sentence forms and passages, each in an order that its dice decide."""

    def __init__(self, language: str, dice: Dice) -> None:
        self.language = language.split("-", maxsplit=1)[0].lower()
        self.dice = dice
        self._phrases = phrases(language)
        self._decks: dict[str, list[str]] = {}
        self._facts: dict[str, list[str]] = {}

    def say(self, purpose: str, about: Subject | None = None, **slots: str) -> str:
        """One sentence for a purpose; its slots come from ``slots`` and from the subject."""
        if about is not None:
            slots.setdefault("name", about.name)
        form = self._deal(purpose, slots, about)
        if "{fact}" in form and about is not None:
            slots["fact"] = self.quote(self._facts[about.id].pop())
        return fill(form, slots)

    def quote(self, passage: str) -> str:
        """A passage in this language's quotation marks."""
        return f"„{passage}“" if self.language == "de" else f"“{passage}”"

    def left(self, about: Subject) -> int:
        """How many passages of a subject have not been used yet."""
        if about.id not in self._facts:
            self._facts[about.id] = self.dice.shuffled(about.facts)
        return len(self._facts[about.id])

    def _deal(self, purpose: str, slots: dict[str, str], about: Subject | None) -> str:
        deck = self._decks.setdefault(purpose, [])
        factual = about is not None and self.left(about) > 0
        for position in range(len(deck) - 1, -1, -1):
            if _usable(deck[position], slots, factual):
                return deck.pop(position)
        deck[:0] = self.dice.shuffled(self._forms(purpose))
        for position in range(len(deck) - 1, -1, -1):
            if _usable(deck[position], slots, factual):
                return deck.pop(position)
        return ""

    def _forms(self, purpose: str) -> list[str]:
        section, _, name = purpose.rpartition(".")
        table = self._phrases[section] if section else self._phrases
        return list(table[name])


def fill(form: str, slots: dict[str, str]) -> str:
    """A form with its slots filled; braces in the values stay what they are."""
    return re.sub(r"\{(\w+)\}", lambda match: slots.get(match[1], ""), form)


def _usable(form: str, slots: dict[str, str], factual: bool) -> bool:
    needed = set(re.findall(r"\{(\w+)\}", form))
    return needed <= slots.keys() | ({"fact"} if factual else set())


def take(sentences: Iterable[str], budget: int) -> str:
    """Sentences joined until the budget of tokens is used; paragraph marks are kept.

    A sentence that does not fit any more is left out and shorter ones may follow.
    """
    parts: list[str] = []
    used = missed = 0
    gap = ""
    for sentence in sentences:
        if sentence == _PARAGRAPH:
            gap = _PARAGRAPH if parts else ""
            continue
        piece = f"{gap}{sentence}"
        cost = tokens.count(piece)
        if not sentence or used + cost > budget:
            missed += 1
            if missed > 12:
                break
            continue
        parts.append(piece)
        used += cost
        gap = " "
    return "".join(parts)


def judging(writer: Writer, view: View, budget: int) -> str:
    """The long thought before the ranking: each candidate, comparisons, sums, the order."""
    names = ", ".join(subject.name for subject in view.ranked())
    ending = _PARAGRAPH + writer.say("order", order=names)
    room = budget - tokens.count(ending)
    if room < 40:
        return take([writer.say("order", order=names)], max(budget, 40))
    return take(_analysis(writer, view, room), room) + ending


def _analysis(writer: Writer, view: View, room: int) -> Iterator[str]:
    share = 0.6 * room / max(len(view.subjects), 1)
    scored = min(max(int((share - 70) / 24), 0), len(view.criteria))
    for subject in view.subjects:
        yield _PARAGRAPH
        yield from one(writer, view, subject, scored)
    ranked = view.ranked()
    for better, worse in itertools.pairwise(ranked):
        yield _PARAGRAPH
        yield from _pair(writer, view, better, worse)
    for subject in ranked if view.criteria else ():
        yield _PARAGRAPH
        yield _sum(writer, view, subject)
        if writer.left(subject):
            yield writer.say("note", subject)
    yield from deeper(writer, view)


def one(writer: Writer, view: View, subject: Subject, scored: int) -> Iterator[str]:
    """The analysis of one candidate with ``scored`` of its criteria."""
    points = view.opinion.points.get(subject.id, {})
    chosen = writer.dice.shuffled(view.criteria)[:scored]
    yield writer.say("head", subject)
    yield from _notes(writer, subject, 2)
    for place, criterion in enumerate(chosen):
        yield writer.say(
            "score",
            crit=criterion.title,
            pts=number(points[criterion.id]),
            max=number(criterion.max),
        )
        if place % 2 == 1:
            yield from _notes(writer, subject, 1)
        if place % 7 == 6:
            yield writer.say("doubt", other=writer.dice.pick(view.subjects).name)
    yield writer.say("interim", subject, total=number(view.opinion.totals[subject.id]))


def _pair(writer: Writer, view: View, better: Subject, worse: Subject) -> Iterator[str]:
    totals = view.opinion.totals
    yield writer.say(
        "compare",
        better,
        other=worse.name,
        total=number(totals[better.id]),
        othertotal=number(totals[worse.id]),
    )
    yield from _notes(writer, writer.dice.pick([better, worse]), 1)
    if writer.dice.chance(0.4):
        yield writer.say("doubt", other=writer.dice.pick(view.subjects).name)


def _sum(writer: Writer, view: View, subject: Subject) -> str:
    points = [number(value) for value in view.opinion.points[subject.id].values()]
    total = number(view.opinion.totals[subject.id])
    return writer.say("check", subject, sum=" + ".join(points), total=total)


def deeper(writer: Writer, view: View) -> Iterator[str]:
    """Further rounds of comparison as long as there are unused passages."""
    while any(writer.left(subject) for subject in view.subjects):
        rich = [subject for subject in view.subjects if writer.left(subject)]
        subject = writer.dice.pick(rich)
        others = [other for other in view.subjects if other.id != subject.id]
        yield _PARAGRAPH
        yield writer.say("head", subject)
        yield from _notes(writer, subject, 3)
        if others:
            yield from _pair(writer, view, *_in_order(view, subject, writer.dice.pick(others)))


def _in_order(view: View, one: Subject, other: Subject) -> tuple[Subject, Subject]:
    if view.opinion.place(one.id) < view.opinion.place(other.id):
        return one, other
    return other, one


def _notes(writer: Writer, subject: Subject, many: int) -> Iterator[str]:
    for _ in range(min(many, writer.left(subject))):
        yield writer.say("note", subject)


def reading(writer: Writer, read: Sequence[Subject], following: str, left: int) -> Iterator[str]:
    """Thoughts between two reads: what was just read, and what comes next."""
    for subject in read:
        if writer.left(subject):
            yield writer.say("read", subject)
    if following:
        yield writer.say("list", file=following, n=str(left))
    for round_ in range(6):
        for subject in read:
            if writer.left(subject):
                yield writer.say("note" if round_ else "read", subject)


def opening(writer: Writer, candidates: int) -> Iterator[str]:
    """Thoughts at the very beginning, before anything was read."""
    for _ in range(8):
        yield writer.say("open", n=str(candidates))


def writing(writer: Writer, view: View, file: str) -> Iterator[str]:
    """Thoughts before another file is written."""
    ranked = view.ranked()
    for _ in range(3):
        yield writer.say("write", ranked[0], file=file)
    for better, worse in writer.dice.shuffled(list(itertools.pairwise(ranked))):
        yield from _pair(writer, view, better, worse)


def finishing(writer: Writer, view: View) -> Iterator[str]:
    """Thoughts before the closing words."""
    yield writer.say("finish")
    yield from _notes(writer, view.ranked()[0], 1)
    yield writer.say("finish")
