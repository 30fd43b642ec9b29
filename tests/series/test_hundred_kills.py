"""SIGKILL at random moments of every phase: of a series, of one in groups, of a ladder.

Every completed step is there afterwards, none is counted twice, and the scores are those of an
undisturbed series with the same simulated seed. What was hit is printed (``pytest -rP``).
"""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import pytest

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

RUN = ("run", "three-notes", "--endpoint", "rig", "--seed", "3", "--out", "series", "--quiet")
TRIALS = frozenset({"between trials", "during a stream", "during a tool run", "writing a step"})
SERIES = Scene(
    begin=(*RUN, "--repeats", "3"),
    go_on=("resume", "series", "--quiet"),
    begun=lambda folder: (folder / "series" / "series.json").exists(),
    phases=(
        "before series.json",
        "writing series.json",
        "between trials",
        "during a stream",
        "during a tool run",
        "writing a step",
        "scoring",
        "writing the report",
    ),
    twice=TRIALS,
)
GROUPS = replace(
    SERIES,
    begin=(*RUN, "--repeats", "4", "--groups", "2", "--concurrency", "2"),
    phases=(*SERIES.phases[:6], "joining groups", *SERIES.phases[6:]),
    twice=TRIALS | {"joining groups"},
)
LADDER = replace(
    SERIES,
    begin=(*RUN, "--repeats", "2", "--context", "4k,6k"),
    begun=lambda folder: (folder / "series" / "ladder.json").exists(),
    phases=(
        "looking ahead",
        "making a size",
        "writing series.json",
        *SERIES.phases[2:],
        "between rungs",
        "joining the ladder",
    ),
    twice=TRIALS
    | {"making a size", "writing series.json", "scoring", "writing the report", "between rungs"},
)


def _hunted(some: Victims, scene: Scene, url: str, place: Path, wanted: tuple[int, int]) -> Toll:
    """Kill the scene so often with this seed; every folder ends as if nothing had been."""

    def made(folder: Path) -> None:
        folder.mkdir()
        (folder / "evalstab.toml").write_text(rig(url))

    kills, seed = wanted
    hunt = Hunt(some, replace(scene, made=made), place, random.Random(seed))
    folders = hunt.folders(kills)
    reference = _scores(next(folders))
    for folder in folders:
        assert _scores(folder) == reference
        no_step_twice(folder)
        no_leftovers(folder)
    print(hunt.toll.told(scene))
    return hunt.toll


def _scores(folder: Path) -> dict[str, object]:
    found = sorted((folder / "series").rglob("scores.json"))
    return {str(path.parent.relative_to(folder)): comparable(path.parent) for path in found}


def test_a_series_killed_in_every_phase(some: Victims, url: str, tmp_path: Path) -> None:
    toll = _hunted(some, SERIES, url, tmp_path, (8, 5))
    assert set(toll.phases) == set(SERIES.phases)


@pytest.mark.nightly
@pytest.mark.parametrize("seed", [20260101, 20260102])
@pytest.mark.parametrize(
    ("scene", "kills"),
    [
        pytest.param(SERIES, 100, id="series"),
        pytest.param(GROUPS, 50, id="groups"),
        pytest.param(LADDER, 50, id="ladder"),
    ],
)
def test_a_hundred_kills(
    scene: Scene, kills: int, seed: int, some: Victims, url: str, tmp_path: Path
) -> None:
    toll = _hunted(some, scene, url, tmp_path, (kills, seed))
    assert set(toll.phases) == set(scene.phases)
