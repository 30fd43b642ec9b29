"""The wording of a language and a domain, read from the data files of this package."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

_DATA = Path(__file__).parent / "data"

Words = tuple[str, ...]
Origin = Literal["own", "third"]


@dataclass(frozen=True, slots=True)
class Noun:
    """A noun; ``gender`` is m, f or n in German and empty in English."""

    word: str
    gender: str = ""


@dataclass(frozen=True, slots=True)
class Person:
    """Somebody of the staff, or a candidate who is a person."""

    first: str
    surname: str
    female: bool


@dataclass(frozen=True, slots=True)
class Action:
    """What somebody does: finite verb in the past, separable prefix, participle, the rest."""

    verb: str
    prefix: str
    participle: str
    rest: str


@dataclass(frozen=True, slots=True)
class SectionKind:
    """A kind of section that documents of a domain have."""

    genre: str
    origin: Origin
    titles: Words


@dataclass(frozen=True, slots=True)
class Measured:
    """What a criterion measures, without words.

    ``points`` by level, 0 to 5. ``bands`` holds the values of each level in units of ``scale``,
    both ends inclusive, in steps of ``step``; it is empty where the value is one of some words.
    """

    id: str
    points: tuple[int, ...]
    bands: tuple[tuple[float, float], ...] = ()
    step: float = 1
    scale: int = 1
    decimals: int = 0


@dataclass(frozen=True, slots=True)
class Wording:
    """A criterion in words: title, unit, explanation, sentences that state a value."""

    title: str
    unit: str
    about: str
    say: Words
    words: Words = ()
    fewer: bool = False

    @property
    def label(self) -> str:
        """What is measured, short enough for a table's cell."""
        return self.about.split(",")[0].split(";")[0]


@dataclass(frozen=True, slots=True)
class Lexicon:
    """All wording of a language and a domain.

    ``texts`` are the single texts (prompt, headings, file names), ``lists`` the alternatives by
    name, ``forms`` the shapes of sentences by use, ``actions`` and ``titles`` go by topic.
    """

    language: str
    domain: str
    nouns: Mapping[str, tuple[Noun, ...]]
    adjectives: Mapping[str, Words]
    actions: Mapping[str, tuple[Action, ...]]
    titles: Mapping[str, Words]
    lists: Mapping[str, Words]
    forms: Mapping[str, Words]
    texts: Mapping[str, str]
    measured: tuple[Measured, ...]
    wording: Mapping[str, Wording]
    sections: tuple[SectionKind, ...]


@lru_cache(maxsize=16)
def lexicon_for(language: str, domain: str) -> Lexicon:
    """The lexicon of a language ("de", "en") and a domain; read once."""
    words, own = _toml(f"words.{language}.toml"), _toml(f"{domain}.{language}.toml")
    names = _toml("names.toml")[language]
    texts = {**words["texts"], **{k: v for k, v in own.items() if isinstance(v, str)}}
    lists = {**words["lists"], **own["lists"], **names}
    lists |= {key: own[key] for key in ("topics", "own", "third", "names")}
    lists |= {key: own[key] for key in ("report_headings", "form_fields")}
    return Lexicon(
        language=language,
        domain=domain,
        nouns={k: tuple(map(_noun, v)) for k, v in _both(words, own, "nouns").items()},
        adjectives=_tuples(_both(words, own, "adjectives")),
        actions={k: tuple(map(_action, v)) for k, v in _both(words, own, "actions").items()},
        titles=_tuples(_both(words, own, "titles")),
        lists=_tuples(lists),
        forms=_tuples(words["forms"]),
        texts=texts,
        measured=tuple(map(_measured, _toml(f"{domain}.toml")["criteria"])),
        wording={key: _wording(value) for key, value in own["criteria"].items()},
        sections=tuple(
            SectionKind(s["genre"], s["origin"], tuple(s["titles"])) for s in own["sections"]
        ),
    )


def _toml(name: str) -> dict[str, Any]:
    return tomllib.loads((_DATA / name).read_text(encoding="utf-8"))


def _both(words: dict[str, Any], own: dict[str, Any], key: str) -> dict[str, Any]:
    return {**words[key], **own[key]}


def _tuples(table: Mapping[str, Any]) -> dict[str, Words]:
    return {key: tuple(value) for key, value in table.items()}


def _noun(text: str) -> Noun:
    word, _, gender = text.rpartition(" ")
    return Noun(word, gender) if word and gender in {"m", "f", "n"} else Noun(text)


def _action(text: str) -> Action:
    verb, prefix, participle, rest = text.split("|")
    return Action(verb, prefix, participle or verb, rest)


def _measured(entry: dict[str, Any]) -> Measured:
    bands = tuple((low, high) for low, high in entry.get("bands", ()))
    decimals = entry.get("decimals", 0)
    step = entry.get("step", 10**-decimals)
    points = tuple(entry["points"])
    return Measured(entry["id"], points, bands, step, entry.get("scale", 1), decimals)


def _wording(entry: dict[str, Any]) -> Wording:
    return Wording(
        title=entry["title"],
        unit=entry["unit"],
        about=entry["about"],
        say=tuple(entry["say"]),
        words=tuple(entry.get("words", ())),
        fewer=entry.get("fewer", False),
    )
