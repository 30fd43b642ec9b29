"""History is derived from series folders: brought up to date, rebuilt, read as tracks."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import msgspec
import pytest

from evalstab.errors import ConfigError, FolderError, UsageError
from evalstab.history.baseline import freeze
from evalstab.history.drift import drift_of, told_apart
from evalstab.history.store import open_store
from evalstab.history.tracks import tracks_of
from evalstab.workflow.score import score
from evalstab.workflow.trends import Chosen, drawn, history, known_baselines

ROOT = Path(__file__).parents[2]
RECORDED = ROOT / "fixtures" / "series-drifting"


@pytest.fixture(scope="module")
def scored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A recorded series, scored."""
    place = tmp_path_factory.mktemp("recorded") / "series"
    shutil.copytree(RECORDED, place)
    score(place)
    return place


def night(scored: Path, reports: Path, day: int, **changes: Any) -> Path:
    """The recorded series as that of another night; ``changes`` are conditions or ``tau``."""
    place = reports / f"202611{day:02d}-021700"
    place.mkdir(parents=True)
    for name in ("series.json", "scores.json"):
        shutil.copy(scored / name, place / name)
    file = json.loads((place / "series.json").read_text())
    file["id"] = f"night-{day}"
    file["created"] = f"2026-11-{day:02d}T02:17:00+00:00"
    scores = json.loads((place / "scores.json").read_text())
    scores["series"]["id"] = file["id"]
    if "tau" in changes:
        scores["stability"]["kendall_tau"]["mean"] = changes.pop("tau")
    file["conditions"] |= changes
    (place / "series.json").write_bytes(msgspec.json.encode(file))
    (place / "scores.json").write_bytes(msgspec.json.encode(scores))
    return place


def test_the_store_can_be_rebuilt_from_the_folders(scored: Path, tmp_path: Path) -> None:
    for day in (1, 2, 3):
        night(scored, tmp_path, day)
    with open_store(tmp_path) as store:
        first = store.sync()
        assert [row.id for row in first] == ["night-1", "night-2", "night-3"]
        assert store.rebuild() == first
    (tmp_path / "history.sqlite").unlink()
    with open_store(tmp_path) as store:
        assert store.sync() == first
    assert os.stat(tmp_path / "history.sqlite").st_mode & 0o777 == 0o600


def test_rows_say_what_the_scores_say(scored: Path, tmp_path: Path) -> None:
    place = night(scored, tmp_path, 1)
    scores = json.loads((place / "scores.json").read_text())
    with open_store(tmp_path) as store:
        row = store.sync()[0]
    assert row.tau == scores["stability"]["kendall_tau"]["mean"]
    assert row.tau_low == scores["stability"]["kendall_tau"]["ci_low"]
    assert row.winner == scores["stability"]["winner"]["pair_agreement"]
    assert row.scale == scores["stability"]["scale"]["cv"]
    assert row.leaks == scores["language"]["leak_rate"]["value"]
    assert row.reasoning == scores["reasoning"]["tokens"]["p50"]
    assert row.judged == len(scores["trials"])
    assert row.simulated


def test_a_series_that_went_or_changed_is_followed(scored: Path, tmp_path: Path) -> None:
    places = [night(scored, tmp_path, day) for day in (1, 2)]
    with open_store(tmp_path) as store:
        assert len(store.sync()) == 2
        shutil.rmtree(places[0])
        (places[1] / "scores.json").write_text("{ not json")
        assert [row.id for row in store.sync()] == ["night-2"]
        shutil.copy(scored / "scores.json", places[1] / "scores.json")
        assert [row.id for row in store.sync()] == ["night-2"]


@pytest.mark.parametrize(
    "damage", ["[]", "{}", '{"series": 1, "trials": [1]}', '{"series": {}, "trials": {"a": 1}}', ""]
)
def test_damaged_scores_are_left_out(scored: Path, tmp_path: Path, damage: str) -> None:
    night(scored, tmp_path, 1)
    (night(scored, tmp_path, 2) / "scores.json").write_text(damage)
    with open_store(tmp_path) as store:
        assert [row.id for row in store.sync()] == ["night-1"]


def test_a_launch_change_is_a_mark_and_an_unknown_one_is_none(scored: Path, tmp_path: Path) -> None:
    for day, launch in enumerate(("unknown", "aaa", "unknown", "aaa", "bbb"), 1):
        night(scored, tmp_path, day, launch=launch)
    with open_store(tmp_path) as store:
        track = tracks_of(store.sync())[0]
    assert [(mark.at, mark.what) for mark in track.marks] == [(4, "launch: aaa → bbb")]


def test_a_step_is_told_with_the_change_that_came_with_it(scored: Path, tmp_path: Path) -> None:
    for day in range(1, 23):
        worse = day > 14
        tau = 0.9 - 0.001 * (day % 3) - (0.4 if worse else 0.0)
        night(scored, tmp_path, day, tau=tau, launch="bbb" if worse else "aaa")
    found = history(Chosen(reports=tmp_path))
    (step,) = found["tracks"][0]["steps"]
    assert step["key"] == "tau"
    assert step["night"].startswith("2026-11-15")
    assert step["direction"] == "worse"
    assert step["changed_then"] == ["launch: aaa → bbb"]
    (plot,) = drawn(found, tmp_path)
    svg = ElementTree.parse(plot)
    texts = "".join(svg.getroot().itertext())
    assert "Kendall tau" in texts
    assert "decode tok/s" in texts
    before = plot.read_bytes()
    assert drawn(found, tmp_path)[0].read_bytes() == before


def test_baseline_and_last_night_are_told_apart(scored: Path, tmp_path: Path) -> None:
    first = night(scored, tmp_path, 1)
    night(scored, tmp_path, 2)
    assert history(Chosen(reports=tmp_path))["tracks"][0]["drift"]["baseline"] is None
    made = freeze(first, tmp_path, "good")
    assert made == [tmp_path / "baselines" / "good"]
    (track,) = history(Chosen(reports=tmp_path))["tracks"]
    assert track["drift"]["baseline"]["drifted"] is False
    assert track["drift"]["last_night"]["base"] == "night-1"
    assert track["reading"].startswith("No drift was shown")
    assert track["baseline"]["path"] == str(made[0])
    (known,) = known_baselines(tmp_path)
    assert known["name"] == "good"
    assert known["judged"] == track["nights"][0]["judged"]


def test_a_baseline_holds_for_its_own_conditions_alone(scored: Path, tmp_path: Path) -> None:
    plain = night(scored, tmp_path, 1)
    shuffled = night(scored, tmp_path, 2, shuffle=True, concurrency=4)
    names = [freeze(place, tmp_path)[0].name for place in (plain, shuffled)]
    assert names == [
        "eleven-profiles-sim-drifting-natural",
        "eleven-profiles-sim-drifting-natural-4-at-once-shuffled",
    ]
    found = {track["name"]: track for track in history(Chosen(reports=tmp_path))["tracks"]}
    assert len(found) == 2
    for track in found.values():
        assert track["baseline"]["path"].endswith("shuffled") == ("shuffled" in track["name"])


def test_what_compare_calls_worse_is_drift_even_if_nothing_else_was_shown() -> None:
    quiet = {"answer": "not shown", "difference": -0.59}
    found = drift_of(
        {
            "stability": quiet,
            "consensus": quiet,
            "scale": quiet,
            "criteria": [],
            "not_worse": {"answer": "no"},
            "warnings": [],
            "base": {"id": "b"},
        }
    )
    assert (found["worse"], found["drifted"]) == (True, True)
    away = told_apart({"baseline": found, "last night": found | {"drifted": False}})
    assert away.startswith("Away from the baseline (worse by more than 0.10 of tau)")


def test_a_copy_of_a_series_is_no_second_night(scored: Path, tmp_path: Path) -> None:
    shutil.copytree(night(scored, tmp_path, 1), tmp_path / "a-copy")
    with open_store(tmp_path) as store:
        first = store.sync()
        assert [row.folder for row in first] == ["20261101-021700"]
        assert store.sync() == first == store.rebuild()


def test_a_baseline_is_frozen(scored: Path, tmp_path: Path) -> None:
    place = night(scored, tmp_path, 1)
    (made,) = freeze(place, tmp_path)
    frozen = (made / "scores.json").read_bytes()
    shutil.rmtree(place)
    assert (made / "scores.json").read_bytes() == frozen
    assert json.loads(frozen)["work"]["task_digest"]


def test_too_few_trials_are_no_baseline(scored: Path, tmp_path: Path) -> None:
    place = night(scored, tmp_path, 1)
    scores = json.loads((place / "scores.json").read_text())
    scores["trials"] = scores["trials"][:2]
    (place / "scores.json").write_text(json.dumps(scores))
    with pytest.raises(FolderError, match="2 judged trials are no baseline"):
        freeze(place, tmp_path)
    with pytest.raises(UsageError, match="--name"):
        freeze(place, tmp_path, "../outside")


def test_unknown_names_are_refused_with_the_nearest(scored: Path, tmp_path: Path) -> None:
    night(scored, tmp_path, 1)
    with pytest.raises(UsageError, match="sim:drifting"):
        history(Chosen(endpoint="sim:driftin", reports=tmp_path))


def test_several_folders_share_one_store(
    scored: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EVALSTAB_HISTORY", f"sqlite:///{tmp_path / 'shared.db'}")
    for rig in ("one", "two"):
        night(scored, tmp_path / rig, 1)
        assert [row.id for row in _synced(tmp_path / rig)] == ["night-1"]
    shutil.rmtree(tmp_path / "one")
    (tmp_path / "one").mkdir()
    assert _synced(tmp_path / "one") == []
    assert len(_synced(tmp_path / "two")) == 1
    assert not (tmp_path / "two" / "history.sqlite").exists()


def _synced(reports: Path) -> list[Any]:
    with open_store(reports) as store:
        return store.sync()


def test_a_store_that_another_program_holds_is_said(scored: Path, tmp_path: Path) -> None:
    night(scored, tmp_path, 1)
    holder = sqlite3.connect(tmp_path / "history.sqlite", isolation_level=None)
    with open_store(tmp_path) as store:
        store.sync()
    holder.execute("BEGIN EXCLUSIVE")
    address = f"sqlite:///{tmp_path / 'history.sqlite'}?timeout=0.01"
    with (
        pytest.raises(FolderError, match="Another program holds the file"),
        open_store(tmp_path, address) as store,
    ):
        store.sync()
    holder.close()


def test_a_broken_store_is_said(tmp_path: Path) -> None:
    (tmp_path / "history.sqlite").write_bytes(b"no database at all, but long enough" * 40)
    with pytest.raises(FolderError, match="can be removed"), open_store(tmp_path) as store:
        store.sync()
    with pytest.raises(ConfigError, match="EVALSTAB_HISTORY"), open_store(tmp_path, "nonsense"):
        pass
