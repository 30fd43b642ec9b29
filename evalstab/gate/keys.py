"""The keys that a rule may be about, and how they are found in scores.json.

Numbers are addressed by dotted path (``stability.scale.cv``); ``trials.PATH`` is the mean of a
trial's number over the trials. Trials are counted by what they have: see ``COUNTS``.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from evalstab.errors import nearest
from evalstab.findings import CODES
from evalstab.measures.catalogue import SERIES_MEASURES, TRIAL_MEASURES
from evalstab.statistics.pairwise import PairStatistic

PAIR_METRICS: dict[str, PairStatistic] = {
    "stability.kendall_tau.mean": "kendall_tau",
    "stability.weighted_tau": "weighted_tau",
    "stability.spearman": "spearman",
    "stability.rbo": "rbo",
}
"""Means over pairs of trials, judged by the REG interval."""

PAIR_AGREEMENT = "stability.winner.pair_agreement"
SPREADS = ("stability.scale.cv", "stability.scale.log_sd", "stability.scale.sd")
"""Spreads of the top scores, judged by chi-squared intervals."""

RATES = {"stability.success_rate": "ranked", "stability.winner.modal_share": "winner_modal"}
"""Shares in scores.json that are rates over trials, and what is counted for them."""

COUNTS: dict[str, str] = {
    "deliverables_incomplete": "trials that did not deliver every file as asked",
    "unranked": "trials without a usable ranking",
    "ranked": "trials with a usable ranking",
    "winner_modal": "trials won by the most frequent winner",
    "winner_other": "ranked trials not won by the most frequent winner",
    "resumed": "trials that were interrupted and resumed",
    "crashes": "attempts lost because the server died, was restarted, or lost its hardware",
    "attrition": "attempts lost to anything but the model",
}
PREFIXES: dict[str, str] = {
    "trial_has": "trials with a finding: a code, tool.unfinished, family.*, several with |",
    "trial_outcome": "trials that ended so: completed, failed, aborted, invalid",
    "trial_winner": "trials won by this candidate alone",
    "trial_true": "trials in which this yes/no value is true",
    "attrition": "attempts lost to this cause: a code or family.*",
    "series_has": "1 if the series has this finding, else 0",
}
OUTCOMES = ("completed", "failed", "aborted", "invalid")

_NO_NUMBER = frozenset({"list", "candidate", "texts", "text", "place", "word", "yes or no"})
_SHARES = ("value", "ci_low", "ci_high")
_QUARTILES = ("n", "p0", "p25", "p50", "p75", "p100")
_INSIDE: dict[str, tuple[str, ...]] = {
    "language.leak_rate": _SHARES,
    "reasoning.tokens": _QUARTILES,
    "reasoning.largest_block_tokens": _QUARTILES,
    "reasoning.tokens_per_step": _QUARTILES,
}
"""Objects behind a fact's key: what numbers stand in them."""

_OPEN: dict[str, tuple[str, ...]] = {
    "stability.candidates": ("best", "worst", "range", "sd"),
    "language.leak_rate_by_channel": _SHARES,
}
"""Objects by name (of a candidate, a channel): what numbers each of them has."""

_NAMED = (
    "stability.winner.counts",
    "series.attrition",
    "trials.totals",
    "trials.language.channels",
    "trials.language.kinds",
    "trials.language.scripts",
)
"""Objects whose values are numbers, by any name."""

_CANDIDATES = (
    ("trial_winner:", False),
    ("stability.candidates.", True),
    ("stability.winner.counts.", False),
    ("trials.totals.", False),
)
"""Beginnings of keys that name a candidate, and whether a number of its own stands behind it."""

_OWN = (
    *(f"series.{key}" for key in ("repeats_planned", "repeats_done", "attempts", "invalid")),
    "series.context_target",
    "stability.scale.sd",
    "stability.scale.range",
    "stability.kendall_tau.pairs_tied",
    "stability.kendall_tau.pairs_few_common",
    "trials.seconds",
    "trials.steps",
)


def known_keys() -> list[str]:
    """Every number of scores.json that can be named without knowing the task."""
    keys = set(_OWN)
    for measure in SERIES_MEASURES:
        for fact in measure.facts:
            if fact.key in _INSIDE:
                keys |= {f"{fact.key}.{inner}" for inner in _INSIDE[fact.key]}
            elif fact.unit not in _NO_NUMBER and fact.key not in {*_OPEN, *_NAMED}:
                keys.add(fact.key)
    for trial in TRIAL_MEASURES:
        keys |= {f"trials.{f.key}" for f in trial.facts if f.unit not in _NO_NUMBER}
    return sorted(keys - {*_NAMED, "trials.criteria"})


def check_key(key: str) -> None:
    """ValueError, with the nearest known one, for a key that scores.json cannot have."""
    keys = known_keys()
    if key in keys or any(key.startswith(f"{name}.") for name in _NAMED):
        return
    for name, inner in _OPEN.items():
        if key.startswith(f"{name}.") and key.rpartition(".")[2] in inner:
            return
    examples = [f"{name}.ID.{word}" for name, words in _OPEN.items() for word in words]
    raise ValueError(f"unknown key {key!r}. {_hint(key, [*keys, *examples])}")


def check_metric_key(key: str, *, upward: bool, threshold: float) -> None:
    """ValueError where no interval is known for the key, or no number of trials shows the bound."""
    check_key(key)
    agreement = key in PAIR_METRICS or key == PAIR_AGREEMENT
    if agreement and not upward:
        raise ValueError(f"{key} is asked for with min: more agreement is better")
    if agreement and threshold >= 1:
        raise ValueError(f"no number of trials shows an agreement of {threshold:g}")
    if not (agreement or is_spread(key) or key.startswith("trials.")):
        if key in RATES:
            raise ValueError(f"{key} is a rate: write rate = {key!r}")
        known = [*PAIR_METRICS, PAIR_AGREEMENT, *SPREADS]
        raise ValueError(
            f"no interval is known for {key}: write value = {key!r}, or use one of "
            f"{', '.join(known)}, stability.candidates.ID.sd, trials.KEY"
        )


def is_spread(key: str) -> bool:
    """Whether the key is a standard deviation (or CV) over trials."""
    return key in SPREADS or (key.startswith("stability.candidates.") and key.endswith(".sd"))


def check_count_key(key: str) -> None:
    """ValueError, with the nearest known one, for something that cannot be counted."""
    if key in COUNTS or key in RATES:
        return
    prefix, colon, rest = key.partition(":")
    if not colon or prefix not in PREFIXES:
        raise ValueError(f"unknown count {key!r}. {_hint(key, [*COUNTS, *RATES, *PREFIXES])}")
    if not rest:
        raise ValueError(f"{key!r} names nothing: {PREFIXES[prefix]}")
    if prefix in ("trial_has", "attrition", "series_has"):
        for pattern in rest.split("|"):
            _check_pattern(pattern)
    if prefix == "trial_outcome" and rest not in OUTCOMES:
        raise ValueError(f"unknown outcome {rest!r}. {_hint(rest, OUTCOMES)}")
    if prefix == "trial_true":
        known = [f.key for m in TRIAL_MEASURES for f in m.facts if f.unit == "yes or no"]
        if rest not in known:
            raise ValueError(f"unknown yes/no value {rest!r}. {_hint(rest, known)}")


def candidate_of(key: str) -> str | None:
    """The candidate that a key names; None for a key that names none."""
    for prefix, end in _CANDIDATES:
        if not key.startswith(prefix):
            continue
        rest = key.removeprefix(prefix)
        return rest.rpartition(".")[0] if end else rest
    return None


def counts_attempts(key: str) -> bool:
    """Whether the count is over attempts and trials that were lost, not over judged trials."""
    if key in ("crashes", "trial_outcome:invalid", "trial_outcome:aborted"):
        return True
    return key.partition(":")[0] == "attrition"


def find(document: Any, path: str) -> Any:
    """The value under a dotted path, None where there is none; names may hold dots themselves."""
    if not path:
        return document
    if not isinstance(document, dict):
        return None
    parts = path.split(".")
    for length in range(len(parts), 0, -1):
        key = ".".join(parts[:length])
        if key in document:
            return find(document[key], ".".join(parts[length:]))
    return None


def find_number(document: Any, path: str) -> float | None:
    """The number under a dotted path, None where it is no number."""
    value = find(document, path)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value)


def reason_for(document: Any, path: str) -> str:
    """Why there is no number under a path, as scores.json says it."""
    parent, _, key = path.rpartition(".")
    stated = find(document, f"{parent}.{key}_reason" if parent else f"{key}_reason")
    return str(stated) if stated else "it is not in the scores"


def _check_pattern(pattern: str) -> None:
    families = {f"{code.partition('.')[0]}.*" for code in CODES}
    known = [*CODES, *families, "tool.unfinished"]
    if pattern not in known:
        raise ValueError(f"unknown finding {pattern!r}. {_hint(pattern, known)}")


def _hint(word: str, known: Iterable[str]) -> str:
    names = list(known)
    hint = nearest(word, names)
    if hint.startswith("Known:") and len(names) > 20:
        return "See docs/gates.md for those that there are."
    return hint
