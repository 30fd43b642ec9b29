"""Section 6: reading records, measuring them, scanning texts, agreement of many rankings."""

from __future__ import annotations

import resource
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
from scipy.stats import kendalltau

from benchmarks.speed import series
from benchmarks.speed.result import Goal, Section, cpu_seconds
from evalstab.measures.catalogue import TRIAL_MEASURES
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
        _records(section, Path(place), 2 if quick else 25)
    _texts(section, 20_000 if quick else 200_000)
    _agreement(section, 20 if quick else 1000)
    return section


def _records(section: Section, place: Path, trials: int) -> None:
    folder = series.make(place / "series", trials)
    task = load_task(folder.task_folder)
    attempts = folder.trials()
    size = sum(attempt.record.stat().st_size for attempt in attempts) / 1e6

    def each(work: Callable[[object], object]) -> float:
        return cpu_seconds(lambda: [work(attempt) for attempt in attempts])

    plain = each(lambda a: a.record.read_bytes().count(b"\n"))
    read = each(lambda a: sum(1 for _ in read_events(a.record)))
    viewed = each(lambda a: read_trial(a, task))
    measured = each(lambda a: score_trial(a, task, detect_languages=False))
    for name, seconds in (
        ("read() and count of lines", plain),
        ("records, all fields", read),
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
    section.goals += [
        Goal("reading records over a plain read", read / plain, 1.5),
        Goal("all measures but languages, MB a second", size / measured, 50, least=True),
    ]


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
