"""The report of a ladder: one row a rung, and the answer to "is it the context?"."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import cast, get_args
from urllib.parse import quote

from evalstab.chat import Json
from evalstab.errors import FolderError
from evalstab.report import labels, markdown, numbers, place, terminal
from evalstab.report.conditions import run_command
from evalstab.report.headline import Named, with_interval
from evalstab.report.ladder_gate import gate_line, passes_up_to
from evalstab.report.ladder_speed import by_rung, fast, sources, speeds_of
from evalstab.report.ladder_tables import (
    accuracy,
    by_level,
    by_size,
    judged,
    least_ranked,
    signed,
    too_few_for_interval,
)
from evalstab.report.page import Answer, Command, Paragraph, Report, Section, Status
from evalstab.report.write import draw_all
from evalstab.series.files import write_whole
from evalstab.series.folder import SERIES_FILE, open_series
from evalstab.series.ladder import LadderFile


def build_ladder_report(
    file: LadderFile,
    result: Json,
    root: Path,
    named: str | None = None,
    *,
    linked: bool = True,
) -> Report:
    """Everything a reader is told about a ladder, from its result alone.

    ``named`` is the folder as commands say it, None for a page's own way. ``linked``: rungs lead to
    their own reports, for a report that stands in the ladder's folder.
    """
    named = place.named(root) if named is None else named
    rows = result["rungs"]
    sections = (
        by_rung(rows, result["control"]),
        judged(rows, result["control"], linked=linked),
        fast(rows),
        sources(rows),
        accuracy(rows),
        _how(file, root, named),
    )
    return Report(
        title=f"{labels.name(file.task)} on {labels.name(file.endpoint)}, "
        f"{numbers.plural(len(rows), 'rung')}",
        question=_question(rows),
        answer=_answer(result),
        notices=tuple(_notices(file, named)),
        sections=tuple(section for section in sections if section is not None),
        headline=tuple(ladder_headline(result, simulated=file.simulated)),
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


def ladder_page(
    file: LadderFile, report: Report, drawn: Mapping[str, str], *, linked: bool = True
) -> str:
    """The report of a ladder as one page, with links to the pages of its rungs."""
    from evalstab.report import html  # noqa: PLC0415

    links = tuple((f"rung {r.name}", f"{quote(r.name)}/report.html") for r in file.rungs)
    return html.render(report, drawn, links=links if linked else ())


def ladder_summary(file: LadderFile, result: Json, root: Path) -> str:
    """The first screen for a terminal."""
    return terminal.render(build_ladder_report(file, result, root, place.here(root)))


def ladder_headline(result: Json, *, simulated: bool) -> Iterator[Named]:
    """The few numbers that a ladder is known by."""
    rows = result["rungs"]
    if result.get("gate"):
        yield "gate passed up to", passes_up_to(result["gate"])
    ends = [row for row in rows if row["name"] == result["control"]][:1]
    ends += [row for row in rows[-1:] if row not in ends]
    for row in ends:
        yield f"tau at {labels.name(row['name'])} (95 %)", with_interval(row["kendall_tau"])
    if ends:
        yield from speeds_of(ends, simulated=simulated)


def _question(rows: Sequence[Json]) -> str:
    if by_size(rows) and by_level(rows):
        return "Do context or load make this judgement unstable?"
    if by_size(rows):
        return "Is it the context that makes this judgement unstable?"
    return "Does load change this judgement?"


def _cause(rows: Sequence[Json]) -> str:
    """What differs from rung to rung."""
    if by_size(rows) and by_level(rows):
        return "context or load"
    return "context" if by_size(rows) else "load"


def _answer(result: Json) -> Answer:
    reading = _reading_line(result)
    points = tuple(_points(result))
    if gate := result.get("gate"):
        status = gate["status"] if gate["status"] in get_args(Status) else "none"
        cause = _cause(result["rungs"]).capitalize()
        return Answer(cast(Status, status), gate_line(gate), (f"{cause}: {reading}", *points))
    return Answer("none", reading, points)


def _reading_line(result: Json) -> str:
    reading, rung = result["answer"]["reading"], result["answer"]["rung"]
    rows = result["rungs"]
    control = next((row for row in rows if row["name"] == result["control"]), None)
    told = [row for row in rows if row["name"] == rung]
    if reading == "less stable":
        told = [row for row in rows if (row["change"] or {}).get("reading") == reading]
    named = [f"{labels.name(row['name'])}{_by(row, control)}" for row in told]
    size = f" at {', '.join(named)}" if named else ""
    return {
        "less stable": f"Yes: agreement falls{size}.",
        "more stable": f"No: agreement is higher{size}.",
        "not less stable": f"No: agreement is not lower by more than 0.10{size}.",
        "undecided": f"Not shown: no difference was found{size}, which is no proof "
        "that there is none.",
    }.get(reading, f"Too few trials to tell{size}.")


def _by(row: Json, control: Json | None) -> str:
    change = row["change"] or {}
    if change.get("difference") is None:
        return ""
    text = f" (change of tau {signed(change['difference'])}"
    if too_few_for_interval(row, control):
        ranked = least_ranked(row, control)
        text += f", {numbers.plural(ranked, 'trial')} are too few for an interval of the change"
    elif change.get("ci_low") is not None:
        text += f", 95 % interval {numbers.interval(change['ci_low'], change['ci_high'])}"
    return f"{text})"


def _points(result: Json) -> Iterator[str]:
    rows = result["rungs"]
    control = next((r for r in rows if r["name"] == result["control"]), None)
    if control is None:
        return
    if control["kendall_tau"]["mean"] is not None:
        yield (
            f"The control ({control['name']}) agrees with itself at tau "
            f"{with_interval(control['kendall_tau'])}: instability that is there already is not "
            f"that of the {_cause(rows)}."
        )
    missed = [row["name"] for row in rows if row["target_missed"]]
    if missed:
        yield f"Some trials missed their target by more than 15 %: {', '.join(missed)}."


def _notices(file: LadderFile, named: str) -> Iterator[str]:
    if file.simulated:
        yield "Simulated endpoint, no model was judged."
    planned = [rung.name for rung in file.rungs if rung.status != "done"]
    if planned:
        yield f"Not finished: {', '.join(planned)}; evalstab resume {named}."
    for rung in file.rungs:
        if rung.problem:
            yield f"{rung.name}: {labels.sentence(rung.problem)}"
    yield from (labels.sentence(note) for note in file.notes)


def _how(file: LadderFile, root: Path, named: str) -> Section:
    lines = [f"evalstab score {named}", f"evalstab report {named}"]
    if (command := _command(file, root)) is not None:
        lines.insert(0, command)
    seconds = file.expected.get("seconds_at_least")
    expected = "not known"
    if isinstance(seconds, int | float):
        expected = f"at least {numbers.duration(seconds)}"
    text = (
        "Each rung is a series of its own, with a page of its own. Time expected before the "
        f"start: {expected}."
    )
    return Section("How to reproduce", (Paragraph(text), Command(tuple(lines))))


def _command(file: LadderFile, root: Path) -> str | None:
    """The command that runs the whole ladder again, from the first rung that has begun."""
    for rung in file.rungs:
        place_of = root / rung.name
        if (place_of / SERIES_FILE).is_file():
            try:
                return run_command(open_series(place_of).file, file)
            except FolderError:
                continue
    return None
