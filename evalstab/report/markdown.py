"""The report as GitHub-flavoured Markdown. Every string is escaped; nothing in it is markup."""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import quote

from evalstab.report.page import (
    Align,
    Block,
    Bullets,
    Command,
    Figure,
    Paragraph,
    Quote,
    Quotes,
    Report,
    Section,
    Table,
)

PLOTS = "plots"
_SYNTAX = re.compile(r"[\\`*\[\]|~$]|(?<![^\W_])_|_(?![^\W_])|:(?=//)|(?<=www)\.", re.I)
_LINE_START = re.compile(r"^(?:[#+\-=>]|\d+[.)])(?=\s|$)|^[-=+]+(?=\s*$)")
_RULES: dict[Align, str] = {"left": "---", "right": "--:"}


def render(report: Report, *, plots: str | None = PLOTS) -> str:
    """The whole page, ending with a line break; plots are linked as ``plots/<name>.svg``.

    ``plots`` None: they stand beside the page.
    """
    answer = report.answer
    parts = [f"# {escape(report.title)}", f"**{escape(report.question)}**"]
    first = [f"**{escape(answer.line)}**", *(escape(notice) for notice in report.notices)]
    parts.append("\n>\n".join(f"> {line}" for line in first))
    if answer.points:
        parts.append(_bullets(answer.points))
    for section in report.sections:
        parts.extend(_section(section, "" if plots is None else f"{plots}/"))
    return "\n\n".join(parts) + "\n"


def escape(text: str) -> str:
    """Plain text as Markdown that shows exactly this text, in a paragraph or a table cell."""
    safe = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    safe = _SYNTAX.sub(r"\\\g<0>", safe)
    # A comment between @ and a name keeps GitHub from notifying whoever bears the name.
    safe = safe.replace("@", "@<!-- -->")
    return _LINE_START.sub(lambda start: f"{start[0][:-1]}\\{start[0][-1]}", safe)


def _section(section: Section, plots: str) -> Iterator[str]:
    yield f"## {escape(section.title)}"
    for block in section.blocks:
        yield _block(block, plots)


def _block(block: Block, plots: str) -> str:
    match block:
        case Paragraph(text):
            return escape(text)
        case Bullets(items):
            return _bullets(items)
        case Command(lines):
            return _fenced(lines)
        case Table():
            return _table(block)
        case Quotes(items):
            return "\n".join(_quote(item) for item in items)
        case Figure(name, _, alt, _):
            return f"![{escape(alt)}]({plots}{quote(name)}.svg)"


def _bullets(items: tuple[str, ...]) -> str:
    return "\n".join(f"- {escape(item)}" for item in items)


def _fenced(lines: tuple[str, ...]) -> str:
    longest = max((len(run) for line in lines for run in re.findall("`+", line)), default=0)
    fence = "`" * max(3, longest + 1)
    return "\n".join((f"{fence}sh", *lines, fence))


def _table(table: Table) -> str:
    lines = [table.header, tuple(_RULES[align] for align in table.align)]
    head = [_row(tuple(map(escape, lines[0]))), _row(lines[1])]
    body = [[escape(cell) for cell in row] for row in table.rows]
    for row, link in zip(body, table.links, strict=False):
        row[0] = f"[{row[0]}]({link}report.md)"
    return "\n".join([*head, *(_row(tuple(row)) for row in body)])


def _row(cells: tuple[str, ...]) -> str:
    return f"| {' | '.join(cells)} |"


def _quote(quote: Quote) -> str:
    return f"- {escape(quote.where)}: {escape(quote.text)}"
