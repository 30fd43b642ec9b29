"""The same events, seen by our own loop and by the recording proxy, give the same findings."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from evalstab.sim.open import open_sim
from evalstab.sim.persona import FOLDER
from tests.cli.program import environment, evalstab

EQUAL = (
    "outcome",
    "steps",
    "finding_counts",
    "ranking",
    "totals",
    "winner",
    "tool_calls",
    "active_context_tokens",
)


def wild(folder: Path) -> Path:
    """The faulty persona, so much so that short contexts show most of it; without restarts, which
    end a series."""
    text = (FOLDER / "faulty.toml").read_text()
    text = re.sub(r"rate = \[\[0, [0-9.]+\]", "rate = [[0, 0.09]", text)
    text = re.sub(r'\[\[faults\]\]\nkind = "restart"\nrate[^\n]*\n', "", text)
    path = folder / "wild.toml"
    path.write_text(text)
    return path


@contextmanager
def recorder(upstream: str, out: Path) -> Iterator[str]:
    process = subprocess.Popen(
        [sys.executable, "-m", "evalstab", "record", "--upstream", upstream, "--out", str(out)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env=environment(),
    )
    assert process.stdout is not None
    try:
        yield process.stdout.readline().split()[1]
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(30)
        process.stdout.close()


def test_a_faulty_persona_shows_the_same_through_the_proxy(tmp_path: Path) -> None:
    """Sessions name nothing here: their conversations alone tell them apart."""
    options = ("--repeats", "10", "--idle-timeout", "4", "--json")
    with (
        open_sim(str(wild(tmp_path)), time_scale=100) as upstream,
        recorder(upstream, tmp_path / "rec") as url,
    ):
        base = ("--base-url", f"{url}/v1", "--set", "trial_header=true")
        loop = evalstab(
            "run", "three-notes", *base, *options, "--out", tmp_path / "loop", cwd=tmp_path
        )
    assert loop.returncode == 0, loop.stderr
    seen = evalstab(
        "import", "proxy", tmp_path / "rec", "--out", tmp_path / "seen", "--task", "three-notes",
        "--json", cwd=tmp_path,
    )  # fmt: skip
    assert seen.returncode == 0, seen.stderr
    ours, theirs = (json.loads(done.stdout)["trials"] for done in (loop, seen))
    for one, other in zip(ours, theirs, strict=True):
        assert {key: one[key] for key in EQUAL} == {key: other[key] for key in EQUAL}, one["index"]
    codes = {code for trial in ours for code in trial["finding_counts"]}
    assert len(codes) >= 12, codes
    assert {code.partition(".")[0] for code in codes} >= {"text", "tool", "stream"}
