"""Reworded loops: the same analysis again in other words, and honest length.

No absolute number tells a reworded loop from a long honest analysis: all measures drift with
length. A profile is therefore judged against profiles of other trials of the same task.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import median
from typing import Literal

import numpy as np
import numpy.typing as npt

from .tokens import Ids, Tokens, gram_hashes, seen_before, token_keys, tokenise

CHUNK = 60
TAIL = 2000
GRAM = 6
MIN_TOKENS = 1500
MIN_REFERENCES = 8
LENGTH_BAND = 0.25
DEVIATIONS = 4.0
REPEAT = 12

Measure = Literal["tfidf_tail", "seen_6grams", "new_pairs"]
_MEASURES: tuple[Measure, ...] = ("tfidf_tail", "seen_6grams", "new_pairs")
_ABSOLUTE: dict[Measure, float] = {"tfidf_tail": 0.60, "seen_6grams": 0.75, "new_pairs": 0.10}
_MIN_SPREAD: dict[Measure, float] = {"tfidf_tail": 0.01, "seen_6grams": 0.02, "new_pairs": 0.02}
_MAX_TOKENS = 400_000
_MAX_FACTS = 24


@dataclass(frozen=True, slots=True)
class RewordingProfile:
    """How much the last 2,000 tokens of a text repeat what stands before them.

    `tfidf_tail`: median over the 60-token chunks of the tail of the highest TF-IDF cosine to
    any earlier chunk, 0 to 1, high is repetitive. `seen_6grams`: share of the tail's 6-grams
    that occurred before, 0 to 1, high is repetitive. `new_pairs`: share of the pairs of names
    and numbers within a chunk of the tail that never stood in one chunk before, 0 to 1, low is
    repetitive; None when the tail has fewer than 20 such pairs. All are None, with `reason`,
    under 1,500 tokens. `tokens` counts words, in scripts without word spaces characters.
    """

    tokens: int
    tfidf_tail: float | None
    seen_6grams: float | None
    new_pairs: float | None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class RewordingJudgement:
    """Whether a text runs in a reworded loop; a hint for a reader, never a fault by itself.

    `reworded` is None when it cannot be told, with `reason`. `basis` says what it was compared
    with: "same_length" (references within a quarter of its length), "regression" (references of
    other lengths, corrected), "absolute" (fixed limits). `over` names the measures beyond their
    `limits`; two must agree.
    """

    reworded: bool | None
    basis: Literal["same_length", "regression", "absolute", "none"]
    over: tuple[Measure, ...]
    limits: dict[Measure, float]
    reason: str | None = None


def rewording_profile(text: str) -> RewordingProfile:
    """Measure a text; texts above 400,000 tokens are measured on their last 400,000."""
    tokens = tokenise(text)
    if len(tokens) < MIN_TOKENS:
        return RewordingProfile(len(tokens), None, None, None, "fewer than 1,500 tokens")
    ids = tokens.ids[-_MAX_TOKENS:]
    tail = min(TAIL, len(ids) // 3)
    return RewordingProfile(
        tokens=len(tokens),
        tfidf_tail=_tfidf_tail(ids, tail),
        seen_6grams=_seen_share(ids, tail),
        new_pairs=_new_pairs(text, tokens, tail),
    )


def judge_rewording(
    profile: RewordingProfile, references: Sequence[RewordingProfile]
) -> RewordingJudgement:
    """Compare a profile with those of other trials of the same task (its own left out).

    A measure is beyond its limit when it is further than four median absolute deviations from
    the references' median on the repetitive side; with eight references within a quarter of
    the length these are used, else eight of any length after a regression on the logarithm of
    the length. With fewer, or when the references themselves are beyond the fixed limits (all
    may loop), the fixed limits decide.
    """
    if profile.tfidf_tail is None:
        return RewordingJudgement(None, "none", (), {}, profile.reason)
    usable = [reference for reference in references if reference.tfidf_tail is not None]
    near = [
        reference
        for reference in usable
        if abs(reference.tokens - profile.tokens) <= LENGTH_BAND * profile.tokens
    ]
    basis: Literal["same_length", "regression", "absolute"] = "absolute"
    limits: dict[Measure, float] = dict(_ABSOLUTE)
    if len(near) >= MIN_REFERENCES and not _all_repetitive(near):
        basis, limits = "same_length", _limits(profile, near, regress=False)
    elif len(usable) >= MIN_REFERENCES and not _all_repetitive(usable):
        basis, limits = "regression", _limits(profile, usable, regress=True)
    over = tuple(measure for measure in _MEASURES if _beyond(profile, measure, limits))
    return RewordingJudgement(len(over) >= 2, basis, over, limits)


def repeated_share(text: str) -> float | None:
    """Share of tokens inside a run of 12 tokens that occurred before, 0 to 1.

    None for fewer than 100 tokens.
    """
    keys = token_keys(text)
    if len(keys) < 100:
        return None
    seen = seen_before(gram_hashes(keys, REPEAT))
    covered = np.zeros(len(keys), dtype=np.bool_)
    for offset in range(REPEAT):
        covered[offset : offset + len(seen)] |= seen
    return float(np.mean(covered))


@dataclass(frozen=True, slots=True)
class Runaway:
    """A text that is far longer than usual and still says new things: no loop.

    `tokens` is its length, `limit` what it exceeds, `new_share` the part of the last 2,000
    tokens' 6-grams that stood nowhere before, 0 to 1.
    """

    tokens: int
    limit: float
    new_share: float


def runaway(
    profile: RewordingProfile,
    usual_tokens: float | None = None,
    minimum_tokens: int = 16_000,
) -> Runaway | None:
    """A runaway, or None for a text of ordinary length or one that only repeats itself.

    Too long is three times `usual_tokens` (the median of the other trials), and never less than
    `minimum_tokens`. Progressing means that at least a quarter of the tail's 6-grams are new.
    """
    limit = max(float(minimum_tokens), 3.0 * (usual_tokens or 0.0))
    if profile.seen_6grams is None or profile.tokens <= limit:
        return None
    new_share = 1.0 - profile.seen_6grams
    return Runaway(profile.tokens, limit, new_share) if new_share >= 0.25 else None


def _tfidf_tail(ids: Ids, tail: int) -> float:
    chunk_of = np.arange(len(ids)) // CHUNK
    chunks, vocabulary = int(chunk_of[-1]) + 1, int(ids.max()) + 1
    cells, counts = np.unique(chunk_of * vocabulary + ids, return_counts=True)
    rows, columns = cells // vocabulary, cells % vocabulary
    rarity = np.log(chunks / np.bincount(columns, minlength=vocabulary).clip(1)) + 1e-9
    weights = (1.0 + np.log(counts)) * rarity[columns]
    norms = np.sqrt(np.bincount(rows, weights**2, minlength=chunks)).clip(1e-12)
    weights = weights / norms[rows]
    best: list[float] = []
    last = chunks if len(ids) % CHUNK == 0 else chunks - 1
    for chunk in range(max(1, (len(ids) - tail) // CHUNK), max(2, last)):
        vector = np.zeros(vocabulary)
        inside = slice(*np.searchsorted(rows, (chunk, chunk + 1)))
        vector[columns[inside]] = weights[inside]
        earlier = slice(0, int(np.searchsorted(rows, chunk)))
        products = weights[earlier] * vector[columns[earlier]]
        best.append(float(np.bincount(rows[earlier], products, minlength=chunk).max()))
    return float(median(best))


def _seen_share(ids: Ids, tail: int) -> float:
    seen = seen_before(gram_hashes(ids, GRAM))
    return float(seen[-tail:].mean())


def _new_pairs(text: str, tokens: Tokens, tail: int) -> float | None:
    """Share of new pairs of facts in the tail; a fact is a capitalised word or a number."""
    start = max(0, len(tokens) - _MAX_TOKENS)
    ids = tokens.ids[start:]
    first = (len(ids) - tail) // CHUNK
    known: set[int] = set()
    fresh = total = 0
    facts_of = _facts(text, tokens.starts[start:])
    vocabulary = int(ids.max()) + 1
    for number in range(0, (len(ids) + CHUNK - 1) // CHUNK):
        inside = slice(number * CHUNK, (number + 1) * CHUNK)
        facts = sorted(set(ids[inside][facts_of[inside]].tolist()))[:_MAX_FACTS]
        pairs = {upper * vocabulary + lower for upper, lower in combinations(facts, 2)}
        if number >= first:
            total += len(pairs)
            fresh += len(pairs - known)
        known |= pairs
    return fresh / total if total >= 20 else None


def _facts(text: str, starts: Ids) -> npt.NDArray[np.bool_]:
    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype="<u4")
    letters, of = np.unique(codes[starts], return_inverse=True)
    chars = map(chr, letters.tolist())
    return np.array([char.isdigit() or char.isupper() for char in chars], dtype=np.bool_)[of]


def _beyond(profile: RewordingProfile, measure: Measure, limits: dict[Measure, float]) -> bool:
    value: float | None = getattr(profile, measure)
    if value is None or measure not in limits:
        return False
    return value < limits[measure] if measure == "new_pairs" else value > limits[measure]


def _all_repetitive(references: Sequence[RewordingProfile]) -> bool:
    """True when most references are themselves beyond two of the fixed limits."""
    looping = [
        sum(_beyond(reference, measure, _ABSOLUTE) for measure in _MEASURES) >= 2
        for reference in references
    ]
    return 2 * sum(looping) > len(looping)


def _limits(
    profile: RewordingProfile, references: Sequence[RewordingProfile], *, regress: bool
) -> dict[Measure, float]:
    limits: dict[Measure, float] = {}
    for measure in _MEASURES:
        points = [
            (float(np.log(reference.tokens)), float(value))
            for reference in references
            if (value := getattr(reference, measure)) is not None
        ]
        if len(points) < MIN_REFERENCES:
            continue
        lengths, values = np.array(points).T
        slope = _slope(lengths, values) if regress else 0.0
        values = values + slope * (np.log(profile.tokens) - lengths)
        centre = float(np.median(values))
        spread = max(float(np.median(np.abs(values - centre))), _MIN_SPREAD[measure])
        away = -DEVIATIONS if measure == "new_pairs" else DEVIATIONS
        limits[measure] = centre + away * spread
    return limits


def _slope(x: npt.NDArray[np.float64], y: npt.NDArray[np.float64]) -> float:
    """Theil-Sen slope: the median over all pairs, which outliers do not move."""
    upper, lower = np.triu_indices(len(x), k=1)
    run = x[lower] - x[upper]
    apart = np.abs(run) > 0.05
    return float(np.median((y[lower] - y[upper])[apart] / run[apart])) if apart.any() else 0.0
