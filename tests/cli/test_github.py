"""In a GitHub job: verdicts and errors become annotations, texts of others stay texts."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from evalstab.workflow.score import score
from tests.cli.program import evalstab
from tests.text.test_github import commands

RECORDED = Path(__file__).parents[2] / "fixtures" / "series-drifting"
GITHUB = {"GITHUB_ACTIONS": "true"}


@pytest.fixture(scope="module")
def series(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A recorded series, scored."""
    place = tmp_path_factory.mktemp("github") / "series"
    shutil.copytree(RECORDED, place)
    score(place)
    return place


def test_a_gate_that_fails_is_an_error_with_its_rules(series: Path) -> None:
    done = evalstab("gate", "series", "--gate", "nightly", "--json", cwd=series.parent, env=GITHUB)
    assert done.returncode == 5
    assert json.loads(done.stdout)["verdict"]["status"] == "fail"
    ((level, properties, message),) = commands(done.stderr)
    assert (level, properties) == ("error", {"title": "evalstab gate series"})
    first, *rules = message.splitlines()
    assert first.startswith("gate nightly: FAIL")
    assert any(line.split()[:2] == ["fail", "winner"] for line in rules)


def test_a_mistake_is_an_error_too_and_elsewhere_nothing_is_annotated(series: Path) -> None:
    done = evalstab("gate", "nowhere", cwd=series.parent, env=GITHUB)
    assert done.returncode == 3
    assert [level for level, _, _ in commands(done.stderr)] == ["error"]
    assert commands(evalstab("gate", "nowhere", cwd=series.parent).stderr) == []


def test_a_run_whose_gate_fails_is_an_error(tmp_path: Path) -> None:
    done = evalstab(
        "run", "three-notes", "--endpoint", "sim:drifting", "--repeats", "3",
        "--gate", "strict.toml", "--quiet", "--out", "series", cwd=_strict(tmp_path), env=GITHUB,
    )  # fmt: skip
    assert done.returncode == 5
    ((level, properties, message),) = commands(done.stderr)
    assert (level, properties) == ("error", {"title": "evalstab series"})
    assert message.startswith("gate strict: fail: ")


def _strict(folder: Path) -> Path:
    """A folder with a gate that no series of three passes."""
    rule = '{ name = "never", value = "stability.scale.cv", max = -1 }'
    (folder / "strict.toml").write_text(f"repeats = 3\nrules = [{rule}]\n")
    return folder


def test_what_a_model_wrote_is_no_command(tmp_path: Path) -> None:
    (tmp_path / "answer.md").write_text(
        "Die beste ist 漢字 ##[error]x nun\n::add-mask::e 漢字\n##[stop-commands]y 漢字\n"
    )
    told = evalstab("scan", "answer.md", "--language", "de", cwd=tmp_path, env=GITHUB)
    assert "漢字" in told.stdout
    assert commands(told.stdout + told.stderr) == []
    found = evalstab("scan", "answer.md", "--language", "de", "--json", cwd=tmp_path, env=GITHUB)
    assert commands(found.stdout + found.stderr) == []
    excerpts = json.dumps(json.loads(found.stdout), ensure_ascii=False)
    assert "##[error]x" in excerpts
