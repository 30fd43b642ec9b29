"""Writes one document: sections in an order, facts at their places, filled up to a size."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from functools import partial
from itertools import count

from evalstab.task.generate.cast import Cast, Subject
from evalstab.task.generate.chance import Chance
from evalstab.task.generate.freshness import Freshness
from evalstab.task.generate.grammar import Grammar, Scene
from evalstab.task.generate.lexicon import Lexicon, Origin, Person, SectionKind
from evalstab.task.generate.plan import Statement
from evalstab.task.generate.prose import Fact, Narrator, Voice, tidy
from evalstab.task.generate.sections import GENRES, REPORT, Desk
from evalstab.task.generate.statements import Phrasing

_FIRST_DAY = date(2022, 1, 10)
_DAYS = 1040
_TRIES = 60
_PLAIN_TRIES = 3
_MOST_FACTS = 3
_SECTIONS = 4
SMALLEST_ROOM = 70
FIRST_MARK, LAST_MARK, END_MARK = 0xE010, 0xE0FF, "\ue000"


class UsedUp(Exception):
    """No wording was found that repeats nothing; with another size everything falls otherwise."""


@dataclass(slots=True)
class Section:
    """One section to be written, and the statements that it must hold."""

    kind: SectionKind
    when: date
    statements: list[Statement] = field(default_factory=list)


@dataclass(slots=True)
class Draft:
    """A document with marks around its facts, and what stands between which marks."""

    text: str
    facts: list[tuple[Statement, Section]]


class Author:
    """Writes the documents of one task with one lexicon, one cast and one memory."""

    def __init__(self, lexicon: Lexicon, cast: Cast, seed: tuple[object, ...]) -> None:
        self.lexicon = lexicon
        self._cast = cast
        self._seed = seed
        self._fresh = Freshness(lexicon.lists["months"])

    def write(
        self,
        subject: Subject,
        statements: Sequence[Statement],
        room: int,
        *,
        shuffled_dates: bool,
    ) -> Draft:
        """A document about a subject of about ``room`` characters that says the statements."""
        chance = Chance(*self._seed, "document", subject.name)
        many = _SECTIONS + int((max(room - 2000, 0) / 2600) ** 0.72)
        sections = _sections(self.lexicon, many, chance, shuffled_dates=shuffled_dates)
        _place(statements, sections, chance)
        return _Writing(self, subject, chance, self._cast, self._fresh).document(sections, room)


def _sections(
    lexicon: Lexicon, many: int, chance: Chance, *, shuffled_dates: bool
) -> list[Section]:
    """Sections on different days; the first and the last third have both origins."""
    days = sorted(chance.shuffled(range(_DAYS))[:many])
    if shuffled_dates:
        days = chance.shuffled(days)
    decks = {
        origin: [k for k in lexicon.sections if k.origin == origin] for origin in ("own", "third")
    }
    origins: list[Origin] = ["own" if chance.chance(0.5) else "third" for _ in range(many)]
    edges: list[Origin] = ["own", "third"]
    origins[:2], origins[-2:] = chance.shuffled(edges), chance.shuffled(edges)
    dealt: dict[str, list[SectionKind]] = {"own": [], "third": []}
    sections = []
    for origin, day in zip(origins, days, strict=True):
        if not dealt[origin]:
            dealt[origin] = chance.shuffled(decks[origin])
        sections.append(Section(dealt[origin].pop(), _FIRST_DAY + timedelta(days=day)))
    return sections


def _place(statements: Sequence[Statement], sections: list[Section], chance: Chance) -> None:
    """Give each statement a section of its origin and zone; the newer of two the later date."""
    third = max(2, len(sections) // 3)
    zones = {"early": sections[:third], "late": sections[-third:], "any": sections}
    pairs: dict[int, list[Statement]] = {}
    for statement in statements:
        if statement.newer is not None and statement.partner is not None:
            pairs.setdefault(statement.partner, []).append(statement)
        else:
            fitting = [s for s in zones[statement.zone] if s.kind.origin == statement.origin]
            chance.pick(fitting).statements.append(statement)
    for pair in pairs.values():
        places = [
            chance.pick([s for s in zones[zone] if s.kind.origin == pair[0].origin])
            for zone in ("early", "late")
        ]
        places.sort(key=lambda s: s.when)
        for place, statement in zip(places, sorted(pair, key=lambda s: bool(s.newer)), strict=True):
            place.statements.append(statement)


class _Writing:
    """One document while it is written."""

    def __init__(
        self, author: Author, subject: Subject, chance: Chance, cast: Cast, fresh: Freshness
    ) -> None:
        self._lexicon = author.lexicon
        self._subject = subject
        self._chance = chance
        self._fresh = fresh
        self._grammar = Grammar(author.lexicon, chance)
        self._phrasing = Phrasing(author.lexicon, self._grammar)
        self._people = cast.people(9)
        self._places = cast.places(10)
        self._firms = cast.firms(5)
        self._facts: list[tuple[Statement, Section]] = []
        self._length = 0

    def document(self, sections: list[Section], room: int) -> Draft:
        self._fresh.begin()
        parts = [f"# {self._lexicon.texts['heading'].format(name=self._subject.name)}"]
        self._length = len(parts[0])
        weights = [0.6 + self._chance.unit() + 0.25 * len(s.statements) for s in sections]
        for index, section in enumerate(sections):
            left = room - self._length
            share = left * weights[index] / sum(weights[index:])
            parts.append(self._section(section, int(share)))
            self._length = sum(map(len, parts)) + 2 * len(parts)
        return Draft("\n\n".join(parts) + "\n", self._facts)

    def _section(self, section: Section, room: int) -> str:
        genre = GENRES[section.kind.genre]
        desk = self._desk(section, sheet=genre.sheet)
        opening = partial(self._opening, desk, section, desk.scene.people)
        text = self._fresh_text(opening, heading=True)
        text += "\n" if genre.joint == "\n" and genre.opening else "\n\n"
        waiting = self._chance.shuffled(
            [self._marked(statement, section, desk) for statement in section.statements]
        )
        room -= 60 if genre.closing else 0
        units = 0
        while waiting or (left := room - len(text)) > max(SMALLEST_ROOM, genre.size // 3):
            left = max(room - len(text), 0)
            if units == max(genre.most, len(section.statements)):
                genre, desk.sheet = REPORT, False
            now = [waiting.pop() for _ in range(self._due(len(waiting), left // genre.size))]
            unit = self._fresh_text(partial(genre.unit, desk, now, left))
            text += f"{genre.joint if units else ''}{unit}"
            units += 1
        closing = genre.closing
        return f"{text}\n\n{self._fresh_text(partial(closing, desk))}" if closing else text

    def _due(self, waiting: int, expected: int) -> int:
        """How many of the waiting facts the next of the expected units takes."""
        share = waiting / max(expected, 1)
        whole = int(share)
        return min(waiting, _MOST_FACTS, whole + self._chance.chance(share - whole))

    def _desk(self, section: Section, *, sheet: bool) -> Desk:
        own = section.kind.origin == "own"
        texts = self._lexicon.lists["own" if own else "third"]
        person = self._subject.person
        name = self._grammar.language.person(person, ("nom",)) if person else self._subject.name
        voice = Voice(tuple(text.replace("{name}", name) for text in texts))
        scene = Scene(
            people=tuple(self._chance.shuffled(self._people)[:5]),
            places=tuple(self._chance.shuffled(self._places)[:4]),
            firms=tuple(self._chance.shuffled(self._firms)[:2]),
            when=section.when,
        )
        narrator = Narrator(self._grammar, voice, self._lexicon.lists["topics"])
        return Desk(narrator, scene, sheet, author=person if own else None)

    def _opening(self, desk: Desk, section: Section, people: tuple[Person, ...]) -> str:
        """Heading, origin and date; who is named in the heading is not talked about below."""
        texts, scene, genre = self._lexicon.texts, desk.scene, GENRES[section.kind.genre]
        wording = self._grammar.decks.deal(f"title {section.kind}", section.kind.titles)
        scene.people = people
        scene.begin_sentence()
        title = tidy(self._grammar.fill(wording, scene))
        if scene.named:
            scene.people = tuple(p for p in people if p not in scene.named)
            if self._subject.person is None or section.kind.origin == "third":
                desk.author = scene.named[0]
        meta = texts["meta"].format(
            origin=texts[f"{section.kind.origin}_name"], date=self._grammar.day(section.when)
        )
        head = f"## {title}\n{meta}"
        return f"{head}\n\n{genre.opening(desk)}" if genre.opening else head

    def _marked(self, statement: Statement, section: Section, desk: Desk) -> Fact:
        index = len(self._facts)
        self._facts.append((statement, section))
        begin = chr(FIRST_MARK + index)
        tries = count()

        def fact() -> str:
            scene = Scene(desk.scene.people, self._places, self._firms, section.when)
            if desk.sheet:
                text = self._phrasing.row(statement, scene, plain=next(tries) < _PLAIN_TRIES)
            else:
                text = self._phrasing.sentence(statement, scene)
            return f"{begin}{text}{END_MARK}"

        return fact

    def _fresh_text(self, write: Fact, *, heading: bool = False) -> str:
        for _ in range(_TRIES):
            text = write()
            if self._fresh.take(text, heading=heading):
                return text
        raise UsedUp
