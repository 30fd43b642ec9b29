"""Speed of a ladder: tables by rung and by source, and the curves over context or load."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from evalstab.chat import Json
from evalstab.report import labels, numbers
from evalstab.report.page import (
    Align,
    Block,
    Bullets,
    Curve,
    CurveData,
    Figure,
    Paragraph,
    Section,
    Table,
)

NONE = "–"
_FAST = (
    "rung", "context at depth", "decode tok/s", "prefill tok/s", "first token, s",
    "latency p50, s", "latency p99, s", "gap p99, ms",
)  # fmt: skip


def fast(rows: Sequence[Json]) -> Section:
    """Rates and times at depth, one line a rung, and why a rate is missing."""
    note = (
        "Medians over the steps at depth (three quarters of the largest context and more), from "
        "the very turns that were scored. Prefill counts tokens that were read anew; a trial that "
        "alone began with a cold cache is left out of it."
    )
    body = tuple(map(_fast_row, rows))
    blocks: list[Block] = [Table(_FAST, body, aligned(_FAST, ("rung",))), Paragraph(note)]
    reasons = tuple(dict.fromkeys(_reasons(rows)))
    if reasons:
        blocks.append(Bullets(reasons[:6]))
    return Section("Speed by rung", tuple(blocks), brief=True)


def _fast_row(row: Json) -> tuple[str, ...]:
    speed = row["speed"]
    context = speed.get("context_tokens")
    return (
        row["name"],
        NONE if context is None else numbers.count(context),
        _quantile(speed, "decode_tok_s"),
        _quantile(speed, "prefill_tok_s"),
        _quantile(speed, "ttft_s"),
        _quantile(speed, "latency_s"),
        _quantile(speed, "latency_s", "p99"),
        _quantile(speed, "gap_p99_ms"),
    )


def _reasons(rows: Sequence[Json]) -> Iterator[str]:
    for row in rows:
        for key, title in (("decode_tok_s", "decode"), ("prefill_tok_s", "prefill")):
            quantiles = row["speed"].get(key) or {}
            if quantiles.get("p50") is None and quantiles.get("p50_reason"):
                yield f"{row['name']}, {title} n/a: {labels.sentence(quantiles['p50_reason'])}"


def sources(rows: Sequence[Json]) -> Section | None:
    """The same rates by client clock, server timings and server counters."""
    body = tuple(line for row in rows for line in _source_rows(row))
    if not body:
        return None
    header = ("rung", "source", "decode tok/s", "prefill tok/s", "first token, s")
    note = "Three clocks side by side; they are never mixed."
    table = Table(header, body, ("left", "left", "right", "right", "right"))
    return Section("Sources of speed", (table, Paragraph(note)))


def _source_rows(row: Json) -> Iterator[tuple[str, ...]]:
    keys = ("decode_tok_s", "prefill_tok_s", "ttft_s")
    for source in row["speed"].get("sources") or ():
        cells = [
            f"n/a: {labels.sentence(source.get(f'{key}_reason') or '')}"
            if source.get(key) is None
            else numbers.significant(source[key])
            for key in keys
        ]
        yield (row["name"], labels.name(source["source"]), *cells)


def by_rung(rows: Sequence[Json], control: str | None) -> Section | None:
    """Stability and speed over context, or over the level of load where that alone differs."""
    by_load = len({row["context_target"] for row in rows}) < 2
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
    known = [(x, row["kendall_tau"]) for x, row in placed if row["kendall_tau"]["mean"] is not None]
    yield Curve(
        "tau",
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
            yield Curve(source, quantity, points)


def _x(row: Json, by_load: bool) -> float | None:
    if by_load:
        return float(row["concurrency"])
    active = row["active_context"]
    return None if active is None else float(active["median"])


def _by_source(row: Json, number: int, key: str) -> float | None:
    sources = row["speed"].get("sources") or []
    value = sources[number].get(key) if len(sources) > number else None
    return value if isinstance(value, float | int) else None


def _quantile(speed: Json, key: str, which: str = "p50") -> str:
    value = (speed.get(key) or {}).get(which)
    return NONE if value is None else numbers.significant(value)


def aligned(header: Sequence[str], left: tuple[str, ...]) -> tuple[Align, ...]:
    """Columns named in ``left`` stand to the left, all others to the right."""
    return tuple("left" if title in left else "right" for title in header)
