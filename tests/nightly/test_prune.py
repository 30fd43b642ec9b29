"""Disk: compressed records read as before; pruned series keep scores, reports and baselines."""

from __future__ import annotations

import json
import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from evalstab.chat import Json
from evalstab.errors import FolderError
from evalstab.series.folder import locked
from evalstab.trial.record import read_events
from evalstab.workflow.disk import Pruning, prune
from evalstab.workflow.score import score
from tests.cli.program import evalstab

RECORDED = Path(__file__).parents[2] / "fixtures" / "series-drifting"


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A recorded series, scored."""
    place = tmp_path_factory.mktemp("recorded") / "one"
    shutil.copytree(RECORDED, place)
    score(place)
    return place


@pytest.fixture
def reports(tmp_path: Path, recorded: Path) -> Path:
    """A reports folder with one scored series."""
    shutil.copytree(recorded, tmp_path / "reports" / "one")
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


def _dated(reports: Path, name: str, days: float, **series: int) -> Path:
    """A copy of the series that began so many days ago; ``series`` changes its scores."""
    place = reports / name
    shutil.copytree(reports / "one", place)
    created = (datetime.now(UTC) - timedelta(days=days)).isoformat()
    file = json.loads((place / "series.json").read_text()) | {"id": name, "created": created}
    (place / "series.json").write_text(json.dumps(file))
    scores = json.loads((place / "scores.json").read_text())
    scores["series"] |= {"id": name, **series}
    (place / "scores.json").write_text(json.dumps(scores))
    return place


def _actions(found: Json) -> dict[str, str]:
    return {Path(one["folder"]).name: one["action"] for one in found["series"]}


def _files(place: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in place.rglob("*") if path.is_file()}


def test_age_is_that_of_the_series(reports: Path) -> None:
    for days in (2, 9, 11):
        _dated(reports, f"d{days}", days)
    shutil.rmtree(reports / "one")
    found = prune(reports, Pruning(older_than=10))
    assert _actions(found) == {"d11": "pruned", "d9": "compressed", "d2": "compressed"}
    assert found["bytes_after"] == sum(one["bytes_after"] for one in found["series"])
    assert found["bytes_after"] == sum(
        len(data) for data in _files(reports / "d11").values()
    ) + sum(len(data) for name in ("d9", "d2") for data in _files(reports / name).values())


def test_an_unfinished_series_is_never_touched_and_takes_no_place(reports: Path) -> None:
    unfinished = _dated(reports, "unfinished", 1, repeats_planned=9)
    unscored = _dated(reports, "unscored", 1)
    (unscored / "scores.json").unlink()
    shutil.rmtree(unscored / "trials" / "003")
    older = _dated(reports, "older", 3)
    shutil.rmtree(reports / "one")
    before = _files(unfinished) | _files(unscored)
    found = _actions(prune(reports, Pruning(older_than=0, keep=1)))
    assert found["older"] == "compressed"  # the newest of those that are finished
    assert found["unfinished"].startswith("left alone: 5 of 9 trials are judged; finish it with")
    assert found["unscored"] == "left alone: it was not scored yet"
    assert _actions(prune(reports, Pruning(older_than=0)))["older"] == "pruned"
    assert not (older / "trials").exists()
    assert _files(unfinished) | _files(unscored) == before


@pytest.mark.parametrize("dry_run", [True, False])
def test_a_series_that_another_process_writes_is_left_alone(reports: Path, dry_run: bool) -> None:
    with locked(reports / "one"):
        before = _files(reports / "one")
        found = _actions(prune(reports, Pruning(older_than=0, dry_run=dry_run)))
        assert "is being written by another evalstab" in found["one"]
        assert _files(reports / "one") == before
    assert _actions(prune(reports, Pruning(older_than=0)))["one"] == "pruned"


def test_what_was_cut_off_while_pruning_is_finished(reports: Path) -> None:
    (reports / "one" / "pruned.json").write_text("{}")
    assert _actions(prune(reports, Pruning()))["one"] == "pruned"
    assert not (reports / "one" / "trials").exists()
    assert _actions(prune(reports, Pruning()))["one"] == "pruned before"


def test_the_rungs_of_a_ladder_that_is_a_baseline_stay(reports: Path, tmp_path: Path) -> None:
    (reports / "ladder").mkdir()
    (reports / "one").rename(reports / "ladder" / "16k")
    (tmp_path / "evalstab.toml").write_text(
        '[nightly]\nseries = [{task = "t", endpoint = "e", baseline = "reports/ladder/"}]\n'
    )
    done = evalstab("prune", "--older-than", "0", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("compressed ")
    assert "reports/ladder/16k" in done.stdout


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


def test_a_dry_run_tells_what_would_be_and_no_run_lists_what_stays(
    reports: Path, tmp_path: Path
) -> None:
    would = prune(reports, Pruning(dry_run=True))
    assert _actions(would) == {"one": "compress"}
    assert would["bytes_after"] < would["bytes"]
    first = evalstab("prune", cwd=tmp_path).stdout
    assert first.startswith("compressed ")
    assert sum(len(data) for data in _files(reports / "one").values()) == would["bytes_after"]
    for more in ((), ("--dry-run",)):
        again = evalstab("prune", *more, cwd=tmp_path).stdout.splitlines()
        assert again[0] == "nothing to do in 1 of 1 series"
        assert len(again) == 2
    assert _actions(prune(reports, Pruning())) == {"one": "compressed before"}
