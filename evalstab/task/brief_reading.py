"""Reads a brief back out of a user message: what an endpoint can know of a task."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from evalstab.task.brief import form_words
from evalstab.task.brief_texts import LANGUAGES, BriefTexts
from evalstab.task.model import Candidate, Criterion, Deliverable, Points, RankingFormat

_CANDIDATE = re.compile(r"- `([^`]+)`(?:: ([^`]+?))?(?: \(`([^`]+)`\))?")
_FIELD = re.compile(r"- \*\*(.+):\*\* …")
_HEADER = re.compile(r"### `([^`]+)`: (.+)")
_FILE = re.compile(r"(={5,}) `([^`]+)` (={5,})")
_FORMATS: tuple[RankingFormat, ...] = ("json", "markdown-table", "numbered-list")


@dataclass(frozen=True, slots=True)
class Brief:
    """A task as its opening message states it.

    ``language`` is that of the brief ("de" or "en"). ``points`` is the range of the totals where
    there is no rubric. ``files`` are the inputs that stand in the message itself (tools "none").
    """

    language: str
    candidates: tuple[Candidate, ...]
    criteria: tuple[Criterion, ...]
    points: Points | None
    deliverables: tuple[Deliverable, ...]
    files: dict[str, str] = field(default_factory=dict)

    @property
    def ranking(self) -> Deliverable:
        """The deliverable that declares the ranking."""
        return next(d for d in self.deliverables if d.kind == "ranking")


def parse_brief(user_text: str) -> Brief | None:
    """The brief in a user message, ``None`` where there is none; the last one counts.

    Raises nothing for any text: what breaks the form of a brief is no brief.
    """
    lines = user_text.split("\n")
    for position in range(len(lines) - 1, -1, -1):
        for texts in LANGUAGES:
            if lines[position] == texts.heading:
                return _parse(lines[position + 1 :], texts, _files(lines[:position], texts))
    return None


def _files(lines: list[str], texts: BriefTexts) -> dict[str, str]:
    files: dict[str, str] = {}
    begin, path, end = 0, "", ""
    for index, line in enumerate(lines):
        if end and line == end:
            files[path] = "\n".join(lines[begin:index])
            end = ""
        elif not end and (found := _FILE.fullmatch(line)) and found[1] == found[3]:
            begin, path = index + 1, found[2]
            end = f"{found[1]} {texts.end_of} `{path}` {found[1]}"
    return files


def _parse(lines: list[str], texts: BriefTexts, files: dict[str, str]) -> Brief | None:
    sections: dict[str, list[str]] = {}
    current: list[str] = []
    for line in lines:
        if line.startswith("## "):
            current = sections.setdefault(line, [])
        elif line:
            current.append(line)
    points = texts.points.replace("{low}", r"(-?[\d.]+)").replace("{high}", r"(-?[\d.]+)")
    try:
        candidates = tuple(
            Candidate(id=found[1], name=found[2], file=found[3])
            for line in sections.get(texts.candidates, [])
            if (found := _CANDIDATE.fullmatch(line))
        )
        criteria = tuple(
            Criterion(id=found[1], title=found[2], min=float(found[3]), max=float(found[4]))
            for line in sections.get(texts.rubric, [])
            if (found := re.fullmatch(rf"- `([^`]+)`: ([^`]+) \({points}\)", line))
        )
        scale = re.fullmatch(rf"- {points}", (sections.get(texts.scale) or [""])[-1])
        deliverables = _deliverables(sections.get(texts.deliverables, []), texts)
    except ValueError:
        return None
    if len(candidates) < 2 or not any(d.kind == "ranking" for d in deliverables):
        return None
    return Brief(
        language=next(tag for tag, known in _tags() if known is texts),
        candidates=candidates,
        criteria=criteria,
        points=Points(min=float(scale[1]), max=float(scale[2])) if scale else None,
        deliverables=deliverables,
        files=files,
    )


def _tags() -> tuple[tuple[str, BriefTexts], ...]:
    return tuple(zip(("en", "de"), LANGUAGES, strict=True))


def _deliverables(lines: list[str], texts: BriefTexts) -> tuple[Deliverable, ...]:
    forms = _forms(texts)
    blocks: list[tuple[str, Deliverable, list[str]]] = []
    for line in lines:
        header = _HEADER.fullmatch(line)
        if header and header[2] in forms:
            blocks.append((header[1], forms[header[2]], []))
        elif blocks:
            blocks[-1][2].append(line)
    return tuple(_deliverable(path, form, body, texts) for path, form, body in blocks)


def _forms(texts: BriefTexts) -> dict[str, Deliverable]:
    kinds = [Deliverable(path="x", kind="ranking", format=form) for form in _FORMATS]
    kinds += [Deliverable(path="x", kind="markdown", format=form) for form in (None, *_FORMATS)]
    kinds += [Deliverable(path="x", kind="form", format=form) for form in (None, *_FORMATS)]
    return {form_words(texts, deliverable): deliverable for deliverable in kinds}


def _deliverable(path: str, form: Deliverable, body: list[str], texts: BriefTexts) -> Deliverable:
    about, headings, fields, words = "", [], [], 0
    listing = ""
    for line in body:
        if line.startswith(f"{texts.about} "):
            about = line.removeprefix(f"{texts.about} ")
        elif line in {texts.headings, texts.fields}:
            listing = line
        elif listing == texts.fields and (found := _FIELD.fullmatch(line)):
            fields.append(found[1])
        elif listing == texts.headings and line.startswith("- "):
            headings.append(line.removeprefix("- "))
        else:
            listing = ""
            count = re.fullmatch(re.escape(texts.words).replace(r"\{count\}", r"(\d{1,6})"), line)
            words = int(count[1]) if count else words
    return Deliverable(
        path=path,
        kind=form.kind,
        format=form.format,
        about=about,
        headings=tuple(headings),
        fields=tuple(fields),
        min_words=words,
    )
