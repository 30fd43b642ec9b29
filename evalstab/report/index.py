"""One line for each series or ladder under a folder, for the page that lists them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import get_args
from urllib.parse import quote

from evalstab.chat import Json
from evalstab.errors import FolderError
from evalstab.report import labels, numbers
from evalstab.report.facts import block
from evalstab.report.own import require_own
from evalstab.report.page import Status
from evalstab.report.shape import glance
from evalstab.report.write import PAGE_FILE
from evalstab.series.folder import SERIES_FILE, open_series
from evalstab.series.ladder import LADDER_FILE, open_ladder

DEPTH = 4
MOST = 2_000
SCORES = "scores.json"
COMPARISONS = "compare"
MOST_COMPARISONS = 50
_ENDS = frozenset({"trials", "task", "plots", "shared", "calibration"})


def folders(root: Path) -> list[Path]:
    """All series and ladders under a folder, the folder itself included, by path."""
    found: list[Path] = []
    for path in _walk(root, DEPTH):
        found.append(path)
        if len(found) >= MOST:
            break
    return sorted(found)


def _walk(folder: Path, depth: int) -> Iterator[Path]:
    if (folder / SERIES_FILE).is_file():
        yield folder
        return
    if (folder / LADDER_FILE).is_file():
        yield folder
    if not depth:
        return
    try:
        inner = sorted(folder.iterdir())
    except OSError:
        return
    for path in inner:
        if path.name in _ENDS or path.name.startswith(".") or path.is_symlink():
            continue
        if path.is_dir():
            yield from _walk(path, depth - 1)


def lines(root: Path, found: list[Path]) -> list[Json]:
    """What the index tells of each folder, newest first; broken ones are told with the reason.

    The rungs of a ladder stand below it, in the order of their names.
    """
    told = {path: _line(root, path) for path in found}

    def age(path: Path) -> str:
        return str(told[path]["started"])

    rungs = {path: path.parent for path in found if path != root and path.parent in told}
    heads = sorted((path for path in found if path not in rungs), key=age, reverse=True)
    ordered = [one for head in heads for one in (head, *(r for r in rungs if rungs[r] == head))]
    return [told[path] | {"rung": path in rungs} for path in ordered]


def address(root: Path, folder: Path) -> str:
    """The relative address of a folder's page on the index page."""
    inner = os.fsencode(folder.relative_to(root))
    return quote(PAGE_FILE if inner == b"." else inner + b"/" + PAGE_FILE.encode())


def comparisons(folder: Path) -> list[Path]:
    """Pages that compare this series with another, by name."""
    place = folder / COMPARISONS
    if place.is_symlink() or not place.is_dir():
        return []
    found = (p for p in place.iterdir() if p.suffix == ".html" and not p.is_symlink())
    return sorted(path for path in found if path.is_file())[:MOST_COMPARISONS]


def _line(root: Path, path: Path) -> Json:
    name = labels.file_name(path.relative_to(root) if path != root else path.name)
    line: Json = {
        "name": name, "href": None, "status": None, "note": "not scored yet", "task": "",
        "endpoint": "", "model": "", "valid": "", "tau": "", "winners": "", "started": "",
        "beside": [],
    }  # fmt: skip
    try:
        require_own(path, root)
        found = _series(path) if (path / SERIES_FILE).is_file() else _ladder(path)
    except (FolderError, OSError, RecursionError) as error:
        return line | {"note": labels.sentence(labels.file_name(error))}
    line |= found
    if line.pop("known"):
        line["href"] = address(root, path)
    line["beside"] = [
        {"name": labels.file_name(page.stem), "href": _beside(line["href"], page)}
        for page in comparisons(path)
        if line["href"]
    ]
    return line


def _beside(href: str, page: Path) -> str:
    """The address of a comparison, as the index page names it."""
    folder = href.removesuffix(PAGE_FILE)
    return f"{folder}{COMPARISONS}/{quote(os.fsencode(page.name))}"


def _ladder(path: Path) -> Json:
    file = open_ladder(path)
    gate = block(file.result or {}, "gate")
    status = gate.get("status")
    return {
        "task": labels.name(file.task),
        "endpoint": labels.name(file.endpoint),
        "started": _day(file.created),
        "note": f"ladder of {numbers.plural(len(file.rungs), 'rung')}",
        "status": status if status in get_args(Status) and status != "none" else None,
        "valid": numbers.plural(len(file.rungs), "rung"),
        "known": True,
    }


def _series(path: Path) -> Json:
    file = open_series(path).file
    line: Json = {
        "task": labels.name(file.task.get("name") or ""),
        "endpoint": labels.name(file.endpoint.get("name") or ""),
        "model": labels.name(file.endpoint.get("model") or ""),
        "started": _day(file.created),
        "known": False,
    }
    if not (path / SCORES).is_file():
        return line
    try:
        scores = glance(path / SCORES)
    except FolderError as error:
        return line | {"note": f"{labels.sentence(labels.file_name(error))}: run evalstab score"}
    valid = [t for t in scores.trials if t.outcome in ("completed", "failed")]
    planned = max(scores.series.repeats_planned or 0, len({t.index for t in scores.trials}))
    stability = scores.stability
    tau = None if stability.kendall_tau is None else stability.kendall_tau.mean
    distinct = None if stability.winner is None else stability.winner.distinct
    status = scores.verdict.status
    return line | {
        "status": status if status in get_args(Status) else "none",
        "valid": f"{len(valid)} of {planned}",
        "tau": "–" if tau is None else numbers.decimal(tau),
        "winners": "–" if distinct is None else numbers.count(distinct),
        "known": True,
    }


def _day(created: str) -> str:
    return labels.name(created).replace("T", " ")[:16]
