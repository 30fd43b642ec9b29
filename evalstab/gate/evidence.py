"""What scores.json says, as a gate needs it: judged trials in order, rankings, lost attempts."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from evalstab.chat import Json
from evalstab.findings import CODES, matches
from evalstab.gate.keys import RATES, find, find_number
from evalstab.statistics.kendall import PairTaus, pair_taus
from evalstab.statistics.ranks import FloatArray, places_from_rankings
from evalstab.statistics.winner import winner_sets

JUDGED = ("completed", "failed")
CRASHES = ("server.dead", "server.restarted", "series.hardware_unhealthy")
NO_VARIATION = "series.no_variation"
COLD_FIRST = "series.cold_first_run"


@dataclass(frozen=True)
class Evidence:
    """The scores of a series and the judged trials that a look may use.

    ``trials`` are those that ran to an end of the model's own, by index. ``ended`` says that no
    planned trial is still to come.
    """

    scores: Json
    trials: tuple[Json, ...]
    planned: int
    ended: bool

    def first(self, number: int) -> Evidence:
        """The same series after its first ``number`` judged trials."""
        if number >= len(self.trials):
            return self
        return replace(self, trials=self.trials[:number])

    @property
    def number(self) -> int:
        """Judged trials."""
        return len(self.trials)

    @cached_property
    def candidates(self) -> list[str]:
        """Ids of the candidates, in the order of the task."""
        return list(find(self.scores, "stability.candidates") or ())

    @cached_property
    def places(self) -> FloatArray:
        """Places (trials, candidates), NaN rows for trials without a ranking."""
        known = set(self.candidates)
        rankings = [
            [[c for c in group if c in known] for group in trial["ranking"]]
            if trial.get("ranking")
            else None
            for trial in self.trials
        ]
        return places_from_rankings(rankings, self.candidates)

    @cached_property
    def taus(self) -> PairTaus:
        """Kendall tau of all pairs of ranked trials."""
        return pair_taus(self.places)

    @cached_property
    def winners(self) -> list[frozenset[int]]:
        """Winner sets of the judged trials; empty where unranked."""
        return winner_sets(self.places)

    @property
    def ranked(self) -> int:
        """Judged trials with a ranking."""
        return len(self.taus.trials)

    @cached_property
    def identical(self) -> bool:
        """Whether all trials (but for one behind a cold cache) are the same word for word."""
        found = [f for f in self.scores.get("findings") or () if isinstance(f, dict)]
        return any(
            f.get("code") == NO_VARIATION
            or (f.get("code") == COLD_FIRST and f.get("detail", {}).get("first_output_differs"))
            for f in found
        )

    def numbers(self, key: str) -> list[float]:
        """A number of each judged trial that has it."""
        found = (find_number(trial, key) for trial in self.trials)
        return [value for value in found if value is not None]

    def count(self, key: str) -> int:
        """How many judged trials have what ``key`` names (see ``keys.COUNTS``)."""
        prefix, _, rest = key.partition(":")
        if prefix == "trial_has":
            return sum(has_finding(trial, rest) for trial in self.trials)
        if prefix == "trial_winner":
            return sum(trial.get("winner") == rest for trial in self.trials)
        if prefix == "trial_true":
            return sum(find(trial, rest) is True for trial in self.trials)
        if prefix == "trial_outcome":
            return sum(trial["outcome"] == rest for trial in self.trials)
        if prefix == "series_has":
            found = self.scores.get("findings") or ()
            return int(any(_matches_any(rest, str(f.get("code"))) for f in found))
        return self._plain(RATES.get(key, key))

    def _plain(self, key: str) -> int:
        if key == "deliverables_incomplete":
            return sum(not _complete(trial) for trial in self.trials)
        if key in ("ranked", "unranked"):
            return self.ranked if key == "ranked" else self.number - self.ranked
        if key == "resumed":
            return sum(bool(trial.get("resumed")) for trial in self.trials)
        sets = Counter(winners for winners in self.winners if winners)
        most = max(sets.values(), default=0)
        return most if key == "winner_modal" else sum(sets.values()) - most


def evidence_of(scores: Json, repeats: int) -> Evidence:
    """The evidence of a series for a gate that plans ``repeats`` trials.

    Trials count in the order of their index, up to the first that is still running: so a look
    decides the same whether other trials run beside it or not.
    """
    trials = sorted(scores["trials"], key=lambda trial: int(trial["index"]))
    settled: list[Json] = []
    for trial in trials:
        if _pending(trial):
            break
        settled.append(trial)
    judged = tuple(trial for trial in settled if trial["outcome"] in JUDGED)
    planned = max(repeats, len(judged))
    return Evidence(scores, judged, planned, ended=len(settled) >= planned)


def lost_attempts(scores: Json) -> Counter[str]:
    """Attempts that something other than the model spoilt, by cause.

    Trials that failed by the model's own doing, and those that are not finished yet, are no loss;
    one that the endpoint cut off is, until it has been resumed.
    """
    lost = Counter({str(k): int(v) for k, v in (find(scores, "series.attrition") or {}).items()})
    for trial in scores["trials"]:
        cut_off = trial["outcome"] == "aborted" and str(trial.get("cause")) in CODES
        if trial["outcome"] != "invalid" and "cause" in trial and not cut_off:
            lost[str(trial["cause"])] -= 1
    return +lost


def lost(scores: Json, key: str) -> int:
    """How many attempts were lost in the way that a rule names.

    ``crashes``, ``attrition[:CAUSE]``, or ``trial_outcome:OUTCOME`` for trials that stayed lost.
    """
    prefix, _, cause = key.partition(":")
    if prefix == "trial_outcome":
        return sum(trial["outcome"] == cause for trial in scores["trials"])
    return sum(
        number
        for code, number in lost_attempts(scores).items()
        if (key == "crashes" and code in CRASHES)
        or (key != "crashes" and (not cause or _matches_any(cause, code)))
    )


def has_finding(trial: Json, patterns: str) -> bool:
    """Whether a trial has one of the findings, ``|`` between them.

    A model's fault that this tool itself caused (its own token limit cut a call) does not count.
    """
    listed = [f for f in trial.get("findings") or () if isinstance(f, dict)]
    shown = {str(f.get("code")) for f in listed}
    only_counted = set(trial.get("finding_counts") or ()) - shown
    return any(_matches_any(patterns, code) for code in only_counted) or any(
        _matches_any(patterns, str(f.get("code"))) and not _our_own(f) for f in listed
    )


def unseen(evidence: Evidence) -> float | None:
    """Largest share of trials that could behave otherwise and still not have been seen."""
    n = evidence.ranked
    return float(1 - 0.05 ** (1 / n)) if n else None


def best_case(trials: int, candidates: int) -> FloatArray:
    """Places of trials that all give the same order: the most that agreement can show."""
    return np.tile(np.arange(1.0, candidates + 1), (trials, 1))


def _our_own(found: Json) -> bool:
    code = CODES.get(str(found.get("code")))
    return found.get("side") == "harness" and code is not None and code.side != "harness"


def _matches_any(patterns: str, code: str) -> bool:
    return any(matches(pattern, code) for pattern in patterns.split("|"))


def _complete(trial: Json) -> bool:
    expected = find_number(trial, "deliverables.expected")
    return expected is not None and find_number(trial, "deliverables.complete") == expected


def _pending(trial: Json) -> bool:
    """Still running, interrupted, or damaged: ``resume`` can still finish it."""
    return bool(trial["outcome"] == "aborted")
