"""Reading scores.json and series.json: what is there, what is null, and why."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from statistics import median
from typing import Any

from evalstab.chat import Json
from evalstab.report import labels

NOT_STATED = "no reason stated"


@dataclass(frozen=True, slots=True)
class Facts:
    """The scores of a series with the few counts that every section needs.

    ``valid`` are the trials that came to an end and say something about the model: completed or
    failed, but neither spoilt by the rig (invalid) nor cut off before their end (aborted).
    ``ranked`` are those with a ranking. ``planned`` is never below the number of trials.
    """

    scores: Json
    series: Json
    trials: tuple[Json, ...]
    valid: tuple[Json, ...]
    ranked: tuple[Json, ...]
    planned: int
    candidates: tuple[str, ...]
    stability: Json = field(default_factory=dict)

    @property
    def wins(self) -> dict[str, int]:
        """In how many trials each candidate stood first, alone or tied; most often first."""
        counts = block(block(self.stability, "winner"), "counts")
        known = {who: int(number(counts, who) or 0) for who in counts}
        return dict(sorted(known.items(), key=lambda item: (-item[1], item[0])))

    @property
    def unasked(self) -> bool:
        """Whether no task was named: nothing was asked for, and no ranking is judged."""
        return bool(self.trials) and all(
            number(trial, "deliverables", "expected") == 0 for trial in self.trials
        )

    @property
    def context(self) -> float | None:
        """Median active context of the valid trials, None where no trial states one."""
        sizes = numbers_of(self.valid, "active_context_tokens")
        return median(sizes) if sizes else None

    @property
    def context_source(self) -> str:
        """Who counted the tokens: server, tokenizer, estimate, or several of them."""
        known = {t.get("tokens_source") for t in self.valid if t.get("active_context_tokens")}
        return ", ".join(sorted(str(source) for source in known if source))


def facts_of(scores: Json) -> Facts:
    """Take the scores apart; lists and blocks that are null count as empty."""
    trials = tuple(t for t in scores.get("trials") or () if isinstance(t, dict))
    valid = tuple(t for t in trials if t.get("outcome") in ("completed", "failed"))
    series = block(scores, "series")
    stability = block(scores, "stability")
    planned = int(number(series, "repeats_planned") or 0)
    return Facts(
        scores=scores,
        series=series,
        trials=trials,
        valid=valid,
        ranked=tuple(t for t in valid if t.get("ranking")),
        planned=max(planned, len({t.get("index") for t in trials})),
        candidates=tuple(block(stability, "candidates")),
        stability=stability,
    )


def block(parent: Mapping[str, Any], key: str) -> Json:
    """The object under a key, empty where it is null or missing."""
    value = parent.get(key)
    return value if isinstance(value, dict) else {}


def number(parent: Mapping[str, Any], *path: str) -> float | None:
    """The number at the end of a path of keys, None where any part is null or missing."""
    for key in path[:-1]:
        parent = block(parent, key)
    value = parent.get(path[-1])
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return value


def reason(parent: Mapping[str, Any], key: str) -> str:
    """Why a value is null, in the words of who measured it."""
    return labels.sentence(parent.get(f"{key}_reason") or NOT_STATED)


def numbers_of(parents: tuple[Json, ...], *path: str) -> list[float]:
    """The known numbers under a path of keys, one a parent at most, in order."""
    found = (number(parent, *path) for parent in parents)
    return [value for value in found if value is not None]


def index(trial: Json) -> str:
    """A trial's number as it is named everywhere."""
    return str(trial.get("index", "?"))


def is_complete(trial: Json) -> bool:
    """Whether a trial delivered every file that was asked; false where that is not known."""
    expected = number(trial, "deliverables", "expected")
    return expected is not None and number(trial, "deliverables", "complete") == expected
