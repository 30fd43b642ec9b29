"""Invents people, places and firms; no surname or candidate is used twice in a task."""

from __future__ import annotations

from dataclasses import dataclass

from evalstab.task.generate.chance import Chance
from evalstab.task.generate.lexicon import Lexicon, Person


@dataclass(frozen=True, slots=True)
class Subject:
    """What a document is about: the name shown, and the person where it is one."""

    name: str
    person: Person | None = None


class Cast:
    """Deals the names of one task."""

    def __init__(self, lexicon: Lexicon, chance: Chance) -> None:
        self._lexicon = lexicon
        self._chance = chance
        names = lexicon.lists
        self._surnames = chance.shuffled(
            [a + b for a in names["surname_start"] for b in names["surname_end"]]
        )
        self._places = chance.shuffled(
            [a + b for a in names["place_start"] for b in names["place_end"]]
        )
        self._next = 0

    def people(self, many: int) -> tuple[Person, ...]:
        """New people; surnames begin to repeat only when all of them were used."""
        return tuple(self._person() for _ in range(many))

    def places(self, many: int) -> tuple[str, ...]:
        """Different places; other calls may give some of them again."""
        return tuple(self._chance.shuffled(self._places)[:many])

    def firms(self, many: int) -> tuple[str, ...]:
        """New firms."""
        return tuple(self._firm() for _ in range(many))

    def subjects(self, many: int) -> list[Subject]:
        """The candidates of the task, in reading order."""
        forms = self._lexicon.lists["names"]
        places = self.places(many)
        made: list[Subject] = []
        for place in places:
            form = self._chance.pick(forms)
            if "{firm}" in form:
                made.append(Subject(self._firm()))
            elif "{surname}" in form:
                somebody = self._person()
                made.append(Subject(f"{somebody.first} {somebody.surname}", somebody))
            else:
                made.append(Subject(form.replace("{place}", place)))
        return made

    def _surname(self) -> str:
        self._next += 1
        return self._surnames[(self._next - 1) % len(self._surnames)]

    def _person(self) -> Person:
        female = self._chance.chance(0.5)
        first = self._chance.pick(self._lexicon.lists["women" if female else "men"])
        return Person(first, self._surname(), female)

    def _firm(self) -> str:
        form = self._chance.pick(self._lexicon.lists["firms"])
        while "{surname}" in form:
            form = form.replace("{surname}", self._surname(), 1)
        return form.replace("{place}", self._chance.pick(self._places))
