"""A ladder has all that a series has: page, Markdown, JSON, JUnit and card, own and shared."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest
from junitparser import JUnitXml

from evalstab.report.conditions import run_command
from evalstab.report.model import build_report
from evalstab.report.page import Command
from evalstab.series.folder import open_series
from evalstab.series.ladder import ladder_above, open_ladder
from evalstab.workflow.reporting import NAMES as FORMS
from evalstab.workflow.reporting import printed, report
from evalstab.workflow.score import read_scores
from tests.report.ladder_cases import NAMES, STEADY, TORN, Totals, ladder_of
from tests.report.test_share import unpacked


@pytest.fixture(autouse=True)
def _own_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))


@pytest.fixture
def sizes(tmp_path: Path) -> Path:
    rungs = [("16k", 16_000, 1, STEADY), ("60k", 60_000, 1, STEADY), ("80k", 80_000, 1, TORN)]
    ladder_of(tmp_path / "sizes", rungs)
    return tmp_path / "sizes"


@pytest.fixture
def loads(tmp_path: Path) -> Path:
    ladder_of(tmp_path / "loads", [("c1", None, 1, STEADY), ("c4", None, 4, TORN)])
    return tmp_path / "loads"


def test_the_page_has_curves_a_rung_table_and_links(sizes: Path) -> None:
    page = printed(sizes, "html")
    assert '<a href="60k/report.html"><bdi>60k</bdi></a>' in page
    assert page.index("<h2>Curves</h2>") < page.index("<h2>Stability by rung</h2>")
    assert page.count("data:image/svg+xml;base64,") == 1
    assert "[60k](60k/report.md)" in printed(sizes, "md")


def test_json_and_junit_hold_every_rung(sizes: Path) -> None:
    document = json.loads(printed(sizes, "json"))
    assert [one["series"]["context_target"] for one in document["series"]] == [16e3, 60e3, 80e3]
    assert [row["name"] for row in document["ladder"]["result"]["rungs"]] == ["16k", "60k", "80k"]
    suites = list(JUnitXml.fromstring(printed(sizes, "junit").encode()))
    assert [suite.name.partition(":")[0] for suite in suites] == ["16k", "60k", "80k"]
    cases = [(case.classname, case.name) for suite in suites for case in suite]
    assert len(cases) == len(set(cases))


def test_the_card_shows_tau_of_every_rung(sizes: Path) -> None:
    svg = printed(sizes, "card")
    told = "\n".join(
        "".join(e.itertext()) for e in ET.fromstring(svg).iter() if e.tag.endswith("}text")
    )
    for words in ("tau at 16k\n1.00", "tau at 60k\n1.00", "tau at 80k\n", "active context, tokens"):
        assert words in told
    assert report(sizes, "card", None).with_suffix(".png").read_bytes()[:4] == b"\x89PNG"


@pytest.mark.parametrize("form", sorted(FORMS))
def test_a_shared_ladder_names_nobody(sizes: Path, form: str) -> None:
    own, told = unpacked(printed(sizes, form)), unpacked(printed(sizes, form, share=True))
    for secret in (*NAMES, "eleven-profiles", "minimax-awq", sizes.name, "a-ladder"):
        assert secret not in told, secret
    assert "eleven-profiles" in own
    assert "80k" in told or form == "json"
    assert form == "junit" or "report.html" not in told


def test_a_candidate_has_one_letter_over_all_rungs(sizes: Path) -> None:
    alone = [json.loads(printed(sizes / name, "json", share=True)) for name in ("16k", "80k")]
    series = json.loads(printed(sizes, "json", share=True))["series"]
    own = json.loads(printed(sizes, "json"))["series"]
    letters: dict[str, set[str]] = {name: set() for name in NAMES}
    for told, mine in [*zip(series, own, strict=True), (alone[0], own[0]), (alone[1], own[2])]:
        for one, other in zip(mine["trials"], told["trials"], strict=True):
            for name, total in one["totals"].items():
                letters[name] |= {who for who, value in other["totals"].items() if value == total}
    assert all(len(found) == 1 for found in letters.values())
    assert len(set.union(*letters.values())) == len(NAMES)


def test_what_a_model_invents_moves_no_letter(sizes: Path) -> None:
    before = _letters(sizes)
    place = sizes / "60k" / "scores.json"
    scores = json.loads(place.read_text())
    scores["trials"][0]["totals"]["Nobody Knows"] = 1.0
    place.write_text(json.dumps(scores))
    series = sizes / "60k" / "series.json"
    file = json.loads(series.read_text())
    file["task"]["candidates"] = NAMES
    series.write_text(json.dumps(file))
    assert _letters(sizes) == before
    assert "Nobody Knows" not in printed(sizes, "json", share=True)


def _letters(root: Path) -> list[Any]:
    told = json.loads(printed(root, "json", share=True))
    return [trial["ranking"] for series in told["series"] for trial in series["trials"]]


def test_a_ladder_of_load_has_no_columns_of_context(sizes: Path, loads: Path) -> None:
    by_load, by_size = printed(loads, "md"), printed(sizes, "md")
    for title in ("active context", "off target", "context at depth"):
        assert title not in re.sub(r"!\[.*?\]", "", by_load), title
        assert title in by_size, title
    assert "| rung | trials at once |" in by_load
    assert "trials at once" not in by_size


def test_the_command_of_a_rung_asks_its_whole_ladder(sizes: Path, loads: Path) -> None:
    rung = open_series(sizes / "60k")
    command = run_command(rung.file, ladder_above(rung.root))
    assert "--context 16000,60000,80000" in command
    told = build_report(rung, read_scores(rung))
    lines = [
        line for s in told.sections for b in s.blocks if isinstance(b, Command) for line in b.lines
    ]
    assert command in lines
    assert command in printed(sizes, "md")
    load = open_series(loads / "c4")
    assert "--concurrency 1,4" in run_command(load.file, ladder_above(load.root))
    assert "--context" not in run_command(load.file, ladder_above(load.root))


def test_a_series_beside_a_ladder_is_no_rung_of_it(sizes: Path) -> None:
    (sizes / "60k").rename(sizes / "other")
    assert ladder_above(sizes / "other") is None
    assert ladder_above(sizes / "80k") == open_ladder(sizes)


def test_links_lead_nowhere_else(sizes: Path, tmp_path: Path) -> None:
    elsewhere = report(sizes, "html", tmp_path / "elsewhere.html").read_text(encoding="utf-8")
    assert "60k/report.html" not in elsewhere
    assert "60k/report.html" in report(sizes, "html", None).read_text(encoding="utf-8")


def test_the_change_of_tau_is_called_so_and_every_lower_rung_is_named(tmp_path: Path) -> None:
    rungs = [("16k", 16_000, 1, STEADY), ("60k", 60_000, 1, TORN), ("80k", 80_000, 1, TORN)]
    ladder_of(tmp_path / "torn", rungs)
    told = printed(tmp_path / "torn", "md")
    line = next(line for line in told.splitlines() if "agreement falls" in line)
    for rung in ("60k", "80k"):
        assert re.search(rf"{rung} \(change of tau −\d\.\d\d, 95 % interval ", line), line


def test_three_trials_a_rung_give_no_interval_of_the_change(tmp_path: Path) -> None:
    torn: Totals = [STEADY[0], STEADY[0], [50.0, 40.0, 30.0, 10.0, 20.0]]
    worse: Totals = [torn[0], torn[2], torn[2]]
    ladder_of(tmp_path / "few", [("16k", 16_000, 1, torn), ("60k", 60_000, 1, worse)])
    told = printed(tmp_path / "few", "md")
    assert "3 trials are too few for an interval of the change" in told
    assert "| too few trials | too few trials to tell |" in told


def test_a_provisional_pass_says_so_on_card_and_page(sizes: Path) -> None:
    place = sizes / "60k" / "scores.json"
    scores = json.loads(place.read_text())
    scores["verdict"] = {"status": "pass", "gate": "nightly", "provisional": True, "rules": []}
    place.write_text(json.dumps(scores))
    assert "  pass (provisional, 5 trials)" in unpacked(printed(sizes, "card"))
    badge = '<span class="badge pass">pass (provisional, 5 trials)</span>'
    assert badge in printed(sizes, "html")
