"""Ballast: earlier, unrelated turns of a session, so that a task is asked at a chosen context.

Somebody hands in one file after the other and asks for an overview; each is answered. The files
are those of the task generator without any facts: nothing is said twice, nothing bears on the task.
The turns stand between the system text and the task's own message, and lie outside the task digest.
Same language, size and seed: same bytes; a larger ballast begins with the turns of a smaller one.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from evalstab.chat import Json
from evalstab.task.generate.cast import Cast
from evalstab.task.generate.chance import Chance, Decks
from evalstab.task.generate.document import Author
from evalstab.task.generate.lexicon import lexicon_for

VERSION = 1
"""Counts up whenever the same request gives other bytes than before."""

SMALLEST = 400
"""Characters below which no turn is made: a file has a heading and some lines."""

_LANGUAGES = ("de", "en")
_DOMAINS = ("incidents", "bids")
_ROOM = (3_000, 9_000)
_A_VOLUME = 50
_WHOLE = ("#", "|", "-", "*")
"""Beginnings of lines that make no sense in part."""

_TITLE = re.compile(r"^## (.+)$", re.M)


@dataclass(frozen=True, slots=True)
class _Wording:
    """How one language hands in a file and answers; slots: name, count, titles."""

    requests: tuple[str, ...]
    answers: tuple[str, ...]
    joint: str


_WORDING = {
    "de": _Wording(
        requests=(
            "Hier ist eine Akte aus der Ablage. Welche Abschnitte hat sie?",
            "Schau bitte in die folgende Unterlage und zähle ihre Abschnitte auf.",
            "Noch eine Akte. Ich brauche nur eine Übersicht, keine Bewertung.",
            "Die nächste Unterlage: Was steht darin, der Reihe nach?",
            "Bitte verschaffe dir einen Überblick und nenne mir die Überschriften.",
            "Das kam heute aus dem Archiv. Wie ist es gegliedert?",
            "Für das Verzeichnis: Aus welchen Teilen besteht dieses Schriftstück?",
            "Kannst du mir kurz sagen, was in diesen Papieren enthalten ist?",
            "Diese Akte soll ins Register. Bitte die Abschnitte auflisten.",
            "Ich lege dir wieder etwas hin. Nur die Gliederung bitte.",
            "Was findet sich hier? Eine knappe Antwort genügt.",
        ),
        answers=(
            "{name}: {count} Abschnitte, nämlich {titles}.",
            "In „{name}“ stehen {count} Abschnitte: {titles}.",
            "Der Reihe nach: {titles}. Zusammen {count} Abschnitte zu {name}.",
            "Das sind {count} Teile. {titles}. Alles gehört zu {name}.",
            "Übersicht zu {name} ({count} Abschnitte): {titles}.",
            "Gegliedert ist {name} in {titles}; {count} Abschnitte im Ganzen.",
            "Enthalten sind {titles}. Gezählt habe ich {count} Abschnitte ({name}).",
        ),
        joint="; ",
    ),
    "en": _Wording(
        requests=(
            "Here is a file from the archive. Which sections does it have?",
            "Please look through the following papers and list their sections.",
            "Another file. I only need an outline, no assessment.",
            "Next one: what does it contain, in order?",
            "Please get an overview and give me the headings.",
            "This came up from the basement today. How is it structured?",
            "For the index: what parts does this record consist of?",
            "Could you tell me briefly what these papers hold?",
            "This one goes into the register. List the sections, please.",
            "I am handing you one more. Just the outline.",
            "What do we find here? A short answer will do.",
        ),
        answers=(
            "{name}: {count} sections, namely {titles}.",
            'There are {count} sections in "{name}": {titles}.',
            "In order: {titles}. That makes {count} sections about {name}.",
            "These are {count} parts. {titles}. All of it belongs to {name}.",
            "Outline of {name} ({count} sections): {titles}.",
            "{name} is divided into {titles}; {count} sections altogether.",
            "It holds {titles}. I counted {count} sections ({name}).",
        ),
        joint="; ",
    ),
}


def ballast_language(task_language: str) -> str:
    """The language of the ballast: the task's where it is German, else English, as its brief."""
    tag = task_language.split("-", maxsplit=1)[0].lower()
    return tag if tag in _LANGUAGES else "en"


def ballast_messages(
    language: str, characters: int, seed: int, avoid: Collection[str] = ()
) -> list[Json]:
    """Turns of ``characters`` characters in all, within a sentence or two, user and assistant.

    ``avoid`` are names that no file may be about (the task's candidates). Empty below ``SMALLEST``.
    """
    messages: list[Json] = []
    left = characters
    for turn in _turns(ballast_language(language), seed, frozenset(avoid)):
        if left < SMALLEST:
            break
        pair = turn.messages(turn.document)
        if (length := length_of(pair)) > left:
            pair = turn.messages(_shortened(turn.document, len(turn.document) - length + left))
        messages += pair
        left -= length
    return messages


def length_of(messages: list[Json]) -> int:
    """Characters of the messages' texts."""
    return sum(len(str(message["content"])) for message in messages)


@dataclass(frozen=True, slots=True)
class _Turn:
    """One file handed in, and how it is answered."""

    name: str
    request: str
    document: str
    answer: str
    joint: str

    def messages(self, document: str) -> list[Json]:
        """The request with the document, or the beginning of it, and a true answer."""
        titles = _TITLE.findall(document)
        answer = self.answer.format(
            name=self.name, count=len(titles), titles=self.joint.join(titles)
        )
        return [
            {"role": "user", "content": f"{self.request}\n\n{document}"},
            {"role": "assistant", "content": answer},
        ]


def _turns(language: str, seed: int, avoid: frozenset[str]) -> Iterator[_Turn]:
    """Files without end, of both domains in turn; each domain says nothing twice."""
    wording = _WORDING[language]
    decks = Decks(Chance("ballast", VERSION, language, seed))
    shelves = [_files(language, domain, seed) for domain in _DOMAINS]
    number = 0
    while True:
        name, document = next(shelves[number % len(shelves)])
        number += 1
        if not any(other in document for other in avoid):
            yield _Turn(
                name=name,
                request=decks.deal("request", wording.requests),
                document=document,
                answer=decks.deal("answer", wording.answers),
                joint=wording.joint,
            )


def _files(language: str, domain: str, seed: int) -> Iterator[tuple[str, str]]:
    """Names and texts of files of one domain; begins anew, with other names, when used up."""
    lexicon = lexicon_for(language, domain)
    volume = 0
    while True:
        key = ("ballast", VERSION, language, domain, seed, volume)
        chance = Chance(*key)
        cast = Cast(lexicon, chance)
        author = Author(lexicon, cast, key)
        for subject in cast.subjects(_A_VOLUME):
            draft = author.write(subject, (), chance.number(*_ROOM), shuffled_dates=False)
            yield subject.name, draft.text.strip("\n")
        volume += 1


def _shortened(document: str, length: int) -> str:
    """The beginning, in whole sentences, rows and items; at least the heading."""
    lines = document.split("\n")
    size = 0
    for number, line in enumerate(lines):
        if size + len(line) > length and number:
            kept = lines[:number]
            if not line.startswith(_WHOLE):
                kept.append(line[: line.rfind(". ", 0, max(length - size, 0)) + 1])
            return "\n".join(kept).rstrip()
        size += len(line) + 1
    return document
