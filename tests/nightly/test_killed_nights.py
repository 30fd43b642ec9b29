"""SIGKILL at random moments of every phase of a night, and of the cleaning up after many.

Every completed step is there afterwards, none is counted twice, and the scores are those of an
undisturbed night with the same simulated seed.
"""

from __future__ import annotations

import json
import random
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from evalstab.workflow.score import score
from tests.nightly.night_making import series_in, write_config
from tests.series.kills import (
    Hunt,
    Scene,
    Toll,
    Victims,
    comparable,
    no_leftovers,
    no_step_twice,
    rig,
)

RECORDED = Path(__file__).parents[2] / "fixtures" / "series-drifting"
EARLIER = "20250101-010101-earlier"
ENTRIES = (
    '{ task = "three-notes", endpoint = "rig", repeats = 3 }',
    '{ task = "three-notes", endpoint = "other", repeats = 2 }',
)
PHASES = (
    "planning the night",
    "writing night.json",
    "before series.json",
    "writing series.json",
    "between trials",
    "during a stream",
    "during a tool run",
    "writing a step",
    "scoring",
    "writing the report",
    "history",
    "pages of the night",
    "compressing",
)
NIGHT = Scene(
    begin=("nightly", "--quiet"),
    go_on=("nightly", "--quiet"),
    begun=lambda folder: any(folder.glob("reports/nightly/*/night.json")),
    phases=PHASES,
    twice=frozenset(PHASES) - {"planning the night", "pages of the night", "compressing"},
)
CLEANING = Scene(
    begin=("prune", "--older-than", "0"),
    go_on=("prune", "--older-than", "0"),
    begun=lambda _folder: True,
    phases=("history", "pruning"),
    twice=frozenset({"pruning"}),
)
PACKING = replace(
    CLEANING, begin=("prune",), go_on=("prune",), phases=("history", "compressing"),
    twice=frozenset({"compressing"}),
)  # fmt: skip


@pytest.fixture(scope="module")
def earlier(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished series of an earlier night, its records not compressed yet."""
    place = tmp_path_factory.mktemp("earlier") / EARLIER
    shutil.copytree(RECORDED, place)
    score(place)
    return place


def _hunted(some: Victims, site: tuple[str, Path], place: Path, wanted: tuple[int, int]) -> Toll:
    """Kill nights so often with this seed; every folder ends as if nothing had been."""
    (url, earlier), (kills, seed) = site, wanted

    def made(folder: Path) -> None:
        folder.mkdir()
        write_config(folder, ENTRIES, rig(url) + rig(url, "other"))
        shutil.copytree(earlier, folder / "reports" / EARLIER)

    hunt = Hunt(some, replace(NIGHT, made=made), place, random.Random(seed))
    folders = hunt.folders(kills)
    reference = _scores(next(folders))
    for folder in folders:
        found = _scores(folder)
        # A kill after the end of a night: the next call begins another one.
        assert found == reference * (len(found) // len(reference))
        for path in ("junit.xml", "summary.md", "evalstab.prom", "state.json"):
            assert (folder / "reports" / "nightly" / path).is_file()
        no_step_twice(folder)
        no_leftovers(folder)
    print(hunt.toll.told(NIGHT))
    return hunt.toll


def _scores(folder: Path) -> list[Any]:
    return [comparable(place) for place in series_in(folder) if place.name != EARLIER]


def test_a_killed_night_goes_on_to_the_same_scores(
    some: Victims, url: str, earlier: Path, tmp_path: Path
) -> None:
    toll = _hunted(some, (url, earlier), tmp_path, (5, 6))
    assert toll.kills >= 5


@pytest.mark.nightly
@pytest.mark.parametrize("seed", [20260102, 20260103])
def test_a_night_killed_a_hundred_times(
    seed: int, some: Victims, url: str, earlier: Path, tmp_path: Path
) -> None:
    toll = _hunted(some, (url, earlier), tmp_path, (100, seed))
    assert set(toll.phases) == set(NIGHT.phases)


@pytest.mark.parametrize("scene", [CLEANING, PACKING], ids=["pruning", "compressing"])
def test_cleaning_up_killed_at_random_moments(
    scene: Scene, some: Victims, earlier: Path, tmp_path: Path
) -> None:
    def made(folder: Path) -> None:
        for name in ("one", "two", "three"):
            place = folder / "reports" / name
            shutil.copytree(earlier, place)
            file = json.loads((place / "series.json").read_text())
            (place / "series.json").write_text(json.dumps(file | {"id": name}))

    lasting = "pruning" not in scene.phases
    scene = replace(scene, made=made)
    hunt = Hunt(some, scene, tmp_path, random.Random(7), lasting=lasting)
    folders = hunt.folders(6)
    wanted = _files(next(folders))
    for folder in folders:
        assert _files(folder) == wanted
    print(hunt.toll.told(scene))
    assert set(hunt.toll.phases) == set(scene.phases)


def _files(folder: Path) -> dict[str, bytes | None]:
    """All files of the series; of those that hold a time, only that they are there."""
    return {
        str(path.relative_to(folder)): None if path.name == "pruned.json" else path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and "history.sqlite" not in path.name
    }
