"""Speed by active context: a model may judge well and still be too slow where it matters."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median

from evalstab.chat import Json
from evalstab.report import labels, numbers
from evalstab.report.facts import Facts, block, number, reason
from evalstab.report.page import Align, Block, Paragraph, Section, Table

EDGES = (0, 4_000, 8_000, 16_000, 32_000, 48_000, 64_000, 96_000, 128_000, 192_000, 256_000)
_COLUMNS = (("decode_tok_s", "decode tok/s"), ("prefill_tok_s", "prefill tok/s"))
ALIGN: tuple[Align, ...] = ("left", "right", "right", "right", "right", "right")


def by_context(facts: Facts) -> Section:
    """One row for each range of context in which steps were measured."""
    points = [
        point
        for trial in facts.valid
        for point in block(trial, "speed").get("by_context") or ()
        if isinstance(point, dict) and number(point, "context_tokens") is not None
    ]
    if not points:
        text = f"Speed by active context: {numbers.UNKNOWN}, no step has both a size and a rate."
        return Section("Speed by active context", (Paragraph(text),))
    header = ("active context, tokens", "steps", *(title for _, title in _COLUMNS))
    rows = []
    for low, high in zip(EDGES, (*EDGES[1:], None), strict=True):
        inside = [p for p in points if _inside(p, low, high)]
        if inside:
            rows.append(_row(_name(low, high), inside))
    note = (
        "Median over the steps of all valid trials, smallest to largest in brackets. These are "
        "measurements of this rig under this load, not of the model."
    )
    if facts.series.get("simulated"):
        note += " The rates of a simulated endpoint are those of the simulator."
    table = Table((*header, "first token, s", "of it cached"), tuple(rows), ALIGN)
    return Section("Speed by active context", (table, Paragraph(note), *_at_depth(facts)))


def _at_depth(facts: Facts) -> Iterator[Block]:
    """The three sources side by side, and the one trial with a cold cache apart."""
    speed = block(facts.scores, "speed")
    sources = [one for one in speed.get("sources") or () if isinstance(one, dict)]
    if not sources:
        return
    header = ("source, at the depth of the rankings", "decode tok/s", "prefill tok/s", "first, s")
    keys = ("decode_tok_s", "prefill_tok_s", "ttft_s")
    rows = tuple(
        (labels.name(one.get("source")), *(_cell(one, key) for key in keys)) for one in sources
    )
    yield Table(header, rows, ("left", "right", "right", "right"))
    if cold := block(speed, "cold_first"):
        yield Paragraph(
            f"Trial {numbers.count(cold['trial'])} alone began with a cold prefix cache and is "
            f"left out of time to first token and prefill by source, just above; the rows by "
            f"active context hold its steps too. {_first_step(cold)}"
        )


def _first_step(cold: Json) -> str:
    """What the first step of the cold trial showed; what is missing is said in its own sentence."""
    size = number(cold, "context_tokens")
    at = " " if size is None else f", at {numbers.tokens(size)}, "
    time, rate = number(cold, "ttft_s"), number(cold, "prefill_tok_s")
    told = []
    if time is None:
        said = "The time to the first token of its first step is not known"
        told.append(f"{said}: {reason(cold, 'ttft_s')}.")
    else:
        told.append(f"Its first step{at}gave its first token after {numbers.significant(time)} s.")
    if rate is not None:
        told.append(f"Its prefill rate was {numbers.rate(rate)}.")
    elif time is None and reason(cold, "prefill_tok_s") == reason(cold, "ttft_s"):
        told.append("Its prefill rate is not known for the same reason.")
    else:
        told.append(f"Its prefill rate is not known: {reason(cold, 'prefill_tok_s')}.")
    return " ".join(told)


def _cell(values: Json, key: str) -> str:
    value = number(values, key)
    return f"n/a: {reason(values, key)}" if value is None else numbers.significant(value)


def _inside(point: Json, low: float, high: float | None) -> bool:
    size = number(point, "context_tokens") or 0
    return size >= low and (high is None or size < high)


def _name(low: int, high: int | None) -> str:
    if high is None:
        return f"{numbers.count(low)} and more"
    return f"{numbers.count(low)} to {numbers.count(high)}"


def _row(name: str, points: list[Json]) -> tuple[str, ...]:
    rates = (_spread(points, key) for key, _ in _COLUMNS)
    return (name, numbers.count(len(points)), *rates, _spread(points, "ttft_s", 2), _cached(points))


def _spread(points: list[Json], key: str, digits: int = 3) -> str:
    values = [value for value in (number(p, key) for p in points) if value is not None]
    if not values:
        return "–"
    low, middle, high = (
        numbers.significant(value, digits) for value in (min(values), median(values), max(values))
    )
    if low == high:
        return middle
    return f"{middle} ({low} to {high})"


def _cached(points: list[Json]) -> str:
    shares = []
    for point in points:
        cached, size = number(point, "cached_tokens"), number(point, "context_tokens")
        if cached is not None and size:
            shares.append(cached / size)
    return numbers.percent(median(shares)) if shares else "–"
