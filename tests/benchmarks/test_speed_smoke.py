"""The speed benchmarks run from end to end; what they measure is not judged here."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.speed import client, own, result, timing
from benchmarks.speed.__main__ import SECTIONS
from benchmarks.speed.pacer import NO_COMPILER, compiler, paced, pacing

ROOT = Path(__file__).parents[2]
needs_compiler = pytest.mark.skipif(compiler() is None, reason=NO_COMPILER)


@needs_compiler
@pytest.mark.parametrize("section", SECTIONS)
def test_quick_mode_measures_every_section(section: str, tmp_path: Path) -> None:
    out = tmp_path / "results.json"
    command = [sys.executable, "-m", "benchmarks.speed", "--quick", "--out", str(out), section]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found = json.loads(out.read_text())
    assert found["quick"] is True
    assert found["machine"]["cores"] >= 1
    rows = found["sections"][section]["rows"]
    assert rows
    assert f"## {section}" in done.stdout
    assert "NOT MET" not in done.stdout, "quick mode judges nothing"


@needs_compiler
def test_the_pacer_sends_what_was_asked_and_writes_down_when() -> None:
    async def ask(url: str) -> tuple[int, int]:
        endpoint = own.client(url)
        attempt = await endpoint.attempt(own.request(paced(7, 500, 30, 20), client.HELLO))
        await endpoint.close()
        return own.heard(attempt)

    with pacing() as pacer:
        chunks, characters = asyncio.run(ask(pacer.url))
        request, *sent = pacer.sends()[7]
    assert chunks == len(sent) == 30
    assert characters > 0
    assert request < sent[0]
    assert sent == sorted(sent)


def test_a_goal_says_whether_it_is_met() -> None:
    assert "NOT MET" in str(result.Goal("x", 3.0, 2.0))
    assert result.Goal("x", 3.0, 2.0, least=True).met


def test_chunks_that_came_together_have_no_gap_of_their_own() -> None:
    assert list(timing.alone((1, 3, 1), 5)) == [True, False, False, False, True]


@needs_compiler
def test_the_proxy_is_measured_three_ways() -> None:
    command = [sys.executable, "-m", "benchmarks.proxy", "--quick"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    rows = [line.split("|")[2].strip() for line in done.stdout.splitlines() if "quick" in line]
    assert rows == ["direct", "bare", "recorder"] * 2
