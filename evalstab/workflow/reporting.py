"""The report of a series in any form, for its owner or for others."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import msgspec

from evalstab.chat import Json
from evalstab.errors import UsageError, nearest
from evalstab.gate.junit import junit
from evalstab.report import markdown
from evalstab.report.facts import facts_of
from evalstab.report.model import build_report
from evalstab.report.page import Report
from evalstab.report.share import share_key, shared, trimmed
from evalstab.report.write import draw_all, page
from evalstab.series.files import write_whole
from evalstab.series.folder import SeriesFolder, open_series
from evalstab.workflow.score import SCORES, read_scores

NAMES = {
    "html": "report.html",
    "md": "report.md",
    "json": SCORES,
    "junit": "junit.xml",
    "card": "card.svg",
}
"""Where each form stands in the series folder, unless another place is named."""
SHARED = "shared"


@dataclass(frozen=True, slots=True)
class _Source:
    """A scored series, as its owner sees it or (``share``) as others may."""

    folder: SeriesFolder
    origin: SeriesFolder
    scores: Json
    share: bool

    def report(self) -> Report:
        made = build_report(self.folder, self.scores)
        return trimmed(made) if self.share else made


def report(root: Path, form: str, output: Path | None, *, share: bool = False) -> Path:
    """Write the report in one form; returns where it stands.

    Without ``output`` it goes into the series folder, with ``share`` into ``shared`` in it.
    Markdown brings its plots along. UsageError for an unknown form.
    """
    source = _source(root, form, share=share)
    default = root / SHARED / NAMES[form] if share else root / NAMES[form]
    target = output or default
    if form == "json" and not share and output is None:
        return target
    write_whole(target, _FORMS[form](source, target.suffix))
    if form == "card" and output is None:
        write_whole(target.with_suffix(".png"), _card(source, ".png"))
    if form == "md":
        for name, svg in draw_all(source.report()).items():
            write_whole(target.parent / markdown.PLOTS / f"{name}.svg", svg)
    return target


def printed(root: Path, form: str, *, share: bool = False) -> str:
    """The report in one form as text, nothing written; a card is an SVG."""
    return _FORMS[form](_source(root, form, share=share), "").decode()


def page_of(root: Path) -> bytes:
    """The page of a scored series, made anew from its scores and records."""
    folder = open_series(root)
    return page(folder, read_scores(folder)).encode()


def _source(root: Path, form: str, *, share: bool) -> _Source:
    if form not in NAMES:
        raise UsageError(f"--format {form!r}. {nearest(form, tuple(NAMES))}")
    folder = open_series(root)
    scores = read_scores(folder)
    if not share:
        return _Source(folder, folder, scores, share=False)
    outside, told = shared(folder, scores, share_key())
    return _Source(outside, folder, told, share=True)


def _html(source: _Source, _suffix: str) -> bytes:
    if not source.share:
        return page(source.folder, source.scores).encode()
    from evalstab.report.html import Transcripts, render  # noqa: PLC0415
    from evalstab.report.strip import tiles  # noqa: PLC0415

    made = source.report()
    shown = Transcripts(tiles(facts_of(source.scores), frozenset()))
    return render(made, draw_all(made), shown).encode()


def _md(source: _Source, _suffix: str) -> bytes:
    return markdown.render(source.report()).encode()


def _json(source: _Source, _suffix: str) -> bytes:
    return msgspec.json.format(msgspec.json.encode(source.scores), indent=2) + b"\n"


def _junit(source: _Source, _suffix: str) -> bytes:
    return junit(source.scores)


def _card(source: _Source, suffix: str) -> bytes:
    from evalstab.report.card import build_card, draw_card  # noqa: PLC0415

    facts = facts_of(source.scores)
    card = build_card(source.folder, facts, source.report().answer, source.origin)
    return draw_card(card, "png" if suffix == ".png" else "svg")


_FORMS: dict[str, Callable[[_Source, str], bytes]] = {
    "html": _html,
    "md": _md,
    "json": _json,
    "junit": _junit,
    "card": _card,
}
