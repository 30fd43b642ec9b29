"""Kills evalstab again and again, in every phase of its work, and holds what is left of it."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import zstandard

from evalstab.sim.open import running
from tests.cli.program import environment

VICTIM = Path(__file__).with_name("victim.py")
RECORDED = Path(__file__).parents[2] / "fixtures" / "series-drifting"
LOOKS = 8
"""How often the undisturbed scene is carried out at most, until every phase was seen."""

CHAIN = 5
"""Kills on one folder, each while it is gone on with after the one before."""
COUNT_ONLY = "-"
NOBODY = "none"
OF_TIME = frozenset({"speed", "seconds", "resumed", "id"})
"""What two undisturbed series of one seed differ in as well."""

OF_THE_SERVER = frozenset({"series.saturated", "series.cold_first_run"})
"""Findings that speak of time and cache: a step that is asked again finds its prompt cached."""


@dataclass(frozen=True, slots=True)
class Scene:
    """What is killed. ``begin`` starts it in a folder, ``go_on`` goes on with what is there.

    ``phases`` are those that must be hit, in the order in which they first come; ``twice`` are
    those that come again and again over its course.
    """

    begin: tuple[str, ...]
    go_on: tuple[str, ...]
    begun: Callable[[Path], bool]
    phases: tuple[str, ...]
    twice: frozenset[str]
    made: Callable[[Path], None] = Path.mkdir


@dataclass(slots=True)
class Toll:
    """Kills by phase, those in a process that went on with something counted again beside."""

    phases: Counter[str] = field(default_factory=Counter)
    going_on: Counter[str] = field(default_factory=Counter)

    @property
    def kills(self) -> int:
        """How many there were in all."""
        return sum(self.phases.values())

    def told(self, scene: Scene) -> str:
        """The kills of each phase, for people."""
        lines = [f"{self.kills} kills, {sum(self.going_on.values())} of them while going on:"]
        for phase in scene.phases:
            lines.append(f"  {phase}: {self.phases[phase]}, going on: {self.going_on[phase]}")
        return "\n".join(lines)

    def least(self, scene: Scene, dice: random.Random) -> list[str]:
        """The phases that were hit least so far, in the order of the scene."""
        drawn = sorted(scene.phases, key=lambda phase: (self.phases[phase], dice.random()))
        chosen = drawn[:CHAIN]
        ahead = [phase for phase in chosen if phase not in scene.twice]
        often = [phase for phase in chosen if phase in scene.twice]
        dice.shuffle(often)
        first = min((scene.phases.index(phase) for phase in scene.twice), default=0)
        before = [phase for phase in ahead if scene.phases.index(phase) < first]
        after = [phase for phase in ahead if phase not in before]
        return [*_in_order(scene, before), *often, *_in_order(scene, after)]


def _in_order(scene: Scene, phases: Sequence[str]) -> list[str]:
    return sorted(phases, key=scene.phases.index)


class Victims:
    """Commands of evalstab that are killed, in children of one process that has all loaded."""

    def __init__(self) -> None:
        self._parent = subprocess.Popen(
            [sys.executable, str(VICTIM), str(RECORDED)],
            env=environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def run(self, folder: Path, arguments: Sequence[str], phase: str, sighting: int = 0) -> str:
        """Run a command until it is killed in this phase; what it noted: the phase, or counts."""
        log = folder.with_name(f"{folder.name}.log")
        job = {"folder": str(folder), "log": str(log), "phase": phase, "sighting": sighting}
        code, said = self._done(job | {"arguments": arguments})
        noted = log.read_text()
        assert code == 0 or (code == -signal.SIGKILL and noted == phase), (code, said)
        # A command that came to its end in the moment of its death was not killed.
        return noted if code or phase == COUNT_ONLY else ""

    def plain(self, folder: Path, *arguments: str, limit: int | None = None) -> tuple[int, str]:
        """Run a command that nobody kills: its exit code, and what it said on both streams.

        ``limit``: bytes to which any file may grow.
        """
        log = folder.with_name(f"{folder.name}.log")
        job = {"folder": str(folder), "log": str(log), "phase": NOBODY, "sighting": 0}
        return self._done(job | {"arguments": arguments, "limit": limit})

    def _done(self, job: dict[str, Any]) -> tuple[int, str]:
        assert self._parent.stdin is not None
        assert self._parent.stdout is not None
        self._parent.stdin.write(json.dumps(job) + "\n")
        self._parent.stdin.flush()
        code = int(self._parent.stdout.readline())
        return code, Path(f"{job['log']}.said").read_text()

    def undisturbed(self, folder: Path, scene: Scene) -> dict[str, int]:
        """Carry the scene out in a folder; how often each phase was seen.

        On a busy machine a short one may be missed, so it is carried out beside again.
        """
        counts: Counter[str] = Counter()
        for number in range(LOOKS):
            place = folder.with_name(f"{folder.name}-{number}") if number else folder
            scene.made(place)
            counts |= Counter(json.loads(self.run(place, scene.begin, COUNT_ONLY)))
            if all(counts[phase] for phase in scene.phases):
                return counts
        raise AssertionError(f"phases that were never seen: {set(scene.phases) - set(counts)}")

    def finish(self, folder: Path, scene: Scene) -> None:
        """Carry what is left of the scene to its end."""
        self.run(folder, scene.go_on if scene.begun(folder) else scene.begin, NOBODY)

    def close(self) -> None:
        """Let the process end."""
        for stream in (self._parent.stdin, self._parent.stdout):
            assert stream is not None
            stream.close()
        self._parent.wait()


@contextmanager
def victims() -> Iterator[Victims]:
    """Commands to be killed, as long as the context lasts."""
    made = Victims()
    try:
        yield made
    finally:
        made.close()


@dataclass(slots=True)
class Hunt:
    """Kills of one scene, in folders below ``place``; ``toll`` says what was hit so far.

    ``lasting``: whatever is recorded before a kill must be there after it.
    """

    some: Victims
    scene: Scene
    place: Path
    dice: random.Random
    toll: Toll = field(default_factory=Toll)
    lasting: bool = True

    def folders(self, kills: int) -> Iterator[Path]:
        """The folder of the undisturbed scene, then those that were carried on over so many kills.

        All are carried to their end before they are given.
        """
        whole = self.place / "whole"
        counts = self.some.undisturbed(whole, self.scene)
        yield whole
        number = 0
        while self.toll.kills < kills:
            assert number < kills, f"hardly anything was hit: {self.toll.told(self.scene)}"
            folder = self.place / f"killed-{number}"
            self._kill(folder, self._drawn(counts))
            self.some.finish(folder, self.scene)
            yield folder
            number += 1

    def _kill(self, folder: Path, chain: Sequence[tuple[str, int]]) -> None:
        """Kill in these phases, one after the other, each at this sighting at the latest."""
        scene = self.scene
        scene.made(folder)
        for phase, sighting in chain:
            wanted = sighting
            while wanted:
                begun, known = scene.begun(folder), records(folder)
                command = scene.go_on if begun else scene.begin
                noted = self.some.run(folder, command, phase, wanted)
                if self.lasting:
                    _nothing_lost(known, records(folder))
                if noted == phase:
                    self.toll.phases[phase] += 1
                    self.toll.going_on[phase] += begun
                    break
                wanted //= 2

    def _drawn(self, counts: dict[str, int]) -> list[tuple[str, int]]:
        """Moments for the next folder: phases that were hit least, anywhere within each."""
        chain = self.toll.least(self.scene, self.dice)
        often = max(1, sum(phase in self.scene.twice for phase in chain))
        parts = {phase: often if phase in self.scene.twice else 1 for phase in chain}
        return [
            (phase, self.dice.randint(1, max(1, counts[phase] // parts[phase]))) for phase in chain
        ]


def records(folder: Path) -> dict[str, list[dict[str, Any]]]:
    """All whole events on disk by the trial's folder, spoilt attempts left out."""
    found: dict[str, list[dict[str, Any]]] = {}
    for path in sorted(folder.rglob("trials/*/events.jsonl*")):
        trial = path.parent
        if ".invalid-" in trial.name or path.name.startswith("."):
            continue
        raw = path.read_bytes()
        if path.suffix == ".zst":
            raw = zstandard.ZstdDecompressor().decompressobj().decompress(raw)
        lines = raw.split(b"\n")[:-1]
        found[str(trial.relative_to(folder))] = [json.loads(line) for line in lines]
    return found


def _nothing_lost(
    before: dict[str, list[dict[str, Any]]], after: dict[str, list[dict[str, Any]]]
) -> None:
    for trial, events in before.items():
        assert after.get(trial, [])[: len(events)] == events, trial


def no_step_twice(folder: Path) -> None:
    """Every trial's steps are numbered 1, 2, 3 … without a gap or a repetition."""
    for trial, events in records(folder).items():
        numbers = [event["number"] for event in events if event["type"] == "step"]
        assert numbers == list(range(1, len(numbers) + 1)), trial


def no_leftovers(folder: Path) -> None:
    """No half-written file stays behind."""
    assert sorted(str(path) for path in folder.rglob(".*.tmp")) == []


def comparable(series: Path) -> Any:
    """The scores of a series on disk, without what depends on time and on the server's cache."""
    return _steady_part(json.loads((series / "scores.json").read_text()))


def _steady_part(scores: dict[str, Any]) -> Any:
    """Scores without what two undisturbed series of one seed differ in as well."""
    found = [one for one in scores["findings"] if one["code"] not in OF_THE_SERVER]
    return _without_times(scores | {"findings": found})


def taken_out(scores: dict[str, Any], *codes: str) -> int:
    """Take the findings of these codes out of all trials; how many there were."""
    found = 0
    for trial in scores["trials"]:
        found += sum(trial["finding_counts"].pop(code, 0) for code in codes)
        trial["findings"] = [one for one in trial["findings"] if one["code"] not in codes]
    return found


def _without_times(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: _without_times(v) for k, v in value.items() if k not in OF_TIME}
    if isinstance(value, list):
        return [_without_times(one) for one in value]
    return value


PACED = """
about = "Swinging judgement, sent at the pace of a server."
default_seed = 1
[judgement]
top = [0.44, 1.0]
spread = 0.45
lead = 0.02
noise = 0.33
keep_winner = false
[reasoning]
tokens = [2000, 4000]
[pace]
instant = false
"""
"""A persona whose answers take their time, so that a kill can fall into a stream."""

PACE = "400"
"""Simulated seconds in a real one: a trial of ``three-notes`` takes about a third of a second."""


@contextmanager
def paced(place: Path) -> Iterator[str]:
    """A server of this persona; ``place`` is a folder for it."""
    persona = place / "paced.toml"
    persona.write_text(PACED)
    with running(["--persona", str(persona), "--time-scale", PACE]) as address:
        yield address


def rig(url: str, name: str = "rig") -> str:
    """The configuration of an endpoint at this address."""
    return (
        f'[endpoints.{name}]\nbase_url = "{url}/v1"\ntrial_header = true\n'
        "hardware = { watch = false }\nretries = 0\n"
    )
