"""One line for each series or ladder under a folder, for the page that lists them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import get_args
from urllib.parse import quote

import msgspec

from evalstab.chat import Json
from evalstab.errors import FolderError
from evalstab.report import labels, numbers
from evalstab.report.facts import block, facts_of, number
from evalstab.report.page import Status
from evalstab.series.folder import SERIES_FILE, open_series
from evalstab.series.ladder import LADDER_FILE, open_ladder

DEPTH = 4
MOST = 2_000
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
    """What the index tells of each folder, newest first; broken ones are told with the reason."""
    told = [_line(root, path) for path in found]
    return sorted(told, key=lambda line: str(line["started"]), reverse=True)


def address(root: Path, folder: Path) -> str:
    """The relative address of a folder's page on the index page."""
    inner = folder.relative_to(root).as_posix()
    return quote("report.html" if inner == "." else f"{inner}/report.html")


def _line(root: Path, path: Path) -> Json:
    name = labels.visible(path.relative_to(root).as_posix() if path != root else path.name)
    line: Json = {
        "name": name, "href": None, "status": None, "note": "not scored yet", "task": "",
        "endpoint": "", "model": "", "valid": "", "tau": "", "winners": "", "started": "",
    }  # fmt: skip
    try:
        if (path / SERIES_FILE).is_file():
            line |= _series(path)
        else:
            file = open_ladder(path)
            line |= {
                "task": labels.name(file.task),
                "endpoint": labels.name(file.endpoint),
                "started": _day(file.created),
                "note": f"ladder of {numbers.plural(len(file.rungs), 'rung')}",
                "known": True,
            }
    except FolderError as error:
        return line | {"note": labels.sentence(error)}
    return line | {"href": address(root, path) if line.pop("known") else None}


def _series(path: Path) -> Json:
    file = open_series(path).file
    line: Json = {
        "task": labels.name(file.task.get("name") or ""),
        "endpoint": labels.name(file.endpoint.get("name") or ""),
        "model": labels.name(file.endpoint.get("model") or ""),
        "started": _day(file.created),
        "known": False,
    }
    try:
        scores = msgspec.json.decode((path / "scores.json").read_bytes(), type=dict)
    except OSError:
        return line
    except msgspec.DecodeError:
        return line | {"note": "scores.json cannot be read: run evalstab score"}
    facts = facts_of(scores)
    status = block(scores, "verdict").get("status")
    tau = number(facts.stability, "kendall_tau", "mean")
    distinct = number(facts.stability, "winner", "distinct")
    return line | {
        "status": status if status in get_args(Status) else "none",
        "valid": f"{len(facts.valid)} of {facts.planned}",
        "tau": "–" if tau is None else numbers.decimal(tau),
        "winners": "–" if distinct is None else numbers.count(distinct),
        "known": True,
    }


def _day(created: str) -> str:
    return labels.name(created).replace("T", " ")[:16]
