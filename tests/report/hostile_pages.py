"""A ladder and a comparison with every payload in every place that is not ours."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from evalstab.report.comparison import comparison_page
from evalstab.report.html import render, render_index
from evalstab.report.index import folders, lines
from evalstab.report.labels import visible
from evalstab.report.page import PairData
from evalstab.report.side_by_side import Both
from evalstab.report.write import draw_all, page
from evalstab.series.folder import open_series
from evalstab.series.ladder import open_ladder, write_ladder
from evalstab.workflow.compare import compare_series
from evalstab.workflow.reporting import printed
from evalstab.workflow.score import read_scores
from tests.report.ladder_cases import STEADY, TORN, ladder_of
from tests.report.page_cases import EVERYTHING, PAYLOADS, hostile_series, write_scores


def pages(root: Path) -> dict[str, str]:
    """A page of every kind, each full of payloads."""
    folder, scores = hostile_series(root / "reports" / "<img src=x onerror=alert(1)>")
    write_scores(folder, scores)
    ladder = _ladder(root / "reports" / "up")
    found = {
        "series": page(folder, scores),
        "ladder": printed(ladder, "html"),
        "shared ladder": printed(ladder, "html", share=True),
        "comparison": _comparison(root / "reports"),
    }
    place = root / "reports"
    return found | {"index": render_index(lines(place, folders(place)), visible(EVERYTHING))}


def plain_pages(root: Path) -> dict[str, str]:
    """A page of every kind as people see them: a gate, rungs that fail, a comparison, a list."""
    rungs = [("16k", 16_000, 1, STEADY), ("60k", 60_000, 1, TORN), ("80k", 80_000, 1, TORN)]
    place = root / "plain"
    ladder_of(place / "up", rungs)
    for name, _, _, totals in rungs:
        _judge(place / "up" / name, "pass" if totals is STEADY else "fail")
    found = compare_series(place / "up" / "16k", place / "up" / "60k", (), root / "compared")
    series = open_series(place / "up" / "60k")
    return {
        "series": page(series, read_scores(series)),
        "ladder": printed(place / "up", "html"),
        "comparison": Path(found["files"]["html"]).read_text(encoding="utf-8"),
        "index": render_index(lines(place, folders(place)), "reports"),
    }


def _judge(place: Path, status: str) -> None:
    scores = msgspec.json.decode((place / "scores.json").read_bytes())
    reason = "2 of 5 trials (95 % interval of the rate 5 % to 85 %); at most 0 of 5 are asked for"
    rule = {
        "name": "complete", "kind": "count", "key": "deliverables_incomplete", "status": status,
        "value": 2, "ci_low": 0.05, "ci_high": 0.85, "threshold": 0, "reason": reason,
    }  # fmt: skip
    scores["verdict"] = {"status": status, "gate": "nightly", "rules": [rule], "next": []}
    write_scores(open_series(place), scores)


def _ladder(root: Path) -> Path:
    rungs = [("16k", 16_000, 1, STEADY), ("javascript:alert(1)", 60_000, 1, TORN)]
    ladder_of(root, rungs, task=EVERYTHING, endpoint=PAYLOADS["svg"], notes=(EVERYTHING,))
    file = open_ladder(root)
    hostile = tuple(
        msgspec.structs.replace(rung, problem=PAYLOADS[key])
        for rung, key in zip(file.rungs, ("script", "attribute"), strict=True)
    )
    request = file.request | {"task": PAYLOADS["closing"], "contexts": [PAYLOADS["image"]]}
    write_ladder(root, msgspec.structs.replace(file, rungs=hostile, request=request))
    for rung in file.rungs:
        place = root / rung.name
        scores = msgspec.json.decode((place / "scores.json").read_bytes())
        scores["speed"] = {"sources": [{"source": PAYLOADS["frame"], "decode_tok_s": 1.0}]}
        scores["verdict"] = {"status": "fail", "gate": PAYLOADS["image"], "rules": []}
        write_scores(open_series(place), scores)
    return root


def _comparison(root: Path) -> str:
    base, new = root / "up" / "16k", root / "up" / "javascript:alert(1)"
    found = compare_series(base, new, (), root / "compared")
    sides = [read_scores(open_series(place)) for place in (base, new)]
    names = tuple(PAYLOADS.values())
    some: tuple[tuple[float, ...], ...] = tuple((float(i), 2.0) for i in range(len(names)))
    hostile: dict[str, Any] = found | {
        "summary": EVERYTHING,
        "warnings": list(PAYLOADS.values()),
        "differences": [{"sentence": EVERYTHING}],
        "base": {"path": PAYLOADS["script"]},
        "new": {"path": PAYLOADS["svg"]},
    }
    hostile["consensus"] |= {"base_first": list(names[:3]), "new_first": [names[3]]}
    hostile["criteria"] = [one | {"question": PAYLOADS["style"]} for one in found["criteria"]]
    report = comparison_page(hostile, Both(sides[0], sides[1], PairData(names, some, some)))
    links = (("Base", "javascript%3Aalert%281%29/report.html"), (PAYLOADS["script"], "x.html"))
    return render(report, draw_all(report), links=links)
