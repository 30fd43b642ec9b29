"""Reaching a target: how much ballast, or how large the documents, for this endpoint's tokenizer.

What a model adds of its own (calls, reasoning that is sent back, the answer) cannot be computed. It
is learnt from trials that have ended: the rung before, else one calibration trial. So the median
trial lands on the target where the model behaves as it did there; what each trial really reached
is an outcome.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import median

from evalstab.chat import Json
from evalstab.endpoint.counting import TokenCounter
from evalstab.errors import UsageError
from evalstab.series.folder import open_series
from evalstab.task.ballast import VERSION, ballast_language, ballast_messages, length_of
from evalstab.task.brief import opening_messages
from evalstab.task.generate.facts import FactSheet, read_facts
from evalstab.task.generate.make import make_task
from evalstab.task.generate.request import GenerateRequest
from evalstab.task.load import load_task
from evalstab.task.model import Task
from evalstab.task.variation import with_ballast
from evalstab.workflow.prepare import Prepared
from evalstab.workflow.request import RunRequest
from evalstab.workflow.score import SCORES, read_scores

CALIBRATION = "calibration"
"""Folder of the calibration trial, beside the series or ladder that it serves."""

CHARACTERS_A_TOKEN = 3.6
LEAST_BALLAST = 200
"""Tokens below which no ballast is laid: it would not be a turn."""

LEAST_INPUT = 1_000
CLOSE = 0.002
_ROUNDS = 4


@dataclass(frozen=True, slots=True)
class Learnt:
    """What ended trials of a series showed: median active context at the ranking, and time.

    ``ballast`` is the tokens of its earlier turns; ``seconds`` the median of a trial.
    """

    folder: Path
    active: float
    ballast: int
    seconds: float | None = None


@dataclass(frozen=True, slots=True)
class Sized:
    """A series made to reach its target: task, earlier turns, and how that came about."""

    prepared: Prepared
    ballast: tuple[Json, ...] = ()


@dataclass(slots=True)
class Measure:
    """Counts tokens as this endpoint does, or by the ratio that its usage showed."""

    counter: TokenCounter
    characters_a_token: float | None = None
    exact: bool = field(default=True, init=False)

    async def tokens(self, messages: Sequence[Json]) -> int:
        """Tokens of these messages with the request's tools."""
        counted = await self.counter.count(messages) if self.exact else None
        if counted is None:
            self.exact = False
            return round(length_of(list(messages)) / self.ratio)
        self.characters_a_token = length_of(list(messages)) / counted
        return counted

    @property
    def ratio(self) -> float:
        """Characters a token where nobody counts: learnt from usage, else assumed."""
        return self.characters_a_token or CHARACTERS_A_TOKEN

    @property
    def source(self) -> str:
        """Who counted."""
        if self.exact:
            return "tokenizer"
        return "usage" if self.characters_a_token else "estimate"


def learnt_from(root: Path) -> Learnt | None:
    """What a scored series tells of its trials, None where none of them ranked."""
    folder = open_series(root)
    trials = [t for t in read_scores(folder)["trials"] if t.get("ranking")]
    active = [t["active_context_tokens"] for t in trials if t.get("active_context_tokens")]
    seconds = [t["seconds"] for t in trials if t.get("seconds")]
    if not active:
        return None
    ballast = int((folder.file.task.get("sizing") or {}).get("ballast_tokens") or 0)
    return Learnt(root, median(active), ballast, median(seconds) if seconds else None)


def is_generated(task: Task) -> FactSheet | None:
    """How a task was made, None for tasks that nobody can make again at another size."""
    return read_facts(task.folder)


async def sized(
    prepared: Prepared, target: int, learnt: Learnt | None, measure: Measure, place: Path
) -> Sized:
    """The series at its target. ``place`` is an empty folder for a task that is made anew.

    UsageError where the task alone is larger than the target.
    """
    sheet = is_generated(prepared.task)
    if sheet is not None:
        return await _remade(prepared, (target, sheet), learnt, measure, place)
    return await _ballasted(prepared, target, learnt, measure)


async def _ballasted(
    prepared: Prepared, target: int, learnt: Learnt | None, measure: Measure
) -> Sized:
    task = prepared.task
    opening = opening_messages(task)
    base = await measure.tokens(opening)
    natural = learnt.active - learnt.ballast if learnt else await _input(task, measure)
    want = target - natural
    if want < -0.15 * target:
        raise UsageError(
            f"--context {target}: the task alone comes to about {round(natural):,} tokens; ask "
            "for more, or leave --context out"
        )
    messages: list[Json] = []
    got = 0
    characters = max(want, 0) * measure.ratio
    for _ in range(_ROUNDS if want >= LEAST_BALLAST else 0):
        messages = ballast_messages(
            task.spec.language, round(characters), prepared.seed, _names(task)
        )
        got = await measure.tokens(with_ballast(opening, messages)) - base
        if abs(got - want) <= max(CLOSE * target, 20) or got <= 0:
            break
        characters *= want / got
    sizing = _record(target, learnt, measure) | {
        "natural_tokens": round(natural),
        "ballast_tokens": got,
        "ballast_characters": length_of(messages),
        "ballast_messages": len(messages),
        "ballast_language": ballast_language(task.spec.language),
        "ballast_version": VERSION,
    }
    return Sized(replace(prepared, sizing=sizing), tuple(messages))


async def _remade(
    prepared: Prepared,
    wanted: tuple[int, FactSheet],
    learnt: Learnt | None,
    measure: Measure,
    place: Path,
) -> Sized:
    target, sheet = wanted
    own = 0.15 * target
    if learnt is not None:
        before = load_task(open_series(learnt.folder).task_folder, prepared.request.task_overrides)
        own = learnt.active - await _input(before, measure)
    want = max(target - own, LEAST_INPUT)
    task, got = prepared.task, 0
    context = want
    for number in range(_ROUNDS):
        task = _made(prepared, sheet, round(context), place / f"try-{number}")
        got = await _input(task, measure)
        if abs(got - want) <= max(CLOSE * target, 20):
            break
        context *= want / got
    sizing = _record(target, learnt, measure) | {
        "input_tokens": got,
        "own_tokens": round(own),
        "made_from": str(prepared.task.folder.resolve()),
        "context_asked": round(context),
    }
    return Sized(replace(prepared, task=task, sizing=sizing))


def calibration(
    prepared: Prepared, target: int, place: Path, run: Callable[[RunRequest], object]
) -> Learnt | None:
    """What one trial shows of the model's own share, kept in ``place``; done only once.

    A fixed task is asked at its natural size, a generated one made for the smallest target.
    """
    if not (place / SCORES).is_file():
        with tempfile.TemporaryDirectory() as draft:
            task = prepared.request.task
            sheet = is_generated(prepared.task)
            if sheet is not None:
                size = max(round(0.8 * target), LEAST_INPUT)
                task = str(_made(prepared, sheet, size, Path(draft, "task")).folder)
            run(
                replace(
                    prepared.request,
                    task=task,
                    contexts=(),
                    levels=(1,),
                    repeats=1,
                    gate=None,
                    own_seed=prepared.seed,
                    out=place,
                )
            )
    return learnt_from(place)


def _made(prepared: Prepared, sheet: FactSheet, context: int, out: Path) -> Task:
    made = sheet.made
    forms = any(d.kind == "form" for d in prepared.task.spec.deliverables)
    request = GenerateRequest(
        candidates=made.candidates,
        context=context,
        language=made.language,
        domain=made.domain,
        difficulty=made.difficulty,
        seed=made.seed,
        out=out,
        form=forms,
    )
    return load_task(make_task(request), prepared.request.task_overrides)


async def _input(task: Task, measure: Measure) -> int:
    """Tokens of the opening messages and of every document, each read once."""
    documents = "\n\n".join(data.decode("utf-8-sig") for data in task.inputs.values())
    inline = task.spec.tools == "none"
    reading = [] if inline or not documents else [{"role": "user", "content": documents}]
    return await measure.tokens([*opening_messages(task), *reading])


def _names(task: Task) -> list[str]:
    """Names that the ballast must not speak of."""
    return [name for c in task.spec.candidates for name in (c.id, c.name) if name]


def _record(target: int, learnt: Learnt | None, measure: Measure) -> Json:
    return {
        "target": target,
        "tokens_source": measure.source,
        "learnt_from": str(learnt.folder) if learnt else None,
        "learnt_active_tokens": round(learnt.active) if learnt else None,
    }


def told_sizing(sizing: Json) -> str:
    """How the target is reached, in a line for people."""
    by = f"counted by: {sizing['tokens_source']}"
    if "input_tokens" in sizing:
        return (
            f"target {sizing['target']:,} tokens: documents of {sizing['input_tokens']:,}, "
            f"{sizing['own_tokens']:,} left for the model's own ({by})"
        )
    return (
        f"target {sizing['target']:,} tokens: the task comes to {sizing['natural_tokens']:,}, "
        f"earlier turns add {sizing['ballast_tokens']:,} ({by})"
    )
