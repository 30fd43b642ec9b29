"""First divergence: where trials with identical requests begin to differ.

Compared are trials whose first messages, tools, request fields and seed are the same, so that up to
the first answer that differs every request was identical too. At temperature 0 a difference cannot
come from sampling: it is the engine's (batching, caches, reduction order).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import combinations
from statistics import median

import msgspec

from evalstab.chat import Json
from evalstab.endpoint.base import Reply
from evalstab.errors import FolderError
from evalstab.measures.base import Fact, Measured, SeriesMeasure, put
from evalstab.measures.series_view import ScoredTrial, SeriesView
from evalstab.measures.texts import reply_pieces
from evalstab.trial.record import Step, read_events, record_in

MOST_PAIRS = 5_000
"""Pairs compared; a thousand trials have half a million."""

_BEFORE, _AFTER = 80, 160


def compute(series: SeriesView) -> Measured:
    """Shares of pairs that agree, the step where they part, and one such place in both texts."""
    pairs = list(_pairs(series.answered))
    values: Json = {"pairs": len(pairs)}
    parts = [_parting(one, other) for one, other in pairs]
    if not pairs:
        reason = "no two answered trials had identical requests"
        for key in ("identical_first_answers", "identical_throughout", "first_step", "example"):
            put(values, key, None, reason)
    else:
        values["identical_first_answers"] = sum(p is None or p > 1 for p in parts) / len(pairs)
        values["identical_throughout"] = sum(p is None for p in parts) / len(pairs)
        known = [p for p in parts if p is not None]
        step = {"least": min(known), "median": float(median(known))} if known else None
        put(values, "first_step", step, "no answers differ")
        put(values, "example", _example(series, pairs, parts), "no answers differ")
    _cause(values, series, parts)
    return Measured({"divergence": values})


def _pairs(trials: Sequence[ScoredTrial]) -> Iterator[tuple[ScoredTrial, ScoredTrial]]:
    alike: dict[str, list[ScoredTrial]] = defaultdict(list)
    for trial in trials:
        facts = trial.facts
        alike[repr((facts.opening, facts.tools, sorted(facts.fields.items()), facts.seed))].append(
            trial
        )
    count = 0
    for group in alike.values():
        for pair in combinations(group, 2):
            if count == MOST_PAIRS:
                return
            count += 1
            yield pair


def _parting(one: ScoredTrial, other: ScoredTrial) -> int | None:
    """The first step whose answers differ, from 1; None where all are the same."""
    a, b = one.facts.answers, other.facts.answers
    for number, (first, second) in enumerate(zip(a, b, strict=False), 1):
        if first != second:
            return number
    return None if len(a) == len(b) else min(len(a), len(b)) + 1


def _cause(values: Json, series: SeriesView, parts: Sequence[int | None]) -> None:
    temperatures = {trial.facts.fields.get("temperature") for trial in series.judged}
    temperature = temperatures.pop() if len(temperatures) == 1 else None
    put(values, "temperature", temperature, "the client sent none: the server's own holds")
    differ = any(part is not None for part in parts)
    engine = None
    reason = "needs two trials with identical requests"
    if parts:
        reason = "sampling alone explains differences at this temperature"
        if temperature is None:
            reason = "the temperature is not known"
        elif temperature == 0:
            engine = differ
    put(values, "engine_nondeterministic", engine, reason)


def _example(
    series: SeriesView,
    pairs: Sequence[tuple[ScoredTrial, ScoredTrial]],
    parts: Sequence[int | None],
) -> Json | None:
    """Both texts at the earliest place where two trials part."""
    known = [(part, pair) for part, pair in zip(parts, pairs, strict=True) if part is not None]
    if not known:
        return None
    step, pair = min(known, key=lambda one: one[0])
    replies = [_reply(series, trial.index, step) for trial in pair]
    channel, at, texts = _difference(*(_channels(reply) for reply in replies))
    return {
        "step": step,
        "trials": [trial.index for trial in pair],
        "channel": channel,
        "at": at,
        "texts": texts,
    }


def _reply(series: SeriesView, index: int, step: int) -> Reply | None:
    """The ``step``-th answer of a trial, as ``facts.answers`` counts them."""
    path = record_in(series.root / "trials" / f"{index:03d}")
    number = 0
    try:
        for event in read_events(path):
            if isinstance(event, Step) and event.reply is not None:
                number += 1
                if number == step:
                    return event.reply
    except (FolderError, OSError, msgspec.MsgspecError):
        return None
    return None


def _channels(reply: Reply | None) -> dict[str, str]:
    texts: dict[str, list[str]] = defaultdict(list)
    for piece in reply_pieces(reply) if reply is not None else ():
        texts[piece.channel].append(piece.text)
    return {channel: "\n".join(pieces) for channel, pieces in texts.items()}


def _difference(one: dict[str, str], other: dict[str, str]) -> tuple[str, int, list[str]]:
    """Channel, offset of the first different character, and both texts around it."""
    for channel in ("reasoning", "content", "arguments", "file"):
        a, b = one.get(channel, ""), other.get(channel, "")
        if a != b:
            shared = zip(a, b, strict=False)
            at = next((i for i, (x, y) in enumerate(shared) if x != y), min(len(a), len(b)))
            start = max(0, at - _BEFORE)
            return channel, at, [text[start : at + _AFTER] for text in (a, b)]
    return "calls", 0, ["", ""]


def _fact(key: str, meaning: str, unit: str, limits: str = "") -> Fact:
    return Fact(f"divergence.{key}", meaning, unit, limits)


MEASURE = SeriesMeasure(
    name="divergence",
    meaning="Where trials with identical requests begin to differ.",
    facts=(
        _fact("pairs", "Pairs of trials with identical requests.", "pairs", "0 and more"),
        _fact(
            "identical_first_answers",
            "Share of these pairs whose first answers are the same, word for word.",
            "share",
            "0 to 1",
        ),
        _fact("identical_throughout", "Share of pairs that never differ.", "share", "0 to 1"),
        _fact("first_step", "First step that differs: the least and the median of pairs.", "step"),
        _fact("example", "The earliest such place: both texts around it.", "object"),
        _fact("temperature", "Temperature as sent.", "number", "0 and more"),
        _fact(
            "engine_nondeterministic",
            "Whether answers differ at temperature 0; null at any other temperature.",
            "yes or no",
            "true, false",
        ),
    ),
    compute=compute,
)
