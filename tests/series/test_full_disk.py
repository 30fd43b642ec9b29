"""A disk that fills up at any point of a series, a night or a report: said, and survived.

The message names the folder and the command to go on with; with room again the scores are those
of an undisturbed series.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.nightly.night_making import series_in, write_config
from tests.series.kills import Victims, comparable, no_leftovers, rig

SHARES = (0.02, 0.15, 0.4, 0.65, 0.97)
"""Of what an undisturbed command writes: so much room there is the first time."""
BLOCK = 4096
LARGE = "40m"
SERIES = ("run", "three-notes", "--endpoint", "rig", "--repeats", "3", "--out", "series", "--quiet")


@contextmanager
def _disk(place: Path, size: int) -> Iterator[bool]:
    """A file system of this many bytes; False where none can be mounted."""
    place.mkdir()
    options = ["-o", f"size={size}", "tmpfs", str(place)]
    made = subprocess.run(["mount", "-t", "tmpfs", *options], capture_output=True, check=False)
    try:
        yield made.returncode == 0
    finally:
        if made.returncode == 0:
            subprocess.run(["umount", "-l", str(place)], check=True)


def _room(place: Path) -> None:
    subprocess.run(["mount", "-o", f"remount,size={LARGE}", str(place)], check=True)


def _used(place: Path) -> int:
    """Bytes that the files below a folder take from a file system."""
    sizes = [path.stat().st_size for path in place.rglob("*") if path.is_file()]
    return sum(-(-size // BLOCK) * BLOCK for size in sizes)


def _scores(folder: Path) -> list[Any]:
    places = [folder / "series"] if (folder / "series").exists() else series_in(folder)
    return [comparable(place) for place in places]


def _filled(
    some: Victims, place: Path, begin: tuple[str, ...], going_on: tuple[str, ...], config: str
) -> Iterator[str]:
    """Fill the disk at each share of the command's course, go on; what was said each time."""
    whole = place / "whole"
    whole.mkdir()
    (whole / "evalstab.toml").write_text(config)
    code, said = some.plain(whole, *begin)
    assert code == 0, said
    for share in SHARES:
        folder = place / f"disk-{share}"
        with _disk(folder, max(2 * BLOCK, int(share * _used(whole)))) as mounted:
            if not mounted:
                pytest.skip("no file system can be mounted here")
            (folder / "evalstab.toml").write_text(config)
            code, said = some.plain(folder, *begin)
            assert "Traceback" not in said
            assert code == 3, said
            yield said
            _room(folder)
            begun = (folder / "series" / "series.json").exists() or begin == going_on
            code, again = some.plain(folder, *(going_on if begun else begin))
            assert code == 0, again
            assert _scores(folder) == _scores(whole), share
            no_leftovers(folder)


def test_a_disk_that_fills_up_during_a_series(some: Victims, url: str, tmp_path: Path) -> None:
    told = list(_filled(some, tmp_path, SERIES, ("resume", "series", "--quiet"), rig(url)))
    for said in told:
        assert said.startswith("error: cannot write series")
        assert ": the disk is full: free some space, then " in said
        assert said.count("\n") == 1
    assert "give the same command with `--out series`" in told[0]
    for said in told[2:]:
        assert "go on with `evalstab resume series`; all finished steps are kept" in said
    places = {said.split(": ")[1].rpartition("/")[2] for said in told}
    assert len(places) >= 3, places


def test_a_disk_that_fills_up_during_a_night(some: Victims, url: str, tmp_path: Path) -> None:
    write_config(tmp_path, ['{ task = "three-notes", endpoint = "rig", repeats = 3 }'], rig(url))
    config = (tmp_path / "evalstab.toml").read_text()
    night = ("nightly", "--quiet")
    for said in _filled(some, tmp_path, night, night, config):
        assert "disk is full" in said
        assert "go on with `evalstab nightly`" in said or "give the same command again" in said


def test_files_that_may_not_grow_further(some: Victims, url: str, tmp_path: Path) -> None:
    whole, folder = tmp_path / "whole", tmp_path / "limited"
    for place in (whole, folder):
        place.mkdir()
        (place / "evalstab.toml").write_text(rig(url))
    assert some.plain(whole, *SERIES)[0] == 0
    for limit, command in (
        (3_000, SERIES),
        (9_000, ("resume", "series")),
        (40_000, ("score", "series")),
    ):
        code, said = some.plain(folder, *command, limit=limit)
        assert code == 3, said
        assert "the file may not grow further: lift the limit, then " in said
    code, said = some.plain(folder, "resume", "series", "--quiet")
    assert code == 0, said
    assert _scores(folder) == _scores(whole)


@pytest.mark.parametrize(
    "command", [("score", "series"), ("report", "series"), ("report", "series", "--format", "card")]
)
def test_a_report_on_a_full_disk(
    command: tuple[str, ...], some: Victims, url: str, tmp_path: Path
) -> None:
    folder = tmp_path / "disk"
    with _disk(folder, 4_000_000) as mounted:
        if not mounted:
            pytest.skip("no file system can be mounted here")
        (folder / "evalstab.toml").write_text(rig(url))
        assert some.plain(folder, *SERIES)[0] == 0
        before = {p: p.read_bytes() for p in folder.rglob("*") if p.is_file()}
        _fill(folder / "filler")
        code, said = some.plain(folder, *command)
        assert code == 3, said
        assert "cannot write series/" in said
        assert "the disk is full: free some space, then give the same command again" in said
        assert "Traceback" not in said
        (folder / "filler").unlink()
        for path, data in before.items():
            if path.name != "history.sqlite":
                assert path.read_bytes() == data
        assert some.plain(folder, *command)[0] == 0


def _fill(place: Path) -> None:
    with place.open("wb", buffering=0) as file:
        try:
            while True:
                os.write(file.fileno(), bytes(BLOCK))
        except OSError:
            return
