"""Whether a Markdown text or a form has what the task asks of it."""

from __future__ import annotations

import re

import regex

from evalstab.task.aliases import plain
from evalstab.task.model import Deliverable

MAX_LINES = 50_000
LINE_CHARACTERS = 20_000
_NAME_CHARACTERS = 220
_SEPARATORS = 5

_ATX = re.compile(r" {0,3}(#{1,6})[ \t]+(\S.*)")
_UNDERLINE = re.compile(r" {0,3}(?:=+|-{2,})[ \t]*")
_NUMBERING = re.compile(r"(?:\d{1,3}[.)]|[a-z][.)]|[ivx]{1,5}[.)])\s+")
_WORD = regex.compile(
    r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}]"
    r"|[\p{L}\p{N}][\p{L}\p{N}\p{M}'’\-]*"
)
_FILLED = regex.compile(r"[\p{L}\p{N}]")
_FIELD_MARKUP = re.compile(r"[ \t]*(?:[-*+>|][ \t]+|#{1,6}[ \t]+|\d{1,3}[.)][ \t]+)?")
_PLACEHOLDER = re.compile(
    r"[*_`\s]*(?:<[^<>]{0,100}>|\[[^\[\]]{0,100}\]|todo|tbd|xxx)[*_`\s.]*", re.I
)


def faults_in_document(text: str, deliverable: Deliverable) -> list[str]:
    """What is missing from a document, in plain words; empty where it is complete."""
    lines = [line[:LINE_CHARACTERS] for line in text.split("\n", MAX_LINES)[:MAX_LINES]]
    faults = _missing_fields(lines, deliverable.fields)
    faults += _missing_headings(lines, deliverable.headings)
    words = sum(1 for line in lines for _ in _WORD.finditer(line))
    least = max(1, deliverable.min_words)
    if words < least:
        faults.append(f"{words} words, at least {least} asked for")
    return faults


def _missing_headings(lines: list[str], wanted: tuple[str, ...]) -> list[str]:
    found: dict[str, bool] = {}
    open_sections: list[tuple[int, str]] = []
    for level, text in _outline(lines):
        if level:
            open_sections = [(depth, name) for depth, name in open_sections if depth < level]
            name = _heading(text)
            open_sections.append((level, name))
            found.setdefault(name, False)
        elif _FILLED.search(text):
            found.update((name, True) for _, name in open_sections)
    faults = []
    for heading in wanted:
        filled = found.get(_heading(heading))
        if filled is None:
            faults.append(f"the heading {heading!r} is missing")
        elif not filled:
            faults.append(f"nothing stands under the heading {heading!r}")
    return faults


def _outline(lines: list[str]) -> list[tuple[int, str]]:
    outline: list[tuple[int, str]] = []
    fenced = False
    for line in lines:
        if line.lstrip().startswith(("```", "~~~")):
            fenced = not fenced
            continue
        atx = None if fenced else _ATX.fullmatch(line)
        if atx:
            outline.append((len(atx[1]), atx[2]))
        elif (
            not fenced
            and outline
            and outline[-1][0] == 0
            and outline[-1][1].strip()
            and _UNDERLINE.fullmatch(line)
            and "|" not in outline[-1][1]
        ):
            outline[-1] = (1 if "=" in line else 2, outline[-1][1])
        else:
            outline.append((0, line))
    return outline


def _heading(text: str) -> str:
    return plain(_NUMBERING.sub("", plain(text.rstrip(" #")), count=1))


def _missing_fields(lines: list[str], wanted: tuple[str, ...]) -> list[str]:
    names = {plain(field): field for field in wanted}
    filled: dict[str, bool] = {}
    current: str | None = None
    for line in lines:
        name, value = _field(line, names)
        if name is not None:
            current = name
            filled.setdefault(name, False)
        elif line.startswith("#"):
            current = None
        if current is not None and _FILLED.search(value) and not _PLACEHOLDER.fullmatch(value):
            filled[current] = True
    faults = [f"the field {field!r} is missing" for field in wanted if plain(field) not in filled]
    faults += [f"the field {names[name]!r} is empty" for name, full in filled.items() if not full]
    return faults


def _field(line: str, names: dict[str, str]) -> tuple[str | None, str]:
    body = _FIELD_MARKUP.sub("", line, count=1)
    for separator in (":", "|"):
        at = -1
        for _ in range(_SEPARATORS):
            at = body.find(separator, at + 1)
            if not 0 <= at <= _NAME_CHARACTERS:
                break
            if (name := plain(body[:at])) in names:
                return name, body[at + 1 :]
    marked = line.startswith("#") or body.lstrip().startswith(("*", "_"))
    if marked and (name := plain(body[:_NAME_CHARACTERS])) in names:
        return name, ""
    return None, line
