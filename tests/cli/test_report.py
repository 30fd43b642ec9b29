"""``evalstab report``: every form, to a file, to stdout, for its owner and for others."""

from __future__ import annotations

import json
import shutil
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from tests.cli.program import evalstab
from tests.report.report_cases import FIVE_RUN

NAMES = {"md": "report.md", "html": "report.html", "json": "scores.json", "junit": "junit.xml"}


@pytest.fixture
def series(tmp_path: Path) -> Path:
    shutil.copytree(FIVE_RUN, tmp_path / "series")
    return tmp_path / "series"


@pytest.mark.parametrize("form", sorted(NAMES))
def test_a_form_goes_into_the_series_folder(series: Path, form: str) -> None:
    done = evalstab("report", series, "--format", form, cwd=series.parent)
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"{series / NAMES[form]}\n"
    assert (series / NAMES[form]).stat().st_size > 500


def test_the_card_is_svg_and_png(series: Path) -> None:
    evalstab("report", series, "--format", "card", cwd=series.parent)
    ET.fromstring((series / "card.svg").read_text(encoding="utf-8"))
    assert (series / "card.png").read_bytes().startswith(b"\x89PNG")
    done = evalstab("report", series, "--format", "card", "--output", "x.png", cwd=series.parent)
    assert done.stdout == "x.png\n"
    assert (series.parent / "x.png").read_bytes() == (series / "card.png").read_bytes()


def test_stdout_has_the_document_and_nothing_is_written(series: Path) -> None:
    before = sorted(series.rglob("*"))
    texts = {
        form: evalstab(
            "report", series, "--format", form, "--output", "-", cwd=series.parent
        ).stdout
        for form in (*NAMES, "card")
    }
    assert sorted(series.rglob("*")) == before
    assert texts["md"].startswith("# eleven-profiles on minimax-awq")
    assert texts["html"].startswith("<!doctype html>")
    assert json.loads(texts["json"])["schema_version"] == 1
    assert ET.fromstring(texts["junit"]).tag == "testsuites"
    assert ET.fromstring(texts["card"]).tag.endswith("svg")


def test_share_leaves_the_owners_files_alone(series: Path, tmp_path: Path) -> None:
    env = {"XDG_CONFIG_HOME": str(tmp_path / "config")}
    done = evalstab("report", series, "--share", "--format", "html", cwd=tmp_path, env=env)
    assert done.stdout == f"{series / 'shared' / 'report.html'}\n"
    assert not (series / "report.html").exists()
    text = (series / "shared" / "report.html").read_text(encoding="utf-8")
    assert "candidate A" in text
    assert "person_" not in text


def test_plots_stand_beside_markdown_elsewhere(series: Path, tmp_path: Path) -> None:
    done = evalstab("report", series, "--output", "elsewhere/r.md", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert {path.name for path in (tmp_path / "elsewhere" / "plots").iterdir()} == {
        "rank_trajectories.svg",
        "score_scales.svg",
    }


def test_an_unknown_form_is_refused_with_the_nearest(series: Path) -> None:
    done = evalstab("report", series, "--format", "htm", cwd=series.parent)
    assert done.returncode == 2
    assert "html" in done.stderr


def test_a_series_that_was_not_scored_says_so(series: Path) -> None:
    (series / "scores.json").unlink()
    done = evalstab("report", series, "--format", "html", cwd=series.parent)
    assert done.returncode == 3
    assert "evalstab score" in done.stderr


def test_a_series_resumed_for_more_trials_plans_them(tmp_path: Path) -> None:
    asked = ("run", "three-notes", "--endpoint", "sim:steady", "--repeats", "1", "--out", "out")
    assert evalstab(*asked, cwd=tmp_path).returncode == 0
    done = evalstab("resume", "out", "--repeats", "2", "--json", cwd=tmp_path)
    assert json.loads(done.stdout)["series"]["repeats_planned"] == 2
    told = [line for line in done.stderr.splitlines() if "trial" in line]
    assert told[0] == "1 trial kept, 2 planned"
    assert [line.split(":")[0] for line in told[1:]] == ["trial 2 of 2"]
    assert json.loads((tmp_path / "out" / "series.json").read_text())["repeats"] == 2
    assert "--repeats 2 --seed" in (tmp_path / "out" / "report.md").read_text(encoding="utf-8")
    fewer = evalstab("resume", "out", "--repeats", "1", "--json", cwd=tmp_path)
    assert fewer.returncode == 0, fewer.stderr
    assert "out has 2 trials already, --repeats 1 adds none" in fewer.stderr
    assert json.loads(fewer.stdout)["series"]["repeats_done"] == 2
