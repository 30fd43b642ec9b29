"""A night that is interrupted loses at most the step in flight.

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
    series_in,
    wait_until,
    write_config,
)

ONE = '{ task = "three-notes", endpoint = "sim:drifting", repeats = 3 }'
TWO = (ONE, '{ task = "three-notes", endpoint = "sim:steady", repeats = 2 }')


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
