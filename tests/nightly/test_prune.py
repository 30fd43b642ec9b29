"""Disk: compressed records read as before; pruned series keep scores, reports and baselines."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from evalstab.errors import FolderError
from evalstab.trial.record import read_events
from evalstab.workflow.disk import Pruning, prune
from evalstab.workflow.score import score
from tests.cli.program import evalstab

RECORDED = Path(__file__).parents[2] / "fixtures" / "series-drifting"


@pytest.fixture
def reports(tmp_path: Path) -> Path:
    """A reports folder with one scored series."""
    shutil.copytree(RECORDED, tmp_path / "reports" / "one")
    score(tmp_path / "reports" / "one")
    return tmp_path / "reports"


def test_compressed_records_read_and_score_as_before(reports: Path) -> None:
    root = reports / "one"
    record = root / "trials" / "001" / "events.jsonl"
    before, events = (root / "scores.json").read_bytes(), list(read_events(record))
    found = prune(reports, Pruning())
    assert found["bytes_after"] < found["bytes"]
    assert not record.exists()
    assert list(read_events(record.with_name("events.jsonl.zst"))) == events
    score(root)
    assert (root / "scores.json").read_bytes() == before
    assert prune(reports, Pruning())["bytes"] == prune(reports, Pruning())["bytes_after"]


def test_a_cut_archive_is_damage_and_no_crash(reports: Path) -> None:
    prune(reports, Pruning())
    packed = reports / "one" / "trials" / "001" / "events.jsonl.zst"
    packed.write_bytes(b"no archive")
    with pytest.raises(FolderError, match="damaged"):
        list(read_events(packed))
    scores = score(reports / "one")
    assert next(trial["index"] for trial in scores["trials"]) == 1


def test_an_unended_record_is_left_as_it_is(reports: Path) -> None:
    record = reports / "one" / "trials" / "002" / "events.jsonl"
    lines = record.read_bytes().splitlines(keepends=True)
    record.write_bytes(b"".join(lines[:-1]))
    prune(reports, Pruning())
    assert record.exists()
    assert not (reports / "one" / "trials" / "001" / "events.jsonl").exists()


def test_a_pruned_series_keeps_scores_and_refuses_to_lose_them(
    reports: Path, tmp_path: Path
) -> None:
    root = reports / "one"
    assert evalstab("baseline", "set", root, "--name", "b", cwd=tmp_path).returncode == 0
    kept = {p: p.read_bytes() for p in root.rglob("*") if p.is_file() and "trials" not in p.parts}
    frozen = (reports / "baselines" / "b" / "scores.json").read_bytes()
    dry = evalstab("prune", "--older-than", "0", "--dry-run", cwd=tmp_path)
    assert "would be" in dry.stdout
    assert (root / "trials").is_dir()
    assert evalstab("prune", "--older-than", "0", cwd=tmp_path).returncode == 0
    assert not (root / "trials").exists()
    for path, data in kept.items():
        if path.name not in ("truth.json",):
            assert path.read_bytes() == data
    assert (reports / "baselines" / "b" / "scores.json").read_bytes() == frozen
    for command in ("score", "resume"):
        done = evalstab(command, root, cwd=tmp_path)
        assert done.returncode == 3
        assert "were pruned" in done.stderr
    assert (root / "scores.json").read_bytes() == kept[root / "scores.json"]
    listed = json.loads(evalstab("history", "--json", cwd=tmp_path).stdout)
    assert len(listed["tracks"][0]["nights"]) == 1


def test_the_newest_are_kept_and_so_is_a_baseline_that_is_named(
    reports: Path, tmp_path: Path
) -> None:
    for number in (2, 3):
        place = reports / f"n{number}"
        shutil.copytree(reports / "one", place)
        file = json.loads((place / "series.json").read_text())
        file |= {"id": f"n{number}", "created": f"2031-01-0{number}T00:00:00+00:00"}
        (place / "series.json").write_text(json.dumps(file))
    (tmp_path / "evalstab.toml").write_text(
        '[nightly]\nseries = [{task = "t", endpoint = "e", baseline = "reports/one"}]\n'
    )
    done = evalstab("prune", "--keep", "1", "--json", cwd=tmp_path)
    found = {Path(s["folder"]).name: s["action"] for s in json.loads(done.stdout)["series"]}
    assert found == {"one": "compressed", "n2": "pruned", "n3": "compressed"}
