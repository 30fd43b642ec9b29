"""How sure the numbers on winners and scales are, computed from the trials themselves."""

from __future__ import annotations

from evalstab.report import labels, numbers
from evalstab.report.facts import Facts, numbers_of
from evalstab.report.sure import percent_limits
from evalstab.statistics.intervals import clopper_pearson, winner_agreement_interval
from evalstab.statistics.scale import log_sd_interval


def agreement_limits(facts: Facts) -> str:
    """Interval of the chance that two trials name the same winner, or why there is none."""
    winners = [frozenset(map(str, t.get("winners") or ())) for t in facts.ranked]
    coded = {who: place for place, who in enumerate(sorted(frozenset().union(*winners)))}
    sets = [frozenset(coded[who] for who in winner) for winner in winners]
    found = winner_agreement_interval(sets)
    if found.low is None or found.high is None:
        return labels.sentence(f"no interval: {found.reason}")
    return numbers.interval(found.low, found.high)


def modal_limits(facts: Facts) -> str:
    """Interval of the share of trials that the most frequent winner won."""
    ranked = len(facts.ranked)
    most = min(max(facts.wins.values(), default=0), ranked)
    return percent_limits(clopper_pearson(most, ranked) if ranked else None)


def log_sd_limits(facts: Facts) -> str:
    """Interval of the spread of the top scores on a log scale, or why there is none."""
    tops = numbers_of(facts.valid, "top_score")
    if len(tops) > 1 and min(tops) == max(tops):
        return "no interval: no variation was seen"
    found = log_sd_interval(tops)
    if found.low is None or found.high is None:
        return labels.sentence(f"no interval: {found.reason}")
    return numbers.interval(found.low, found.high)
