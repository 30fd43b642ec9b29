"""Builds sentences and paragraphs out of actions: who did what, when, why."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from evalstab.task.generate.grammar import Grammar, Scene
from evalstab.task.generate.lexicon import Action, Person, Words

_TOKEN = re.compile(r"\{([A-Z]+[23]?|said|conj|tail|comment|quip|remark)\}")
_LISTS = {"T": "time_first", "N": "time_next", "C": "conj_front", "conj": "conj_after"}
_SPACE_BEFORE = re.compile(r" +(?=[.,;:!?”“](?:\W|$))| {2,}")
_FIRST_LETTER = re.compile(r"[^\W\d_]")

Fact = Callable[[], str]
"""Words one statement anew; the text carries its marks."""


@dataclass(frozen=True, slots=True)
class Voice:
    """Who tells: the subjects of its sentences, and the share of sentences that have them."""

    subjects: Words
    share: float = 0.45


@dataclass(slots=True)
class _Said:
    """The subject of the sentence before, for pronouns."""

    text: str = ""
    person: Person | None = None


@dataclass(slots=True)
class Narrator:
    """Writes in one voice about one topic after the other."""

    grammar: Grammar
    voice: Voice
    topics: Words
    _before: _Said = field(default_factory=_Said)

    def sentence(self, kind: str, topic: str, scene: Scene) -> str:
        """One sentence of a kind of ``forms``, capitalised."""
        grammar = self.grammar
        form = grammar.decks.deal(f"form {kind}", grammar.lexicon.forms[kind])
        scene.begin_sentence(*([self._before.person] if self._before.person else []))
        if "{S}" not in form:
            self._before = _Said()
        text = self._components(form, topic, scene)
        return tidy(grammar.fill(text, scene))

    def paragraph(self, scene: Scene, sentences: int, facts: Sequence[Fact], room: int) -> str:
        """Sentences about one topic with the facts among them; ends when the room is used up."""
        topic = self.topic()
        places = {1 + self.grammar.chance.number(0, max(sentences - 1, 0)) for _ in facts}
        waiting = list(facts)
        parts: list[str] = []
        self._before = _Said()
        for index in range(sentences):
            if waiting and index in places:
                parts.append(waiting.pop(0)())
                self._before = _Said()
            if sum(map(len, parts)) > room - 60:
                break
            parts.append(self.sentence("next" if index else "first", topic, scene))
        parts += [fact() for fact in waiting]
        return " ".join(parts)

    def topic(self) -> str:
        """The next topic of this narrator."""
        return self.grammar.decks.deal("topic", self.topics)

    def _components(self, form: str, topic: str, scene: Scene) -> str:
        actions = {number: self._action(topic) for number in ("", "2")}
        subjects: dict[str, str] = {}

        def component(match: re.Match[str]) -> str:
            token = match[1]
            if token in _LISTS or token.islower():
                name = _LISTS.get(token, token)
                return self.grammar.decks.deal(name, self.grammar.lexicon.lists[name])
            kind, number = token.rstrip("23"), token[-1] if token[-1] in "23" else ""
            if kind == "S":
                if number not in subjects:
                    subjects[number] = self._subject(number, scene)
                return subjects[number]
            return _part(actions[number], kind)

        return _TOKEN.sub(component, form)

    def _action(self, topic: str) -> Action:
        actions = self.grammar.lexicon.actions
        if self.grammar.chance.chance(0.12):
            topic = self.grammar.chance.pick(self.topics)
        return self.grammar.decks.deal(f"action {topic}", actions[topic])

    def _subject(self, number: str, scene: Scene) -> str:
        """A subject; the main one may be a pronoun for that of the sentence before."""
        chance = self.grammar.chance
        language = self.grammar.language
        if number != "3" and self._before.person is not None and chance.chance(0.3):
            pronoun: str = language.pronoun(self._before.person)
            return pronoun
        if number == "" and chance.chance(self.voice.share):
            self._before = _Said()
            return chance.pick(self.voice.subjects)
        if chance.chance(0.2):
            return "{role.nom}"
        person = self.grammar.person(scene)
        if number == "":
            self._before = _Said(person=person)
        titled: str = language.person(person, ("nom",))
        return titled


def _part(action: Action, kind: str) -> str:
    parts = {"V": action.verb, "P": action.prefix, "K": action.participle, "R": action.rest}
    parts["PV"] = action.prefix + action.verb
    return parts[kind]


def tidy(text: str) -> str:
    """One space between words, none before a stop, a capital at the beginning."""
    text = _SPACE_BEFORE.sub(lambda match: " " if len(match[0]) > 1 else "", text).strip()
    text = text.replace(" ,", ",").replace(" .", ".").replace(" ;", ";").replace(" :", ":")
    first = _FIRST_LETTER.search(text)
    if first is None or first.start() > 1:
        return text
    return text[: first.start()] + text[first.start()].upper() + text[first.start() + 1 :]
