"""Speed of a ladder: tables by rung and by source, and the curves over context or load."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from evalstab.chat import Json
from evalstab.report import labels, numbers
from evalstab.report.headline import Named, rate_title
from evalstab.report.ladder_tables import NONE, Column, aligned, by_size, table_of
from evalstab.report.page import (
    Block,
    Bullets,
    Curve,
    CurveData,
    Figure,
    Paragraph,
    Section,
    Table,
)

_FAST = (
    ("decode tok/s", "decode_tok_s", "p50"),
    ("prefill tok/s", "prefill_tok_s", "p50"),
    ("first token, s", "ttft_s", "p50"),
    ("latency p50, s", "latency_s", "p50"),
    ("latency p99, s", "latency_s", "p99"),
    ("gap p99, ms", "gap_p99_ms", "p50"),
)
"""Title, key and quantile of each column."""


def fast(rows: Sequence[Json]) -> Section:
    """Rates and times at depth, one line a rung, and why a rate is missing."""
    columns: list[Column] = [("rung", lambda row: str(row["name"]))]
    if by_size(rows):
        columns.append(("context at depth", _depth))
    for title, key, which in _FAST:
        columns.append((title, partial(_quantile, key=key, which=which)))
    note = (
        "Medians over the steps at depth (three quarters of the largest context and more), from "
        "the very turns that were scored. Prefill counts tokens that were read anew; a trial that "
        "alone began with a cold cache is left out of it."
    )
    blocks: list[Block] = [table_of(columns, rows), Paragraph(note)]
    reasons = tuple(dict.fromkeys(_reasons(rows)))
    if reasons:
        blocks.append(Bullets(reasons[:6]))
    return Section("Speed by rung", tuple(blocks), brief=True)


def speeds_of(rows: Sequence[Json], *, simulated: bool) -> Iterator[Named]:
    """Decode rate and time to first token, from the first of these rungs to the last."""
    for key, title, unit in (
        ("decode_tok_s", "decode rate", " tok/s"),
        ("ttft_s", "first token after", " s"),
    ):
        known = [(row["speed"].get(key) or {}).get("p50") for row in (rows[0], rows[-1])]
        told = list(dict.fromkeys(numbers.significant(v) for v in known if v is not None))
        name = rate_title(title, simulated=simulated)
        yield name, " → ".join(told) + unit if told else numbers.UNKNOWN


def _depth(row: Json) -> str:
    context = row["speed"].get("context_tokens")
    return NONE if context is None else numbers.count(context)


def _quantile(row: Json, key: str, which: str) -> str:
    value = (row["speed"].get(key) or {}).get(which)
    return NONE if value is None else numbers.significant(value)


def _reasons(rows: Sequence[Json]) -> Iterator[str]:
    for row in rows:
        for key, title in (("decode_tok_s", "decode"), ("prefill_tok_s", "prefill")):
            quantiles = row["speed"].get(key) or {}
            if quantiles.get("p50") is None and quantiles.get("p50_reason"):
                yield f"{row['name']}, {title} n/a: {labels.sentence(quantiles['p50_reason'])}"


def sources(rows: Sequence[Json]) -> Section | None:
    """The same rates by client clock, server timings and server counters, as far as they tell."""
    body = tuple(line for row in rows for line in _source_rows(row))
    if not body:
        return None
    header = ("rung", "source", "decode tok/s", "prefill tok/s", "first token, s")
    blocks: list[Block] = [
        Table(header, body, aligned(header)),
        Paragraph("Three clocks side by side; they are never mixed."),
    ]
    silent = tuple(dict.fromkeys(_silent(rows)))
    if silent:
        blocks.append(Bullets(silent))
    return Section("Sources of speed", tuple(blocks))


_KEYS = ("decode_tok_s", "prefill_tok_s", "ttft_s")


def _source_rows(row: Json) -> Iterator[tuple[str, ...]]:
    for source in row["speed"].get("sources") or ():
        if any(source.get(key) is not None for key in _KEYS):
            cells = (
                NONE if source.get(key) is None else numbers.significant(source[key])
                for key in _KEYS
            )
            yield (row["name"], labels.name(source.get("source")), *cells)


def _silent(rows: Sequence[Json]) -> Iterator[str]:
    """Sources that tell no rate at any rung, with the reason that they give."""
    told = {source for row in rows for _, source, *_ in _source_rows(row)}
    for row in rows:
        for source in row["speed"].get("sources") or ():
            name = labels.name(source.get("source"))
            if name not in told:
                reason = labels.sentence(source.get("decode_tok_s_reason") or "no reason stated")
                yield f"{name}: none, {reason}"


def by_rung(rows: Sequence[Json], control: str | None) -> Section | None:
    """Stability and speed over context, or over the level of load where that alone differs."""
    by_load = not by_size(rows)
    shown = [curve for curve in _all_curves(rows, by_load) if curve.points]
    if not shown:
        return None
    at = next((_x(row, by_load) for row in rows if row["name"] == control), None)
    label = "trials at once" if by_load else "active context, tokens"
    figure = Figure(
        "by-rung",
        "Stability and speed by rung",
        "Kendall tau with its interval, decode rate, prefill rate and time to first token, with "
        "one point a rung; the dashed line is the control",
        CurveData(label, tuple(shown), at),
    )
    return Section("Curves", (figure,))


def _all_curves(rows: Sequence[Json], by_load: bool) -> Iterator[Curve]:
    placed = [(x, row) for row in rows if (x := _x(row, by_load)) is not None]
    placed.sort(key=lambda pair: pair[0])
    levels = sorted({row["concurrency"] for row in rows})
    if by_load or len(levels) == 1:
        yield from _curves_of(placed, "")
    else:
        for level in levels:
            same = [(x, row) for x, row in placed if row["concurrency"] == level]
            yield from _curves_of(same, f", {level} at once")


def _curves_of(placed: Sequence[tuple[float, Json]], beside: str) -> Iterator[Curve]:
    """The curves of rungs under one load; ``beside`` tells them from those under another."""
    known = [(x, row["kendall_tau"]) for x, row in placed if row["kendall_tau"]["mean"] is not None]
    yield Curve(
        f"tau{beside}",
        "mean Kendall tau, 95 % interval",
        tuple((x, tau["mean"]) for x, tau in known),
        tuple(
            None if tau["ci_low"] is None else (tau["ci_low"], tau["ci_high"]) for _, tau in known
        ),
    )
    for key, quantity in (
        ("decode_tok_s", "decode, tok/s"),
        ("prefill_tok_s", "prefill, tok/s"),
        ("ttft_s", "time to first token, s"),
    ):
        for number, source in enumerate(("client clock", "server timings")):
            points = tuple(
                (x, value) for x, row in placed if (value := _by_source(row, number, key))
            )
            yield Curve(f"{source}{beside}", quantity, points)


def _x(row: Json, by_load: bool) -> float | None:
    if by_load:
        return float(row["concurrency"])
    active = row["active_context"]
    return None if active is None else float(active["median"])


def _by_source(row: Json, number: int, key: str) -> float | None:
    sources = row["speed"].get("sources") or []
    value = sources[number].get(key) if len(sources) > number else None
    return value if isinstance(value, float | int) else None
