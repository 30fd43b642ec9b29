"""Markdown tables with intervals, for the benchmark pages."""

from evalstab.statistics.intervals import wilson


def rate(hits: int, total: int) -> str:
    """A share in per cent with Wilson's 95 % interval."""
    interval = wilson(hits, total)
    if interval.low is None or interval.high is None:
        return "–"
    share = 100 * hits / total
    return f"{share:.2f} % ({100 * interval.low:.2f}–{100 * interval.high:.2f})"


def table(head: list[str], rows: list[list[object]]) -> str:
    """A Markdown table."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines)
