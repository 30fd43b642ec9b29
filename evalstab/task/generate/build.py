"""Builds a task in memory: truth, common texts, and documents of the wanted size."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby

from evalstab.errors import UsageError
from evalstab.task.brief import brief_text
from evalstab.task.generate.cast import Cast, Subject
from evalstab.task.generate.chance import Chance
from evalstab.task.generate.document import END_MARK, FIRST_MARK, LAST_MARK, Author, Draft, UsedUp
from evalstab.task.generate.facts import Fact
from evalstab.task.generate.lexicon import Lexicon, lexicon_for
from evalstab.task.generate.order import reading_order, unlike_alphabet
from evalstab.task.generate.plan import DIFFICULTIES, Difficulty, Standing, Statement, standings
from evalstab.task.generate.request import GenerateRequest
from evalstab.task.generate.statements import shown
from evalstab.task.generate.texts import Frame, frame, ids
from evalstab.task.model import Truth

VERSION = 1
"""Counts up whenever the same request gives other bytes than before."""

TOLERANCE = 0.02
_CLOSE_ENOUGH = 0.006
_ROUNDS = 8
_STEP_ASIDE = 90
_MARK = re.compile(f"[{chr(FIRST_MARK)}-{chr(LAST_MARK)}{END_MARK}]")


@dataclass(frozen=True, slots=True)
class Built:
    """A task in memory: what the agent will see, what it is measured by, and its size."""

    frame: Frame
    documents: dict[str, str]
    truth: Truth
    facts: tuple[Fact, ...]
    tokens: int
    characters: int


@dataclass(frozen=True, slots=True)
class _Ground:
    """What is the same at every size: the request, its words, and the truth in reading order."""

    request: GenerateRequest
    lexicon: Lexicon
    standings: tuple[Standing, ...]

    @property
    def difficulty(self) -> Difficulty:
        return DIFFICULTIES[self.request.difficulty]


def build(request: GenerateRequest) -> Built:
    """The task at the wanted size; it is written again with more or less room until it fits.

    Raises UsageError where the facts alone are larger than ``context``.
    """
    ground = _ground(request)
    room = int(request.context * request.ratio)
    best: Built | None = None
    for _ in range(_ROUNDS):
        try:
            built = _written(ground, room)
        except UsedUp:
            room -= _STEP_ASIDE
            continue
        missed = abs(built.tokens - request.context)
        if best is None or missed < abs(best.tokens - request.context):
            best = built
        if missed <= _CLOSE_ENOUGH * request.context:
            break
        room += round((request.context - built.tokens) * built.characters / built.tokens)
    if best is None:
        raise UsedUp
    if abs(best.tokens - request.context) > TOLERANCE * request.context:
        least = -(-best.tokens * 17 // 8000) * 500
        raise UsageError(
            f"--context {request.context} has no room for the rubric and the facts about "
            f"{request.candidates} candidates. Ask for about {least} tokens or "
            "more, or for fewer candidates"
        )
    return best


def _ground(request: GenerateRequest) -> _Ground:
    lexicon = lexicon_for(request.language, request.domain)
    key = (VERSION, request.domain, request.difficulty, request.candidates, request.seed)
    chance = Chance("truth", *key)
    best_first = standings(
        lexicon.measured, request.candidates, DIFFICULTIES[request.difficulty], chance
    )
    order = reading_order(request.candidates, chance)
    return _Ground(request, lexicon, tuple(best_first[place] for place in order))


def _written(ground: _Ground, room: int) -> Built:
    """The task with ``room`` characters for everything."""
    request, lexicon = ground.request, ground.lexicon
    seed = (VERSION, request.domain, request.language, request.difficulty, request.seed)
    cast = Cast(lexicon, Chance("cast", *seed))
    subjects = _subjects(cast, ground, Chance("names", *seed))
    around = frame(request, lexicon, subjects, cast)
    left = room - len(_opening(around)) - sum(map(len, around.inputs.values()))
    author = Author(lexicon, cast, seed)
    lengths = Chance("lengths", *seed)
    weights = [0.75 + 0.5 * lengths.unit() for _ in subjects]
    drafts: list[Draft] = []
    for index, (subject, standing) in enumerate(zip(subjects, ground.standings, strict=True)):
        share = int(left * weights[index] / sum(weights[index:]))
        shuffled = ground.difficulty.shuffled_dates
        draft = author.write(subject, standing.statements, share, shuffled_dates=shuffled)
        left -= len(draft.text) - 2 * len(draft.facts)
        drafts.append(draft)
    return _located(ground, around, drafts)


def _located(ground: _Ground, around: Frame, drafts: list[Draft]) -> Built:
    """Marks become places: the facts, their depth in the whole input, and its size."""
    common = [around.inputs[path] for path in sorted(around.inputs)]
    before = [_opening(around), *common]
    names = ids(ground.lexicon, len(drafts))
    paths = [c.file or c.id for c in around.spec.candidates]
    texts = [_MARK.sub("", draft.text) for draft in drafts]
    whole = sum(map(len, [*before, *texts]))
    offset = sum(map(len, before))
    facts: list[Fact] = []
    for name, path, draft in zip(names, paths, drafts, strict=True):
        for start, end, index in _places(draft.text):
            statement, section = draft.facts[index]
            facts.append(
                Fact(
                    candidate=name,
                    criterion=statement.criterion,
                    role=statement.role,
                    origin=statement.origin,
                    date=section.when,
                    file=path,
                    start=start,
                    end=end,
                    depth=round((offset + start) / whole, 5),
                    value=_value(ground.lexicon, statement),
                    points=statement.points,
                )
            )
        offset += len(draft.text) - 2 * len(draft.facts)
    request = ground.request
    count = request.count_tokens or (lambda text: round(len(text) / request.ratio))
    return Built(
        frame=around,
        documents=dict(zip(paths, texts, strict=True)),
        truth=_truth(dict(zip(names, ground.standings, strict=True))),
        facts=tuple(facts),
        tokens=sum(map(count, [*before, *texts])),
        characters=whole,
    )


def _places(text: str) -> Iterator[tuple[int, int, int]]:
    """Start, end and number of each marked fact, as if there were no marks."""
    begun = number = 0
    for removed, mark in enumerate(_MARK.finditer(text)):
        if mark[0] == END_MARK:
            yield begun, mark.start() - removed, number
        else:
            begun, number = mark.start() - removed, ord(mark[0]) - FIRST_MARK


def _value(lexicon: Lexicon, statement: Statement) -> str | None:
    if statement.criterion is None or statement.value is None:
        return None
    measured = next(m for m in lexicon.measured if m.id == statement.criterion)
    return shown(lexicon, measured, statement.value, unit=True)


def _truth(ranked: dict[str, Standing]) -> Truth:
    best_first = sorted(ranked, key=lambda name: (-ranked[name].total, name))
    groups = groupby(best_first, key=lambda name: ranked[name].total)
    return Truth(
        order=tuple(tuple(group) for _, group in groups),
        totals={name: standing.total for name, standing in ranked.items()},
        criteria={name: dict(standing.points) for name, standing in ranked.items()},
    )


def _subjects(cast: Cast, ground: _Ground, chance: Chance) -> list[Subject]:
    subjects = cast.subjects(ground.request.candidates)
    totals = sorted({standing.total for standing in ground.standings}, reverse=True)
    ranks = [totals.index(standing.total) for standing in ground.standings]
    order = unlike_alphabet([subject.name for subject in subjects], ranks, chance)
    return [subjects[position] for position in order]


def _opening(around: Frame) -> str:
    """The opening message of a trial, as long as it will be."""
    prompt = around.prompt.strip("\n")
    return f"{prompt}\n\n{brief_text(around.spec)}"
