"""Section 6: reading records, measuring them, scanning texts, agreement of many rankings."""

from __future__ import annotations

import os
import resource
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import numpy as np
from scipy.stats import kendalltau

from benchmarks.speed import series
from benchmarks.speed.result import Goal, Section, cpu_seconds
from evalstab.measures.catalogue import TRIAL_MEASURES
from evalstab.measures.score import score_series
from evalstab.measures.trial_score import score_trial
from evalstab.measures.view import read_trial
from evalstab.statistics.kendall import mean_tau
from evalstab.task.load import load_task
from evalstab.text.expected import Expectation
from evalstab.text.language import scan_languages
from evalstab.text.scripts import scan_scripts
from evalstab.trial.record import read_events


def run(quick: bool) -> Section:
    """CPU of one process each; sizes in MB of 10^6 bytes."""
    section = Section("scoring")
    with tempfile.TemporaryDirectory() as place:
        _reading(section, Path(place), 2 if quick else 25)
        _records(section, Path(place), 2 if quick else 25)
        _processes(section, Path(place), 2 if quick else 40)
    _texts(section, 20_000 if quick else 200_000)
    _agreement(section, 20 if quick else 1000)
    return section


def _reading(section: Section, place: Path, trials: int) -> None:
    """Records of plain ASCII and of German, beside the plain ways of reading the same files."""
    for kind, ascii_only in (("ASCII", True), ("German", False)):
        attempts = series.make(place / kind, trials, ascii_only=ascii_only).trials()
        paths = [attempt.record for attempt in attempts]
        size = sum(path.stat().st_size for path in paths) / 1e6
        ways: dict[str, Callable[[Path], object]] = {
            "read() and count of lines": lambda path: path.read_bytes().count(b"\n"),
            "read as text, by line": _text_lines,
            "records, all fields": lambda path: sum(1 for _ in read_events(path)),
        }
        # Interleaved: a machine that grows busy meanwhile slows all of them.
        rounds = [
            {name: cpu_seconds(partial(_each, way, paths), 1) for name, way in ways.items()}
            for _ in range(2 if trials < 10 else 25)
        ]
        least = {name: min(row[name] for row in rounds) for name in ways}
        for name, seconds in least.items():
            row = {"what": f"{kind}: {name}", "MB": size, "MB_a_cpu_s": size / seconds}
            section.rows.append(row)
        plain, text, ours = least.values()
        name = f"reading records of {kind} over a plain read"
        section.goals.append(Goal(name, ours / plain, 1.5))
        section.rows.append({"what": f"{kind}: records over text lines", "ratio": ours / text})


def _each(work: Callable[[Path], object], paths: Sequence[Path]) -> None:
    for path in paths:
        work(path)


def _text_lines(path: Path) -> int:
    with path.open(encoding="utf-8") as file:
        return sum(1 for _ in file)


def _processes(section: Section, place: Path, trials: int) -> None:
    """Wall time of the scores of a series in one process and in one for each core."""
    folder = series.make(place / "wide", trials)
    size = sum(attempt.record.stat().st_size for attempt in folder.trials()) / 1e6
    cores = os.cpu_count() or 1
    walls = {}
    for count in (1, cores):
        start = time.perf_counter()
        score_series(folder, processes=count)
        walls[count] = time.perf_counter() - start
        what = f"scores, languages and all, {count} processes"
        section.rows.append({"what": what, "MB": size, "wall_s": walls[count]})
    if cores > 1:
        ratio = walls[cores] / walls[1]
        section.rows.append({"what": f"{cores} processes over one, wall", "ratio": ratio})


def _records(section: Section, place: Path, trials: int) -> None:
    folder = series.make(place / "series", trials)
    task = load_task(folder.task_folder)
    attempts = folder.trials()
    size = sum(attempt.record.stat().st_size for attempt in attempts) / 1e6

    def each(work: Callable[[object], object]) -> float:
        return cpu_seconds(lambda: [work(attempt) for attempt in attempts])

    viewed = each(lambda a: read_trial(a, task))
    measured = each(lambda a: score_trial(a, task, detect_languages=False))
    for name, seconds in (
        ("records as measures see them", viewed),
        ("all measures but the language scan", measured),
    ):
        section.rows.append({"what": name, "MB": size, "MB_a_cpu_s": size / seconds})
    for measure in TRIAL_MEASURES:

        def one(attempt: object, measure: object = measure) -> object:
            return measure.compute(read_trial(attempt, task, detect_languages=False))

        seconds = max(each(one) - viewed, 1e-9)
        section.rows.append(
            {"what": f"of these: {measure.name}", "MB": size, "share": seconds / measured}
        )
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    each(lambda a: score_trial(a, task, detect_languages=False))
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    section.rows.append({"what": "memory grown by scoring it all again", "MB": grown})
    section.goals.append(
        Goal("all measures but languages, MB a second", size / measured, 50, least=True)
    )


def _texts(section: Section, size: int) -> None:
    prose = series.prose_of_task()
    text = prose.write(size)
    megabytes = len(text.encode()) / 1e6
    german = Expectation("de")
    part = text[: size // 4]
    scripts = megabytes / cpu_seconds(lambda: scan_scripts(text, german))
    languages = len(part.encode()) / 1e6 / cpu_seconds(lambda: scan_languages(part, german), 2)
    section.rows += [
        {"what": "script scan of prose", "MB": megabytes, "MB_a_cpu_s": scripts},
        {"what": "language scan of prose", "MB": megabytes / 4, "MB_a_cpu_s": languages},
    ]
    section.goals += [
        Goal("script scan, MB a second", scripts, 100, least=True),
        Goal("language scan, MB a second", languages, 0.4, least=True),
    ]


def _agreement(section: Section, rankings: int, candidates: int = 11) -> None:
    rng = np.random.default_rng(1)
    places = np.array([1.0 + rng.permutation(candidates) for _ in range(rankings)])
    ours = cpu_seconds(lambda: mean_tau(places))
    some = places[:20]
    pairs = [(a, b) for i, a in enumerate(some) for b in some[i + 1 :]]
    each = cpu_seconds(lambda: [kendalltau(a, b) for a, b in pairs]) / len(pairs)
    theirs = each * rankings * (rankings - 1) / 2
    section.rows.append(
        {"what": f"mean tau of {rankings} rankings of {candidates}", "over scipy": ours / theirs}
    )
    if rankings >= 1000:
        section.goals.append(Goal("mean tau, 1,000 × 11, over scipy", ours / theirs, 1e-5))
