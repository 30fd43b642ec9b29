"""Speed of a series where it judged: at the depth of its rankings, from three sources side by side.

Taken are the steps whose context is at least three quarters of their trial's largest. The first
trial is left out of time to first token and prefill rate where it alone had a cold prefix cache;
what it showed stands apart. The server's counters (``/metrics`` before and after) cover all trials,
and whoever else used the server meanwhile.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from evalstab.chat import Json
from evalstab.endpoint.metrics import difference
from evalstab.measures.base import Fact, Measured, SeriesMeasure, put, put_all
from evalstab.measures.conditions import cold_first
from evalstab.measures.series_view import ScoredTrial, SeriesView

METRICS_FILE = "metrics.json"
"""Readings of the server's counters around the series: spans of ``before`` and ``after``."""

DEPTH = 0.75
"""Share of a trial's largest context from which on a step counts as being at depth."""

_QUANTILES = ("ttft_s", "latency_s", "gap_p99_ms", "decode_tok_s", "prefill_tok_s")
_SERVER = (("decode_tok_s", "server_decode_tok_s"), ("prefill_tok_s", "server_prefill_tok_s"))
_NO_METRICS = "the server's /metrics page was not read before and after"


def compute(series: SeriesView) -> Measured:
    """Quantiles at depth, sources side by side, preemptions and speculative acceptance."""
    cold = cold_first(series)
    rows = [(t.index, row) for t in series.judged for row in _deep(t)]
    values: Json = {}
    depths = [row["context_tokens"] for _, row in rows if row["context_tokens"]]
    put(values, "context_tokens", float(np.median(depths)) if depths else None, "nobody counted")
    for key in _QUANTILES:
        warm = cold and key in ("ttft_s", "prefill_tok_s", "latency_s")
        values[key] = _quantiles([row for index, row in rows if not (warm and index == 1)], key)
    values["cold_first"] = _cold(series) if cold else None
    if not cold:
        values["cold_first_reason"] = "no trial alone had a cold prefix cache"
    spent, reason = _spent(series.root)
    values["sources"] = list(_sources(values, rows, spent, reason))
    _counters(values, series, spent, reason)
    return Measured({"speed": values})


def _deep(trial: ScoredTrial) -> Iterator[Json]:
    rows = trial.values["speed"]["by_context"]
    largest = max((row["context_tokens"] or 0 for row in rows), default=0)
    return (row for row in rows if (row["context_tokens"] or 0) >= DEPTH * largest)


def _quantiles(rows: Sequence[Json], key: str) -> Json:
    known = [row[key] for row in rows if row.get(key) is not None]
    reasons = dict.fromkeys(str(row.get(f"{key}_reason")) for row in rows if row.get(key) is None)
    why = "; ".join(list(reasons)[:2]) or "no step was answered at depth"
    values: Json = {"steps": len(known)}
    for percent in (50, 99):
        put(values, f"p{percent}", float(np.percentile(known, percent)) if known else None, why)
    return values


def _cold(series: SeriesView) -> Json:
    """The first step of the cold trial: all of its prompt was read anew."""
    first = min(series.trials, key=lambda trial: trial.index)
    rows = first.values["speed"]["by_context"]
    row: Json = rows[0] if rows else {}
    values: Json = {"trial": first.index}
    for key in ("context_tokens", "ttft_s", "prefill_tok_s", "server_prefill_tok_s"):
        put(values, key, row.get(key), str(row.get(f"{key}_reason", "no step was answered")))
    return values


def _sources(
    values: Json, rows: Sequence[tuple[int, Json]], spent: Json | None, reason: str
) -> Iterator[Json]:
    client: Json = {"source": "client clock"}
    for key in ("decode_tok_s", "prefill_tok_s", "ttft_s"):
        quantiles = values[key]
        put(client, key, quantiles["p50"], str(quantiles.get("p50_reason", "")))
    yield client
    server: Json = {"source": "server timings"}
    for key, own in _SERVER:
        quantiles = _quantiles([row for _, row in rows], own)
        put(server, key, quantiles["p50"], str(quantiles.get("p50_reason", "")))
    put(server, "ttft_s", None, "the server's timings do not say when the first token came")
    yield server
    counted: Json = {"source": "server /metrics"}
    put(counted, "ttft_s", None, "counters of a whole series do not say when a first token came")
    if spent is None:
        put_all(counted, ("decode_tok_s", "prefill_tok_s"), reason)
    else:
        put(counted, "decode_tok_s", *_rate(spent, spent.get("generated_tokens"), "decode"))
        put(counted, "prefill_tok_s", *_rate(spent, _fresh(spent), "prompt"))
    yield counted


def _fresh(spent: Json) -> float | None:
    prompt = spent.get("prompt_tokens")
    if prompt is None or spent.get("prompt_without_cached"):
        return prompt
    cached = spent.get("cached_tokens")
    return None if cached is None else prompt - cached


def _rate(spent: Json, tokens: float | None, what: str) -> tuple[float | None, str]:
    seconds = spent.get(f"{what}_seconds")
    if tokens is None or seconds is None:
        return None, f"the server's counters state no {what} time"
    if seconds <= 0 or tokens <= 0:
        return None, "the counters did not move"
    return tokens / seconds, ""


def _counters(values: Json, series: SeriesView, spent: Json | None, reason: str) -> None:
    preempted = (spent or {}).get("preemptions")
    put(values, "preemptions", preempted, reason or "the server counts none")
    accepted, drafted = (spent or {}).get("accepted_tokens"), (spent or {}).get("drafted_tokens")
    share = accepted / drafted if accepted is not None and drafted else None
    if share is None:
        share = _drafted(series)
    put(values, "speculative_acceptance", share, "no drafted tokens were stated")


def _drafted(series: SeriesView) -> float | None:
    drafted = sum(trial.facts.drafted[0] for trial in series.judged)
    accepted = sum(trial.facts.drafted[1] for trial in series.judged)
    return accepted / drafted if drafted else None


def _spent(root: Path) -> tuple[Json | None, str]:
    """What all spans of the series add up to, None with the reason where that is not known."""
    try:
        read: Any = msgspec.json.decode((root / METRICS_FILE).read_bytes())
        spans = [(dict(span["before"]), dict(span["after"])) for span in read["spans"]]
    except FileNotFoundError:
        return None, _NO_METRICS
    except (OSError, msgspec.MsgspecError, RecursionError, KeyError, TypeError, ValueError):
        return None, f"{METRICS_FILE} cannot be read"
    total: dict[str, float] = {}
    for before, after in spans:
        gone = difference(before, after)
        if gone is None:
            return None, "the server was restarted during the series"
        for key, value in gone.items():
            total[key] = total.get(key, 0.0) + value
    if not total:
        return None, _NO_METRICS
    if any(before.get("prompt_without_cached") for before, _ in spans):
        total["prompt_without_cached"] = 1.0
    return total, ""


def _fact(key: str, meaning: str, unit: str) -> Fact:
    return Fact(f"speed.{key}", meaning, unit, "0 and more")


MEASURE = SeriesMeasure(
    name="speed_series",
    meaning="How fast the endpoint was at the depth at which it judged.",
    facts=(
        _fact("context_tokens", "Median active context of the steps at depth.", "tokens"),
        _fact("ttft_s", "Time to the first token: 50th and 99th percentile, steps.", "s"),
        _fact("latency_s", "Time of the whole answer, likewise.", "s"),
        _fact("gap_p99_ms", "99th percentile of the gaps between frames, likewise.", "ms"),
        _fact("decode_tok_s", "Decode rate by the client's clock, likewise.", "tok/s"),
        _fact("prefill_tok_s", "Prefill rate of tokens read anew, likewise.", "tok/s"),
        _fact("cold_first", "The first step of the one trial with a cold prefix cache.", "object"),
        _fact("sources", "Rates by client clock, server timings and server counters.", "list"),
        _fact("preemptions", "Requests that the server interrupted for room.", "requests"),
        _fact("speculative_acceptance", "Share of drafted tokens that were kept.", "share"),
    ),
    compute=compute,
)
