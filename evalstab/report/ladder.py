"""The report of a ladder: one row a rung, and the answer to "is it the context?"."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from urllib.parse import quote

from evalstab.chat import Json
from evalstab.report import labels, markdown, numbers, place, terminal
from evalstab.report.ladder_speed import NONE, aligned, by_rung, fast, sources
from evalstab.report.page import (
    Answer,
    Command,
    Paragraph,
    Report,
    Section,
    Table,
)
from evalstab.report.write import draw_all
from evalstab.series.files import write_whole
from evalstab.series.ladder import LadderFile

_READINGS = {
    "less stable": "less stable than the control",
    "more stable": "more stable than the control",
    "not less stable": "not less stable than the control (by more than 0.10)",
    "too few trials": "too few trials to tell",
    "undecided": "no difference shown",
}
_JUDGED = (
    "rung", "trials", "ranked", "complete", "active context, median", "off target", "tau",
    "95 % interval", "change against control", "95 % interval", "reading",
)  # fmt: skip


def build_ladder_report(
    file: LadderFile, result: Json, root: Path, named: str | None = None
) -> Report:
    """Everything a reader is told about a ladder, from its result alone.

    ``named`` is the folder as commands say it, None for a page's own way.
    """
    named = place.named(root) if named is None else named
    rows = result["rungs"]
    loads = len({row["concurrency"] for row in rows}) > 1
    sections = (
        _judged(rows),
        fast(rows),
        sources(rows),
        _accuracy(rows),
        by_rung(rows, result["control"]),
        _levels() if loads else None,
        _how(file, named),
    )
    return Report(
        title=f"{labels.name(file.task)} on {labels.name(file.endpoint)}, "
        f"{numbers.plural(len(rows), 'rung')}",
        question=_question(rows),
        answer=_answer(result),
        notices=tuple(_notices(file, named)),
        sections=tuple(section for section in sections if section is not None),
    )


def write_ladder_report(file: LadderFile, result: Json, root: Path) -> list[Path]:
    """Write report.md, report.html and the plots into the ladder's folder."""
    report = build_ladder_report(file, result, root)
    drawn = draw_all(report)
    pages = {root / "report.md": markdown.render(report)}
    pages[root / "report.html"] = ladder_page(file, report, drawn)
    pages |= {root / markdown.PLOTS / f"{name}.svg": svg for name, svg in drawn.items()}
    for path, text in pages.items():
        write_whole(path, text)
    return list(pages)


def ladder_page(file: LadderFile, report: Report, drawn: Mapping[str, str]) -> str:
    """The report of a ladder as one page, with links to the pages of its rungs."""
    from evalstab.report import html  # noqa: PLC0415

    links = tuple((f"rung {r.name}", f"{quote(r.name)}/report.html") for r in file.rungs)
    return html.render(report, drawn, links=links)


def ladder_summary(file: LadderFile, result: Json, root: Path) -> str:
    """The first screen for a terminal."""
    return terminal.render(build_ladder_report(file, result, root, place.here(root)))


def _question(rows: Sequence[Json]) -> str:
    if _cause(rows) == "context":
        return "Is it the context that makes this judgement unstable?"
    return "Does load change this judgement?"


def _cause(rows: Sequence[Json]) -> str:
    """What differs from rung to rung."""
    return "context" if len({row["context_target"] for row in rows}) > 1 else "load"


def _answer(result: Json) -> Answer:
    reading, rung = result["answer"]["reading"], result["answer"]["rung"]
    row = next((r for r in result["rungs"] if r["name"] == rung), None)
    change = (row or {}).get("change") or {}
    size = "" if row is None else f" at {labels.name(rung)}"
    line = {
        "less stable": f"Yes: agreement falls{size}{_by(change)}.",
        "more stable": f"No: agreement is higher{size}{_by(change)}.",
        "not less stable": f"No: agreement is not lower by more than 0.10{size}{_by(change)}.",
        "undecided": f"Not shown: no difference was found{size}{_by(change)}, which is no proof "
        "that there is none.",
    }.get(reading, f"Too few trials to tell{_by(change)}.")
    return Answer("none", line, tuple(_points(result)))


def _by(change: Json) -> str:
    if change.get("difference") is None:
        return ""
    text = f" (tau {_signed(change['difference'])}"
    if change.get("ci_low") is not None:
        text += f", 95 % interval {numbers.interval(change['ci_low'], change['ci_high'])}"
    return f"{text})"


def _points(result: Json) -> Iterator[str]:
    control = next((r for r in result["rungs"] if r["name"] == result["control"]), None)
    if control is None:
        return
    tau = control["kendall_tau"]
    if tau["mean"] is not None:
        between = ""
        if tau["ci_low"] is not None:
            between = f" ({numbers.interval(tau['ci_low'], tau['ci_high'])})"
        yield f"The control ({control['name']}) agrees with itself at tau " + (
            f"{numbers.decimal(tau['mean'])}{between}: instability that is there already is not "
            f"the {_cause(result['rungs'])}'s."
        )
    missed = [row["name"] for row in result["rungs"] if row["target_missed"]]
    if missed:
        yield f"Some trials missed their target by more than 15 %: {', '.join(missed)}."


def _notices(file: LadderFile, named: str) -> Iterator[str]:
    if file.simulated:
        yield "Simulated endpoint: no model was judged."
    planned = [rung.name for rung in file.rungs if rung.status != "done"]
    if planned:
        yield f"Not finished: {', '.join(planned)}; evalstab resume {named}."
    for rung in file.rungs:
        if rung.problem:
            yield f"{rung.name}: {labels.sentence(rung.problem)}"
    yield from (labels.sentence(note) for note in file.notes)


def _judged(rows: Sequence[Json]) -> Section:
    table = Table(_JUDGED, tuple(map(_judged_row, rows)), aligned(_JUDGED, ("rung", "reading")))
    note = (
        "Change is mean tau of the rung less that of the control, with the interval of the "
        "difference; the reading is one-sided where it says not less stable. "
        f"With {numbers.plural(min((r['ranked'] for r in rows), default=0), 'ranked trial')} at "
        "the least, small changes cannot be seen."
    )
    return Section("Stability by rung", (table, Paragraph(note)), brief=True)


def _judged_row(row: Json) -> tuple[str, ...]:
    tau, change = row["kendall_tau"], row["change"] or {}
    active, deviation = row["active_context"], row["deviation"]
    return (
        row["name"],
        numbers.count(row["trials"]),
        numbers.count(row["ranked"]),
        numbers.count(row["complete"]),
        NONE if active is None else numbers.count(active["median"]),
        NONE if deviation is None else f"{numbers.decimal(100 * deviation['median'], 1)} %",
        NONE if tau["mean"] is None else numbers.decimal(tau["mean"]),
        _between(tau),
        NONE if change.get("difference") is None else _signed(change["difference"]),
        _between(change),
        _READINGS.get(change.get("reading", ""), "control" if row["change"] is None else NONE),
    )


def _accuracy(rows: Sequence[Json]) -> Section | None:
    if not any(row["accuracy"] for row in rows):
        return None
    header = ("rung", "tau to the truth", "mean absolute error, points", "winner right")
    body = []
    for row in rows:
        known = row["accuracy"] or {}
        tau, error = known.get("kendall_tau_truth"), known.get("mean_abs_error")
        right = known.get("winner_right")
        body.append(
            (
                row["name"],
                NONE if tau is None else numbers.decimal(tau),
                NONE if error is None else numbers.plain(error),
                NONE if right is None else numbers.percent(right),
            )
        )
    note = "Medians of the trials. A judge can be stable and wrong: this stands beside stability."
    table = Table(header, tuple(body), ("left", "right", "right", "right"))
    return Section("Against the known truth, by rung", (table, Paragraph(note)))


def _levels() -> Section:
    note = (
        "Levels of load differ in how many trials were asked at once. Batches of another make-up "
        "may change the answers themselves, not only their time."
    )
    return Section("Load", (Paragraph(note),))


def _how(file: LadderFile, named: str) -> Section:
    lines = [f"evalstab report {named}/{rung.name}" for rung in file.rungs]
    text = "Each rung is a series of its own, with a report of its own. Expected before the start: "
    seconds = file.expected.get("seconds_at_least")
    text += "not known." if seconds is None else f"at least {numbers.duration(seconds)}."
    return Section("The rungs", (Paragraph(text), Command(tuple(lines))))


def _between(values: Json) -> str:
    low, high = values.get("ci_low"), values.get("ci_high")
    return NONE if low is None or high is None else numbers.interval(low, high)


def _signed(value: float) -> str:
    text = numbers.decimal(value)
    return f"+{text}" if value > 0 else text
