"""A night on one page, Markdown: the verdict first, a row a series, then what to do."""

from __future__ import annotations

from collections.abc import Iterator

from evalstab.history.drift import BASELINE, LAST, what
from evalstab.nightly.night import Item, Night, Result
from evalstab.report import labels, numbers
from evalstab.report.markdown import escape

WORDS = {
    0: "passed",
    3: "not run as configured",
    4: "endpoint or rig unusable, or too few valid trials",
    5: "gate failed",
    6: "undecided",
}


def headline(night: Night) -> str:
    """The night in one line."""
    done = sum(item.status == "done" for item in night.items)
    many = numbers.plural(len(night.items), "series", "series")
    return f"Night of {night.started[:10]}: {WORDS[night.exit_code]} ({done} of {many} done)"


def summary_page(night: Night) -> str:
    """The whole page, ending with a line break."""
    lines = [f"# {escape(headline(night))}", ""]
    lines += [
        "| series | state | tau, 95 % interval | because | baseline | last night |",
        "|---|---|---|---|---|---|",
    ]
    for item in night.items:
        lines += [_row(cells) for cells in _cells(item)]
    notes = list(_notes(night))
    if notes:
        lines += ["", *(f"- {escape(note)}" for note in notes)]
    pages = [result.folder for item in night.items for result in item.results]
    if pages:
        lines += [
            "",
            "Reports:",
            "",
            *(f"- `{labels.visible(place)}/report.html`" for place in pages),
        ]
    spent, budget = numbers.duration(night.spent), numbers.duration(night.budget)
    lines += ["", f"{spent} of {budget} spent."]
    return "\n".join(lines) + "\n"


def _cells(item: Item) -> Iterator[tuple[str, ...]]:
    for result in item.results:
        size = f" ({result.context // 1000}k)" if result.context and len(item.results) > 1 else ""
        against = (_against(result, BASELINE), _against(result, LAST))
        head = (f"{item.name}{size}", _state(item, result), _tau(result))
        yield (*head, result.reason or item.problem or "", *against)
    if not item.results:
        state = item.status.replace("_", " ")
        yield (item.name, state, "–", item.problem or "", "–", "–")


def _state(item: Item, result: Result) -> str:
    return f"stopped: {result.state}" if item.status in ("stopped", "cut") else result.state


def _tau(result: Result) -> str:
    if result.tau is None:
        return "–"
    told = numbers.decimal(result.tau)
    if result.tau_low is None or result.tau_high is None:
        return told
    return f"{told}, {numbers.interval(result.tau_low, result.tau_high)}"


def _against(result: Result, which: str) -> str:
    drift = result.drift.get(which)
    if drift is None:
        return "–"
    return f"cannot be compared: {drift['problem']}" if "problem" in drift else what(drift)


def _row(cells: tuple[str, ...]) -> str:
    return f"| {' | '.join(escape(labels.sentence(cell, 300)) for cell in cells)} |"


def _notes(night: Night) -> Iterator[str]:
    """What to do next, and the readings of drift."""
    for item in night.items:
        if item.status in ("stopped", "cut") and item.results:
            yield f"{item.name}: {labels.sentence(item.problem, 400)}"
        if item.status in ("stopped", "cut", "running") and item.results:
            yield f"go on: evalstab resume {item.folder}"
        for result in item.results:
            if any(drift and drift.get("drifted") for drift in result.drift.values()):
                yield f"{result.folder}: {result.reading}"
