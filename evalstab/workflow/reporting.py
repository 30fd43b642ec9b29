"""The report of a series or a ladder in any form, for its owner or for others."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

import msgspec

from evalstab.chat import Json
from evalstab.errors import FolderError, UsageError, nearest
from evalstab.gate.junit import junit_of
from evalstab.measures.ladder import ladder_result
from evalstab.report import markdown
from evalstab.report.facts import facts_of
from evalstab.report.ladder import build_ladder_report, ladder_page
from evalstab.report.model import build_report
from evalstab.report.page import Report
from evalstab.report.share import (
    LADDER_NAME,
    pseudonyms_of,
    share_key,
    shared,
    shared_ladder,
    trimmed,
)
from evalstab.report.write import draw_all, page
from evalstab.series.files import write_whole
from evalstab.series.folder import SERIES_FILE, SeriesFolder, open_series
from evalstab.series.ladder import LadderFile, Rung, is_ladder, open_ladder
from evalstab.workflow.score import SCORES, read_scores

NAMES = {
    "html": "report.html",
    "md": "report.md",
    "json": SCORES,
    "junit": "junit.xml",
    "card": "card.svg",
}
"""Where each form stands in the folder, unless another place is named."""
SHARED = "shared"


class _Source(Protocol):
    """Something scored, as its owner sees it or as others may."""

    def report(self) -> Report: ...

    def html(self) -> str: ...

    def document(self) -> Json: ...

    def junit(self) -> bytes: ...

    def card(self, picture: str) -> bytes: ...


@dataclass(frozen=True, slots=True)
class _Series:
    """A series; ``origin`` is what ``folder`` was made from where it is shared."""

    folder: SeriesFolder
    origin: SeriesFolder
    scores: Json
    share: bool

    def report(self) -> Report:
        made = build_report(self.folder, self.scores)
        return trimmed(made) if self.share else made

    def html(self) -> str:
        if not self.share:
            return page(self.folder, self.scores)
        from evalstab.report.html import Transcripts, render  # noqa: PLC0415
        from evalstab.report.strip import tiles  # noqa: PLC0415

        made = self.report()
        shown = Transcripts(tiles(facts_of(self.scores), frozenset()))
        return render(made, draw_all(made), shown)

    def document(self) -> Json:
        return self.scores

    def junit(self) -> bytes:
        return junit_of([("", self.scores)])

    def card(self, picture: str) -> bytes:
        from evalstab.report.card import build_card  # noqa: PLC0415
        from evalstab.report.card_drawing import draw_card  # noqa: PLC0415

        facts = facts_of(self.scores)
        origin = self.origin if self.share else None
        card = build_card(self.folder, facts, self.report().answer, origin)
        return draw_card(card, "png" if picture == ".png" else "svg")


@dataclass(frozen=True, slots=True)
class _Ladder:
    """A ladder with the scores of its rungs; ``control`` and its ``origin`` name the model.

    ``linked``: rungs lead to their own reports, where the report stands in the ladder's folder.
    """

    file: LadderFile
    root: Path
    rungs: tuple[tuple[Rung, Json], ...]
    control: SeriesFolder
    origin: SeriesFolder
    share: bool
    linked: bool

    def report(self) -> Report:
        made = build_ladder_report(self.file, self.file.result or {}, self.root, linked=self.linked)
        return trimmed(made) if self.share else made

    def html(self) -> str:
        made = self.report()
        return ladder_page(self.file, made, draw_all(made), linked=self.linked)

    def document(self) -> Json:
        series = [scores for _, scores in self.rungs]
        return {"series": series, "ladder": msgspec.to_builtins(self.file)}

    def junit(self) -> bytes:
        return junit_of([(rung.name, scores) for rung, scores in self.rungs])

    def card(self, picture: str) -> bytes:
        from evalstab.report.card import build_ladder_card  # noqa: PLC0415
        from evalstab.report.card_drawing import draw_card  # noqa: PLC0415

        answer = self.report().answer
        result = self.file.result or {}
        origin = self.origin if self.share else None
        card = build_ladder_card(self.file, result, answer, self.control, origin)
        return draw_card(card, "png" if picture == ".png" else "svg")


def report(root: Path, form: str, output: Path | None, *, share: bool = False) -> Path:
    """Write the report in one form; returns where it stands.

    Without ``output`` it goes into the folder, with ``share`` into ``shared`` in it. Markdown
    brings its plots along. UsageError for an unknown form.
    """
    source = _source(root, form, share=share)
    default = root / SHARED / NAMES[form] if share else root / NAMES[form]
    target = output or default
    if isinstance(source, _Ladder) and target.absolute().parent != root.absolute():
        source = replace(source, linked=False)
    if form == "json" and isinstance(source, _Series) and not share and output is None:
        return target
    write_whole(target, _FORMS[form](source, target.suffix))
    if form == "card" and output is None:
        write_whole(target.with_suffix(".png"), source.card(".png"))
    if form == "md":
        for name, svg in draw_all(source.report()).items():
            write_whole(target.parent / markdown.PLOTS / f"{name}.svg", svg)
    return target


def printed(root: Path, form: str, *, share: bool = False) -> str:
    """The report in one form as text, nothing written; a card is an SVG."""
    return _FORMS[form](_source(root, form, share=share), "").decode()


def page_of(root: Path) -> bytes:
    """The page of a scored series or of a ladder, made anew; nothing is written."""
    if not is_ladder(root):
        folder = open_series(root)
        return page(folder, read_scores(folder)).encode()
    file = open_ladder(root)
    made = build_ladder_report(file, file.result or ladder_result([]), root)
    return ladder_page(file, made, draw_all(made)).encode()


def _source(root: Path, form: str, *, share: bool) -> _Source:
    if form not in NAMES:
        raise UsageError(f"--format {form!r}. {nearest(form, tuple(NAMES))}")
    if is_ladder(root):
        return _ladder(root, share=share)
    folder = open_series(root)
    scores = read_scores(folder)
    if not share:
        return _Series(folder, folder, scores, share=False)
    outside, told = shared(folder, scores, share_key())
    return _Series(outside, folder, told, share=True)


def _ladder(root: Path, *, share: bool) -> _Ladder:
    """The rungs that have scores; the ladder's result is computed from these."""
    file = open_ladder(root)
    rungs = [rung for rung in file.rungs if (root / rung.name / SERIES_FILE).is_file()]
    rungs = [rung for rung in rungs if (root / rung.name / SCORES).is_file()]
    if not rungs:
        raise FolderError(f"{root} has no scores yet: run `evalstab score {root}`")
    series = [open_series(root / rung.name) for rung in rungs]
    scores = [read_scores(folder) for folder in series]
    at = next((number for number, rung in enumerate(rungs) if rung.control), 0)
    if not share:
        known = tuple(zip(rungs, scores, strict=True))
        missing = [rung for rung in file.rungs if rung not in rungs]
        file = msgspec.structs.replace(file, result=ladder_result(known, missing))
        return _Ladder(file, root, known, series[at], series[at], share=False, linked=True)
    key = share_key()
    called = pseudonyms_of(list(zip(series, scores, strict=True)), key)
    outside = [shared(one, its, key, called) for one, its in zip(series, scores, strict=True)]
    told = [its for _, its in outside]
    bare = shared_ladder(file, rungs, told)
    names = [bare.rungs[file.rungs.index(rung)] for rung in rungs]
    return _Ladder(
        bare,
        Path(LADDER_NAME),
        tuple(zip(names, told, strict=True)),
        outside[at][0],
        series[at],
        share=True,
        linked=False,
    )


def _encoded(source: _Source, _suffix: str) -> bytes:
    return msgspec.json.format(msgspec.json.encode(source.document()), indent=2) + b"\n"


_FORMS: dict[str, Callable[[_Source, str], bytes]] = {
    "html": lambda source, _: source.html().encode(),
    "md": lambda source, _: markdown.render(source.report()).encode(),
    "json": _encoded,
    "junit": lambda source, _: source.junit(),
    "card": lambda source, suffix: source.card(suffix),
}
