"""Language: what the model wrote in scripts and languages that the task does not allow.

Hard spans (foreign script, mixed-script word, sentence in another language, broken bytes) make the
headline; full-width forms, foreign punctuation, invisible characters and control tokens are soft.
Spans that stood in any input are copied; those in code, URLs and paths are zoned; neither counts.
A text that is mostly foreign is one span. A channel that is mostly foreign over the whole trial
(it thinks in English, it answers in German) has switched its language: that is no slip, it is
listed under ``switched`` and not counted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from evalstab.findings import Channel
from evalstab.measures.base import Direction, Fact, Measured, TrialMeasure, put
from evalstab.measures.leaks import CODES, Leak, LeakScan, leak_finding, scan_trial
from evalstab.measures.view import TrialView

CHANNELS: tuple[Channel, ...] = ("reasoning", "content", "arguments", "file")
_OUTPUT = frozenset({"content", "file"})


def compute(trial: TrialView) -> Measured:
    """Scan every text that the model wrote in this trial."""
    scan = scan_trial(trial, languages=trial.detect_languages)
    hard = [leak for leak in scan.leaks if leak.hard]
    leaked = sum(leak.span.graphemes for leak in hard)
    values: dict[str, Any] = {"spans": len(hard), "graphemes": leaked}
    written = scan.written.total()
    share = 1000 * leaked / written if written else None
    put(values, "per_thousand", share, "the model wrote nothing")
    values["scripts"] = dict(Counter(leak.name for leak in hard).most_common())
    channels = Counter(leak.piece.channel for leak in hard)
    values["channels"] = {channel: channels[channel] for channel in CHANNELS}
    values["kinds"] = dict(Counter(leak.span.kind for leak in hard).most_common())
    values |= _apart(scan)
    values["switched"] = {channel: leak.name for channel, leak in scan.switched.items()}
    first = _first(hard)
    put(values, "first_leak", first, "nothing leaked")
    values["returned"] = _returned(hard)
    values["carried_over"] = _carried_over(hard)
    values["languages_judged"] = trial.detect_languages
    findings = [leak_finding(leak, switched=True) for leak in scan.switched.values()]
    return Measured({"language": values}, findings + [leak_finding(x) for x in scan.leaks])


def _apart(scan: LeakScan) -> dict[str, int]:
    return {
        "soft_spans": sum(not leak.hard for leak in scan.leaks),
        "copied": scan.copied,
        "zoned": scan.zoned,
        "probable": scan.probable,
        "graphemes_written": scan.written.total(),
    }


def _first(hard: Sequence[Leak]) -> dict[str, Any] | None:
    if not hard:
        return None
    leak = hard[0]
    place: dict[str, Any] = {"step": leak.step.number, "channel": leak.piece.channel}
    context = leak.step.context_at(leak.piece, leak.span.start)
    put(place, "context_tokens", context, "nobody counted the tokens of this step")
    return place


def _returned(hard: Sequence[Leak]) -> int:
    """Leaked spans whose text had leaked in an earlier step already."""
    first_step: dict[str, int] = {}
    returned = 0
    for leak in hard:
        if leak.whole or leak.span.graphemes < 2:
            continue
        step = first_step.setdefault(leak.text.casefold(), leak.step.number)
        returned += step < leak.step.number
    return returned


def _carried_over(hard: Sequence[Leak]) -> bool:
    """Whether a leak in content or a file followed one in reasoning."""
    thought = False
    for leak in hard:
        if leak.piece.channel == "reasoning":
            thought = True
        elif thought and leak.piece.channel in _OUTPUT:
            return True
    return False


_COUNT: tuple[str, str, Direction] = ("spans", "0 and more", "lower is better")

MEASURE = TrialMeasure(
    name="language",
    meaning="Whether the model stays in the language and scripts of the task.",
    facts=(
        Fact("language.spans", "Hard spans in all channels.", *_COUNT),
        Fact(
            "language.graphemes",
            "Characters a reader sees (grapheme clusters) inside hard spans.",
            "graphemes",
            "0 and more",
            "lower is better",
        ),
        Fact(
            "language.per_thousand",
            "Leaked graphemes for each 1,000 that the model wrote.",
            "graphemes / 1,000",
            "0 to 1000",
            "lower is better",
        ),
        Fact(
            "language.scripts",
            "Hard spans by script; of another language in the same script as Latin-en.",
            *_COUNT,
        ),
        Fact("language.channels", "Hard spans by channel.", *_COUNT),
        Fact("language.kinds", "Hard spans by kind.", *_COUNT),
        Fact("language.soft_spans", "Soft spans: widths, punctuation, invisibles.", *_COUNT),
        Fact("language.copied", "Foreign spans that stood in an input.", "spans", "0 and more"),
        Fact("language.zoned", "Foreign spans in code, URLs, paths.", "spans", "0 and more"),
        Fact("language.probable", "Doubtful spans, to be looked at.", "spans", "0 and more"),
        Fact("language.graphemes_written", "All the model wrote.", "graphemes", "0 and more"),
        Fact(
            "language.switched",
            "Channels that are mostly foreign over the whole trial, and in what.",
            "names",
            "channel: script or language",
        ),
        Fact(
            "language.first_leak",
            "Step, channel and active context of the first hard span.",
            "place",
            "step, channel, context_tokens",
        ),
        Fact("language.returned", "Spans that had leaked in an earlier step.", *_COUNT),
        Fact(
            "language.carried_over",
            "Whether content or a file leaked after reasoning had.",
            "yes or no",
            "true, false",
        ),
        Fact(
            "language.languages_judged",
            "Whether sentences were judged by language too, not only by script.",
            "yes or no",
            "true, false",
        ),
    ),
    compute=compute,
    codes=tuple(sorted(set(CODES.values()))),
)
