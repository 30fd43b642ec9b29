"""A night that is starved of disk, interrupted or cut from its endpoint loses at most one step.

Every completed step is there afterwards, none is counted twice, and the scores are those of an
undisturbed night with the same simulated seed.
"""

from __future__ import annotations

import fcntl
import json
import signal
from pathlib import Path

from tests.cli.program import evalstab
from tests.nightly.night_making import (
    begin,
    events,
    free_port,
    series_in,
    serving,
    wait_until,
    write_config,
)
from tests.series.kills import comparable, taken_out

ONE = '{ task = "three-notes", endpoint = "sim:drifting", repeats = 3 }'
TWO = (ONE, '{ task = "three-notes", endpoint = "sim:steady", repeats = 2 }')


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
    # A fault stays a fault; everything else is as if it had not been.
    assert taken_out(found, "server.dead", "stream.dropped") > 0
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
