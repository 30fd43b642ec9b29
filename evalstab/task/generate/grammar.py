"""Fills the slots of a wording with inflected nouns, people, places, figures and lists."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import date, timedelta
from types import ModuleType

from evalstab.task.generate import english, german
from evalstab.task.generate.chance import Chance, Decks
from evalstab.task.generate.lexicon import Lexicon, Noun, Person

LANGUAGES: dict[str, ModuleType] = {"de": german, "en": english}
_SLOT = re.compile(r"(?:\b([A-Za-z]+) )?\{([A-Za-z_]\w*)((?:\.\w+)*)\}")
_ADJECTIVE = 0.42
_SAME_NOUN = 0.2


@dataclass(slots=True)
class Scene:
    """Who and what a passage is about; what was named before is named again now and then."""

    people: tuple[Person, ...]
    places: tuple[str, ...]
    firms: tuple[str, ...]
    when: date
    bound: dict[str, str] = field(default_factory=dict)
    nouns: dict[str, Noun] = field(default_factory=dict)
    named: list[Person] = field(default_factory=list)
    touched: set[str] = field(default_factory=set)

    def begin_sentence(self, *known: Person) -> None:
        """Forget who and what was named in the sentence before, but not these people."""
        self.named[:] = known
        self.touched.clear()


class Grammar:
    """Expands wordings of one lexicon; draws come from its chance."""

    def __init__(self, lexicon: Lexicon, chance: Chance) -> None:
        self.lexicon = lexicon
        self.chance = chance
        self.decks = Decks(chance)
        self.language = LANGUAGES[lexicon.language]

    def fill(self, text: str, scene: Scene) -> str:
        """The wording with all slots filled; slots in capitals begin with a capital letter."""
        for _ in range(6):
            if "{" not in text:
                return text
            text = _SLOT.sub(lambda match: self._slot(match, scene), text)
        raise ValueError(f"a slot remains in {text!r}")

    def person(self, scene: Scene) -> Person:
        """Somebody of the scene who was not named in this sentence, where there is one."""
        fresh = [p for p in scene.people if p not in scene.named]
        chosen = self.chance.pick(fresh or scene.people)
        scene.named.append(chosen)
        return chosen

    def day(self, when: date, *, year: bool = True) -> str:
        """A date in words of the language."""
        text: str = self.language.day(when, self.lexicon.lists["months"], year=year)
        return text

    def clock(self, minutes: int) -> str:
        """A time of day in words of the language."""
        text: str = self.language.clock(minutes)
        return text

    def _slot(self, match: re.Match[str], scene: Scene) -> str:
        before, name, rest = match[1], match[2], match[3]
        options = tuple(rest.split(".")[1:])
        text = self._value(name[0].lower() + name[1:], options, scene)
        if name[0].isupper():
            text = text[0].upper() + text[1:]
        if before is None:
            return text
        if before.lower() in self.language.PREPOSITIONS:
            joined: str = self.language.after(before, text)
            return joined
        return f"{before} {text}"

    def _value(self, name: str, options: tuple[str, ...], scene: Scene) -> str:
        if name in scene.bound:
            return scene.bound[name]
        if name in self.lexicon.nouns:
            return self._noun(name, options, scene)
        if name == "person":
            titled: str = self.language.person(self.person(scene), options)
            return titled
        if name in {"place", "firm", "surname"}:
            return self._proper(name, scene)
        if name in {"date", "clock", "count", "ref"}:
            return self._figure(name, scene)
        return self.decks.deal(name, self.lexicon.lists[name])

    def _noun(self, name: str, options: tuple[str, ...], scene: Scene) -> str:
        before = scene.nouns.get(name)
        again = name not in scene.touched and not {"ein", "a", "bare"} & set(options)
        scene.touched.add(name)
        if before is not None and again and self.chance.chance(_SAME_NOUN):
            same: str = self.language.phrase(before, None, options)
            return same
        noun = self.decks.deal(f"noun {name}", self.lexicon.nouns[name])
        scene.nouns[name] = noun
        adjectives = self.lexicon.adjectives.get(name, ())
        chosen = None
        if adjectives and "bare" not in options and self.chance.chance(_ADJECTIVE):
            chosen = self.decks.deal(f"adjective {name}", adjectives)
        phrase: str = self.language.phrase(noun, chosen, options)
        return phrase

    def _proper(self, name: str, scene: Scene) -> str:
        if name == "surname":
            return self.chance.pick(scene.people).surname
        known = scene.places if name == "place" else scene.firms
        chosen = self.chance.pick([one for one in known if one not in scene.touched] or known)
        scene.touched.add(chosen)
        return chosen

    def _figure(self, name: str, scene: Scene) -> str:
        chance = self.chance
        if name == "date":
            back = timedelta(days=chance.number(3, 160))
            return self.day(scene.when - back, year=chance.chance(0.3))
        if name == "clock":
            return self.clock(5 * chance.number(72, 235))
        if name == "ref":
            return f"{chance.number(110, 9899)}-{chance.pick('ABCDEFGHKLMNPRSTUVWXYZ')}"
        return str(chance.number(16, 480))
