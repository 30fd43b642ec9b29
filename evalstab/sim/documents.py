"""The deliverables as the simulated model writes them, in the form that the brief asks for."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import combinations

from evalstab.sim.prose import Subject, View, Writer, number
from evalstab.task.brief_reading import Brief
from evalstab.task.brief_texts import texts_for
from evalstab.task.model import Deliverable, RankingFormat

_WORD = re.compile(r"\w+")
_RANKING_HEADING = re.compile(r"rang|rank|ergebnis|result|übersicht|overview|reihenfolge", re.I)
_LAST = re.compile(r"letzt|absage|\blast\b|reject|refus", re.I)
_FIELD_KINDS = (
    ("count", re.compile(r"\b(zahl|anzahl|number|count)\b", re.I)),
    ("second", re.compile(r"ersatz|zweit|second|runner", re.I)),
    ("place", re.compile(r"\b(platz|rang|place|rank)\b", re.I)),
    ("total", re.compile(r"punkt|gesamt|total|points|score", re.I)),
    ("name", re.compile(r"kandidat|candidate|\bname\b|person|profil", re.I)),
    ("date", re.compile(r"datum|\bdate\b|stand\b", re.I)),
)


def places(view: View) -> dict[str, int]:
    """Place of each candidate from 1; equal totals share a place."""
    found: dict[str, int] = {}
    before: str | None = None
    for position, candidate in enumerate(view.opinion.order, start=1):
        totals = view.opinion.totals
        tied = before is not None and totals[before] == totals[candidate]
        found[candidate] = found[before] if tied and before is not None else position
        before = candidate
    return found


def ranking(brief: Brief, view: View, form: RankingFormat) -> str:
    """The ranking in the brief's form; totals only where the brief has a scale."""
    place = places(view)
    scaled = bool(brief.criteria or brief.points)
    order = view.opinion.order
    if form == "json":
        return _as_json(view, place, scaled)
    totals = {c: number(view.opinion.totals[c]) for c in order}
    if form == "numbered-list":
        return "".join(
            f"{place[c]}. {c}: {totals[c]}\n" if scaled else f"{place[c]}. {c}\n" for c in order
        )
    columns = texts_for(brief.language).table[: 3 if scaled else 2]
    rows = [columns, ("---",) * len(columns)]
    rows += [(str(place[c]), c, totals[c])[: len(columns)] for c in order]
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def entries(view: View, place: dict[str, int], scaled: bool) -> list[dict[str, object]]:
    """The ranking as a list of objects, best first."""
    rows: list[dict[str, object]] = []
    for candidate in view.opinion.order:
        row: dict[str, object] = {"candidate": candidate, "place": place[candidate]}
        if scaled:
            row["total"] = _plain(view.opinion.totals[candidate])
        if view.criteria:
            points = view.opinion.points[candidate]
            row["criteria"] = {c.id: _plain(points[c.id]) for c in view.criteria}
        rows.append(row)
    return rows


def _plain(value: float) -> float | int:
    return int(value) if value == int(value) else value


def _as_json(view: View, place: dict[str, int], scaled: bool) -> str:
    rows = [json.dumps(row, ensure_ascii=False) for row in entries(view, place, scaled)]
    return '{"ranking": [\n  ' + ",\n  ".join(rows) + "\n]}\n"


def document(brief: Brief, view: View, wanted: Deliverable, writer: Writer) -> str:
    """One deliverable's text."""
    if wanted.kind == "ranking":
        return ranking(brief, view, wanted.format or "json")
    if wanted.kind == "form":
        text = _form(view, wanted, writer)
    else:
        text = f"# {writer.say('report.title_line')}\n"
    return text + _body(brief, view, wanted, writer)


def _body(brief: Brief, view: View, wanted: Deliverable, writer: Writer) -> str:
    """The headings with text under each, the ranking under the one that fits best."""
    sentences = _report_sentences(view, writer)
    headings = list(wanted.headings)
    at = next((h for h in headings if _RANKING_HEADING.search(h)), headings[0] if headings else "")
    share = max(wanted.min_words * 12 // (10 * max(len(headings), 1)), 60)
    least = share if wanted.kind == "markdown" else 20
    out: list[str] = []
    if wanted.format and not headings:
        out.append("\n" + _shown(brief, view, wanted.format))
    for heading in headings or ([""] if wanted.kind == "markdown" else []):
        out.append(f"\n## {heading}\n\n" if heading else "\n")
        if wanted.format and heading == at and heading:
            out.append(_shown(brief, view, wanted.format) + "\n")
        out.append(_paragraphs(sentences, least))
    return "".join(out)


def _shown(brief: Brief, view: View, form: RankingFormat) -> str:
    text = ranking(brief, view, form)
    return f"```json\n{text}```\n" if form == "json" else text


def _paragraphs(sentences: Iterator[str], least: int) -> str:
    words = 0
    lines: list[str] = []
    current: list[str] = []
    for sentence in sentences:
        current.append(sentence)
        words += len(_WORD.findall(sentence))
        if len(current) == 4 or words >= least:
            lines.append(" ".join(current))
            current = []
        if words >= least:
            break
    return "\n\n".join([*lines, *([" ".join(current)] if current else [])]) + "\n"


def _report_sentences(view: View, writer: Writer) -> Iterator[str]:
    """Sentences of a report without end, new passages first."""
    ranked = view.ranked()
    place = places(view)
    ends = {
        "n": str(len(ranked)),
        "total": number(view.opinion.totals[ranked[0].id]),
        "other": ranked[-1].name,
        "othertotal": number(view.opinion.totals[ranked[-1].id]),
    }
    for _ in range(3):
        yield writer.say("report.summary", ranked[0], **ends)
    for subject in ranked:
        total = number(view.opinion.totals[subject.id])
        yield writer.say("report.person", subject, place=str(place[subject.id]), total=total)
        if writer.left(subject):
            yield writer.say("report.evidence", subject)
    yield writer.say("report.more")
    yield from _particulars(view, writer)


def _particulars(view: View, writer: Writer) -> Iterator[str]:
    """What else can be said: passages, points, pairs; each once, mixed."""
    totals = {c: number(total) for c, total in view.opinion.totals.items()}
    said: list[tuple[str, Subject, dict[str, str]]] = []
    for subject in view.subjects:
        said += [("report.evidence", subject, {})] * writer.left(subject)
        for criterion in view.criteria:
            points = number(view.opinion.points[subject.id][criterion.id])
            slots = {"crit": criterion.title, "pts": points, "max": number(criterion.max)}
            said.append(("report.score", subject, slots))
    for better, worse in combinations(view.ranked(), 2):
        slots = {"other": worse.name, "total": totals[better.id], "othertotal": totals[worse.id]}
        said.append(("report.versus", better, slots))
    for purpose, subject, slots in writer.dice.shuffled(said):
        yield writer.say(purpose, subject, **slots)


def _form(view: View, wanted: Deliverable, writer: Writer) -> str:
    subject = _subject_of(view, wanted)
    lines = [f"**{field}:** {_value(field, view, subject, writer)}\n" for field in wanted.fields]
    return "\n".join(lines)


def _subject_of(view: View, wanted: Deliverable) -> Subject:
    """Whom a form is about: a candidate that it names, the last where it refuses, else the best."""
    text = f"{wanted.path} {wanted.about}"
    named = [s for s in view.subjects if re.search(rf"\b{re.escape(s.id)}\b", text)]
    if len(named) == 1:
        return named[0]
    return view.ranked()[-1 if _LAST.search(text) else 0]


def _value(field: str, view: View, subject: Subject, writer: Writer) -> str:
    ranked = view.ranked()
    kind = next((kind for kind, pattern in _FIELD_KINDS if pattern.search(field)), "text")
    if kind == "count":
        return str(len(ranked))
    if kind == "second":
        subject = ranked[1]
    if kind in {"name", "second"}:
        return subject.id if subject.id == subject.name else f"{subject.id} ({subject.name})"
    total = number(view.opinion.totals[subject.id])
    place = str(places(view)[subject.id])
    if kind in {"total", "place"}:
        return total if kind == "total" else place
    if kind == "date":
        return writer.say("form.date")
    other = next(s.name for s in [*ranked[1:], ranked[0]] if s.id != subject.id)
    return writer.say("form.general", subject, total=total, place=place, other=other)
