"""A night that is killed, starved of disk or cut from its endpoint loses at most a step in flight.

Every completed step is there afterwards, none is counted twice, and the scores are those of an
undisturbed night with the same simulated seed.
"""

from __future__ import annotations

import fcntl
import json
import random
import resource
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.cli.program import environment, evalstab
from tests.nightly.night_making import (
    begin,
    comparable,
    events,
    free_port,
    kill_all,
    series_in,
    serving,
    steps,
    wait_until,
    write_config,
)

TWO = (
    '{ task = "three-notes", endpoint = "sim:drifting", repeats = 3 }',
    '{ task = "three-notes", endpoint = "sim:steady", repeats = 2 }',
)
FILES = 40
"""Files of a whole night of ``TWO``, about; where a kill falls is drawn from them."""


def _undisturbed(folder: Path) -> list[dict[str, Any]]:
    folder.mkdir()
    write_config(folder, TWO)
    done = evalstab("nightly", "--quiet", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert done.stdout + done.stderr == ""
    return [comparable(series) for series in series_in(folder)]


def _files(folder: Path) -> int:
    """Grows over all phases: planning, begun folders, records, scores, pages."""
    lines = sum(len(events(series)) for series in folder.glob("reports/*"))
    return (
        lines
        + sum(1 for path in folder.glob("reports/*/*"))
        + sum(1 for path in folder.glob("reports/nightly/*/*"))
    )


def _killed(folder: Path, moments: list[float]) -> None:
    """Kill the night at these shares of its course, one after the other, each time going on."""
    for moment in moments:
        running = begin(folder, "nightly", "--quiet")
        wait_until(lambda share=moment: _files(folder) >= share * FILES, running)
        before = {series: events(series) for series in folder.glob("reports/*")}
        kill_all(running)
        for series, known in before.items():
            kept = events(series)
            for trial in {event["trial"] for event in known}:
                old = [e for e in known if e["trial"] == trial]
                assert [e for e in kept if e["trial"] == trial][: len(old)] == old


def _check(folder: Path, reference: list[dict[str, Any]], moments: list[float]) -> None:
    folder.mkdir()
    write_config(folder, TWO)
    _killed(folder, moments)
    done = evalstab("nightly", "--quiet", cwd=folder)
    assert done.returncode == 0, done.stderr
    found = series_in(folder)
    if len(found) == len(reference):
        assert [comparable(series) for series in found] == reference
    else:  # a kill after the last series: the next call began a new night
        assert len(found) % len(reference) == 0
        assert [comparable(series) for series in found[: len(reference)]] == reference
    for series in found:
        assert len(steps(series)) == len(set(steps(series)))


def test_a_killed_night_goes_on_to_the_same_scores(tmp_path: Path) -> None:
    reference = _undisturbed(tmp_path / "whole")
    _check(tmp_path / "killed", reference, [0.02, 0.25, 0.5, 0.8])


@pytest.mark.nightly
def test_a_night_killed_at_a_hundred_moments(tmp_path: Path) -> None:
    reference = _undisturbed(tmp_path / "whole")
    dice = random.Random(20260102)
    for number in range(25):
        moments = sorted(dice.random() for _ in range(4))
        _check(tmp_path / f"killed-{number}", reference, moments)


@contextmanager
def _small_disk(place: Path) -> Iterator[bool]:
    """A file system of 400 kB at this place; False where it cannot be had (no mount here)."""
    place.mkdir()
    made = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=400k", "tmpfs", str(place)],
        capture_output=True,
        check=False,
    )
    try:
        yield made.returncode == 0
    finally:
        if made.returncode == 0:
            subprocess.run(["umount", "-l", str(place)], check=True)


def test_a_full_file_system_is_said_and_survived(tmp_path: Path) -> None:
    write_config(tmp_path, (TWO[0],))
    whole = tmp_path / "whole"
    whole.mkdir()
    write_config(whole, (TWO[0],))
    assert evalstab("nightly", "--quiet", cwd=whole).returncode == 0
    reference = [comparable(series) for series in series_in(whole)]
    with _small_disk(tmp_path / "disk") as mounted:
        if mounted:
            folder = tmp_path / "disk"
            write_config(folder, (TWO[0],))
            filler = folder / "filler"
            filler.write_bytes(b"x" * 300_000)
            full = evalstab("nightly", "--quiet", cwd=folder)
            assert full.returncode == 3, full.stderr
            assert "disk is full" in full.stderr
            assert "Traceback" not in full.stderr
            filler.unlink()
            _mount_larger(folder)
        else:
            folder = tmp_path
            full = _limited(folder, 12_000)
            assert full.returncode == 3, full.stderr
            assert "may not grow further" in full.stderr
            assert "Traceback" not in full.stderr
        done = evalstab("nightly", "--quiet", cwd=folder)
        assert done.returncode == 0, done.stderr
        assert [comparable(series) for series in series_in(folder)] == reference


def _mount_larger(place: Path) -> None:
    subprocess.run(["mount", "-o", "remount,size=40m", str(place)], check=True)


def _limited(folder: Path, size: int) -> subprocess.CompletedProcess[str]:
    """The night with no file allowed to grow beyond ``size`` bytes."""
    return subprocess.run(
        [sys.executable, "-m", "evalstab", "nightly", "--quiet"],
        cwd=folder,
        env=environment(),
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size)),
    )


def test_an_endpoint_that_dies_in_the_night_costs_no_step(tmp_path: Path) -> None:
    port = free_port()
    rig = (
        f'[endpoints.rig]\nbase_url = "http://127.0.0.1:{port}/v1"\nmodel = "sim-drifting"\n'
        "trial_header = true\nretries = 0\nhardware = { watch = false }\n"
    )
    entry = '{ task = "three-notes", endpoint = "rig", repeats = 3 }'
    whole, cut = tmp_path / "whole", tmp_path / "cut"
    for folder in (whole, cut):
        folder.mkdir()
        write_config(folder, (entry,), rig)
    with serving(port, "--persona", "drifting"):
        assert evalstab("nightly", "--quiet", cwd=whole).returncode == 0
    with serving(port, "--persona", "drifting") as server:
        running = begin(cut, "nightly", "--quiet")
        wait_until(lambda: any(len(events(s)) >= 5 for s in cut.glob("reports/*")), running)
        server.kill()
        assert running.wait(timeout=240) == 4
    kept = events(series_in(cut)[0])
    assert len([e for e in kept if e["type"] == "step"]) >= 3
    dead = evalstab("nightly", "--quiet", cwd=cut)
    assert dead.returncode == 4
    assert len([line for line in dead.stderr.splitlines() if "cannot be reached" in line]) == 1
    page = (cut / "reports" / "nightly" / "summary.md").read_text()
    assert "of 3 valid, no verdict" in page
    with serving(port, "--persona", "drifting"):
        done = evalstab("nightly", "--quiet", cwd=cut)
    assert done.returncode == 0, done.stderr
    (found,), (reference,) = ([comparable(s) for s in series_in(f)] for f in (cut, whole))
    deaths = [trial["finding_counts"].pop("server.dead", 0) for trial in found["trials"]]
    assert sum(deaths) == 1  # a fault stays a fault; everything else is as if it had not been
    assert found == reference


def test_an_interrupted_night_leaves_its_page_and_goes_on(tmp_path: Path) -> None:
    write_config(tmp_path, TWO)
    running = begin(tmp_path, "nightly", "--quiet")
    wait_until(lambda: any(len(events(s)) >= 3 for s in tmp_path.glob("reports/*")), running)
    running.send_signal(signal.SIGINT)
    assert running.wait(timeout=240) == 130
    page = (tmp_path / "reports" / "nightly" / "summary.md").read_text()
    assert "three-notes on sim:steady" in page
    night = json.loads(next(tmp_path.glob("reports/nightly/*/night.json")).read_text())
    assert night["ended"] is None
    assert night["spent"] > 0
    done = evalstab("nightly", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "going on with the night of" in done.stderr
    assert len(series_in(tmp_path)) == 2


def test_two_nights_do_not_run_at_once(tmp_path: Path) -> None:
    write_config(tmp_path)
    lock = tmp_path / "reports" / "nightly" / ".lock"
    lock.parent.mkdir(parents=True)
    with lock.open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        second = evalstab("nightly", "--quiet", cwd=tmp_path)
    assert second.returncode == 4
    assert second.stderr.count("another night holds reports/nightly/.lock") == 1
    assert series_in(tmp_path) == []
    assert evalstab("nightly", "--quiet", cwd=tmp_path).returncode == 0
