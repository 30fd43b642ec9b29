"""``evalstab compare``: two series, the conditions in which they differ, and what that changed."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

import numpy as np

from evalstab.chat import Json
from evalstab.errors import FolderError
from evalstab.gate.comparable import differences, not_varied, require_equal_work
from evalstab.gate.comparison import TOO_FEW, Pair, compare, criteria_of
from evalstab.gate.evidence import Evidence, evidence_of
from evalstab.history.baseline import ABOUT
from evalstab.report import markdown
from evalstab.report.comparison import comparison_page, comparison_table
from evalstab.report.page import PairData
from evalstab.report.side_by_side import Both
from evalstab.report.write import PAGE_FILE, draw_all
from evalstab.series.files import read_json, write_json, write_whole
from evalstab.series.folder import SERIES_FILE, open_series
from evalstab.series.ladder import require_series
from evalstab.workflow.score import SCORES, read_scores, score


@dataclass(frozen=True, slots=True)
class Side:
    """A series, or a frozen copy of its scores; work and conditions are empty where not known."""

    path: Path
    scores: Json
    work: Json
    conditions: Json

    def entry(self) -> Json:
        """How the side is named in the comparison."""
        series = self.scores["series"]
        return {"id": str(series.get("id") or self.path.name), "path": str(self.path)}


def compare_series(
    base: Path, new: Path, declared: Sequence[str] = (), output: Path | None = None
) -> Json:
    """Compare two series and write page, plot and JSON; returns the JSON document.

    FolderError where both are the same, and where the work or the candidates differ, naming in
    what; UsageError for a factor
    that is none. ``output`` is a folder, by default ``compare/`` in the new series; where that is a
    frozen baseline, which nothing is written into, in the base; where both are, nothing is written
    and ``files`` is empty.
    """
    if base.resolve() == new.resolve():
        raise FolderError(f"{base} and {new} are the same series: name two different ones")
    one, other = side(base), side(new)
    found, pair = compared(one, other, declared)
    place = output or next((_beside(path) for path in (new, base) if not _frozen(path)), None)
    if place is None:
        found["files"] = {}
    else:
        _write(found, pair, place, (one, other))
    return found


def compared(one: Side, other: Side, declared: Sequence[str] = ()) -> tuple[Json, Pair]:
    """The comparison itself, nothing written: the document, and the trials it is made from."""
    unknown = require_equal_work(one.work, other.work)
    pair = Pair(_evidence(one), _evidence(other))
    if set(pair.base.candidates) != set(pair.new.candidates):
        raise FolderError(
            f"{one.path} and {other.path} judge different candidates: nothing can be compared"
        )
    found: Json = {"schema_version": 1, "base": one.entry(), "new": other.entry()}
    differing = differences(one.conditions, other.conditions, declared)
    found["declared"] = list(declared)
    found["differences"] = [
        {"factor": d.factor, "base": d.base, "new": d.new, "kind": d.kind, "sentence": d.sentence()}
        for d in differing
    ]
    found["warnings"] = [
        *(d.sentence() for d in differing if d.kind == "undeclared"),
        *(
            f"{factor}: declared, but it does not differ"
            for factor in not_varied(differing, declared)
        ),
        *(f"work: cannot tell whether {name} was the same" for name in unknown),
    ]
    found |= compare(pair, criteria_of(other.scores["verdict"]))
    found["summary"] = _summary(found)
    return found, pair


def table(found: Json) -> str:
    """A comparison for people."""
    return comparison_table(found)


def side(path: Path) -> Side:
    """A series folder, a folder with frozen scores, or a scores.json file."""
    require_series(path)
    if (path / SERIES_FILE).is_file():
        folder = open_series(path)
        scores = read_scores(folder) if (path / SCORES).is_file() else score(path)
        return Side(path, scores, folder.file.work, folder.file.conditions)
    place = path / SCORES if path.is_dir() else path
    scores = read_json(place, dict, f"{path} is neither a series folder nor scores")
    if not isinstance(scores.get("trials"), list) or not isinstance(scores.get("series"), dict):
        raise FolderError(f"{place} holds no scores of a series")
    scores.setdefault("verdict", {})
    return Side(path, scores, scores.get("work") or {}, scores.get("conditions") or {})


def _evidence(one: Side) -> Evidence:
    """All judged trials; columns in the order of the ids, so that both sides agree."""
    scores = dict(one.scores)
    stability = dict(scores.get("stability") or {})
    stability["candidates"] = dict(sorted((stability.get("candidates") or {}).items()))
    return evidence_of(scores | {"stability": stability}, 1)


def _summary(found: Json) -> str:
    """One sentence for each of the two questions."""
    stability, consensus = found["stability"], found["consensus"]
    said = []
    if stability["answer"] == "yes":
        word = "less" if (stability["difference"] or 0) < 0 else "more"
        said.append(f"The new series is {word} stable.")
    elif stability["answer"] == TOO_FEW:
        said.append("Too few trials to say whether the stability changed.")
    else:
        said.append("No change of stability was shown.")
    if consensus["answer"] == "yes":
        said.append("The consensus moved: the two series agree on different orders.")
    elif consensus["answer"] == TOO_FEW:
        said.append(
            f"Too few trials to say whether the consensus moved (least possible p "
            f"{consensus['smallest_p']:.2g})."
        )
    else:
        said.append("No move of the consensus was shown.")
    worse = {"yes": "It is no worse", "no": "It is worse", "undecided": "Undecided whether worse"}
    said.append(f"{worse[found['not_worse']['answer']]} than the base by more than 0.10 of tau.")
    return " ".join(said)


def _write(found: Json, pair: Pair, place: Path, sides: tuple[Side, Side]) -> None:
    from evalstab.report.html import render  # noqa: PLC0415

    base, new = sides
    name = "".join(c if c.isalnum() or c in "-_." else "-" for c in base.entry()["id"])[:120]
    found["files"] = {kind: str(place / f"{name}.{kind}") for kind in ("html", "json", "md", "svg")}
    stood = PairData(tuple(pair.base.candidates), _places(pair.base), _places(pair.new))
    report = comparison_page(found, Both(base.scores, new.scores, stood, name))
    drawn = draw_all(report)
    links = [(word, _page_of(side, place)) for word, side in (("Base", base), ("New", new))]
    known = tuple((word, href) for word, href in links if href is not None)
    write_whole(place / f"{name}.svg", drawn[name])
    write_whole(place / f"{name}.md", markdown.render(report, plots=None))
    write_whole(place / f"{name}.html", render(report, drawn, links=known))
    write_json(place / f"{name}.json", found)


def _page_of(side: Side, place: Path) -> str | None:
    """The address of a side's own page as seen from the comparison's, None where it has none."""
    page = side.path / PAGE_FILE
    if not page.is_file():
        return None
    return quote(os.path.relpath(page.resolve(), place.resolve()))


def _beside(path: Path) -> Path:
    return _folder(path) / "compare"


def _frozen(path: Path) -> bool:
    return (_folder(path) / ABOUT).is_file()


def _folder(path: Path) -> Path:
    return path if path.is_dir() else path.parent


def _places(side: Evidence) -> tuple[tuple[float, ...], ...]:
    """For each candidate its places, unranked trials left out."""
    columns = (side.places[:, j] for j in range(len(side.candidates)))
    return tuple(tuple(float(p) for p in column if not np.isnan(p)) for column in columns)
