"""The stability numbers: value, how sure it is, what chance would give, and one plain sentence."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from evalstab.chat import Json
from evalstab.report import numbers
from evalstab.report.agreement_limits import agreement_limits, log_sd_limits, modal_limits
from evalstab.report.facts import Facts, block, number, reason
from evalstab.report.page import Align, Paragraph, Section, Table
from evalstab.report.sure import limits, percent_limits, why_none
from evalstab.statistics.intervals import clopper_pearson

HEADER = ("number", "value", "95 % interval", "by chance", "in plain words")
ALIGN: tuple[Align, ...] = ("left", "right", "right", "right", "left")
DESCRIBES = "–"
NO_CHANCE = "–"
RBO_PERSISTENCE = 0.9

Write = Callable[[float], str]


@dataclass(frozen=True, slots=True)
class Line:
    """One number of the table before it is written: where it stands and how to say it."""

    title: str
    parent: Json
    key: str
    write: Write
    chance: str
    sentence: str
    sure: str | None = None

    def cells(self) -> tuple[str, ...]:
        """The row; a null shows its reason in place of the interval."""
        value = number(self.parent, self.key)
        if value is None:
            value = number(self.parent, self.key, "mean")
        if value is None:
            why = reason(self.parent, self.key)
            return (self.title, numbers.UNKNOWN, why, self.chance, self.sentence)
        return (self.title, self.write(value), self._sure(), self.chance, self.sentence)

    def _sure(self) -> str:
        if self.sure is not None:
            return self.sure
        nested = limits(block(self.parent, self.key))
        found = nested or limits(self.parent, f"{self.key}_")
        return numbers.interval(*found) if found else DESCRIBES


def stability(facts: Facts) -> Section | None:
    """All stability numbers in one table; None where nothing was to be ranked."""
    if facts.unasked:
        return None
    lines = (*_delivered(facts), *_orders(facts), *_winners(facts), *_scales(facts))
    table = Table(HEADER, tuple(line.cells() for line in lines), ALIGN)
    note = Paragraph(
        "Intervals cover 95 %; they assume that trials are independent of each other, which a "
        "shared cache or a drifting server breaks. A dash stands where there is none: that number "
        "describes these trials only."
    )
    return Section("How stable, and how sure", (table, note))


def _delivered(facts: Facts) -> Iterator[Line]:
    total, ranked = len(facts.valid), len(facts.ranked)
    yield Line(
        "success rate",
        facts.stability,
        "success_rate",
        numbers.percent,
        NO_CHANCE,
        f"{ranked} of {numbers.plural(total, 'valid trial')} delivered a usable ranking.",
        percent_limits(clopper_pearson(ranked, total) if total else None),
    )
    yield Line(
        "coverage",
        facts.stability,
        "coverage",
        numbers.percent,
        NO_CHANCE,
        "Share of the candidates that two rankings have in common, on average.",
    )
    yield Line(
        "distinct outputs",
        facts.stability,
        "distinct_outputs",
        numbers.count,
        NO_CHANCE,
        f"Different outputs among {numbers.plural(total, 'trial')}; 1 means determinism.",
    )
    yield Line(
        "unseen share",
        facts.stability,
        "unseen_share",
        numbers.percent,
        NO_CHANCE,
        "Up to so many of all trials could behave differently and still not have shown up here.",
        "one-sided limit, 95 %",
    )


def _orders(facts: Facts) -> Iterator[Line]:
    tau = block(facts.stability, "kendall_tau")
    found = limits(tau)
    mean = number(tau, "mean")
    agree = numbers.percent((1 + mean) / 2) if mean is not None else "so many"
    yield Line(
        "Kendall tau, mean",
        tau,
        "mean",
        numbers.decimal,
        "0",
        f"Two trials agree on which of two candidates is better in {agree} of cases; 1 is always "
        "the same order, −1 the reverse.",
        numbers.interval(*found) if found else why_none(tau),
    )
    few = "The two trials that differ most."
    yield Line("Kendall tau, lowest pair", tau, "min", numbers.decimal, "0", few)
    yield Line(
        "Kendall tau, with failures",
        tau,
        "with_failures",
        numbers.decimal,
        "0",
        "The same mean when a pair with an unranked trial counts as chance (0).",
    )
    yield Line(
        "noise ceiling of tau",
        tau,
        "noise_ceiling",
        numbers.decimal,
        "0",
        "A yardstick: about what judges who err by one point a criterion would reach on this very "
        f"task{'; these trials agree better than that' if _above(tau) else ''}.",
    )
    yield from _other_orders(facts)


def _above(tau: Json) -> bool:
    """Whether the trials agree better than the yardstick."""
    mean, ceiling = number(tau, "mean"), number(tau, "noise_ceiling")
    return mean is not None and ceiling is not None and mean > ceiling


def _other_orders(facts: Facts) -> Iterator[Line]:
    ranked, many = len(facts.ranked), len(facts.candidates)
    yield Line(
        "weighted tau",
        facts.stability,
        "weighted_tau",
        numbers.decimal,
        "0",
        "As tau, but a swap among the first places weighs more than one among the last.",
    )
    yield Line(
        "Spearman rho, mean",
        facts.stability,
        "spearman",
        numbers.decimal,
        "0",
        "Correlation of the places in two trials; large moves weigh more than in tau.",
    )
    yield Line(
        "Kendall W",
        facts.stability,
        "kendall_w",
        numbers.decimal,
        f"{numbers.decimal(1 / ranked)} (1/N)" if ranked else "1/N",
        "Agreement of all trials at once, 1 is perfect; never compare it across numbers of trials.",
    )
    yield Line(
        "rank-biased overlap",
        facts.stability,
        "rbo",
        numbers.decimal,
        f"about {numbers.decimal(_rbo_chance(many))}" if many else "not 0",
        "Overlap of the rankings from the top down, "
        f"{'the first ten places weigh most' if many > 10 else 'the first places weigh most'}.",
    )


def _winners(facts: Facts) -> Iterator[Line]:
    winner = block(facts.stability, "winner")
    ranked, many = len(facts.ranked), len(facts.candidates)
    by_lot = f"{numbers.decimal(1 / many)} (1/M)" if many else "1/M"
    steps = max(ranked - 1, 0)
    yield Line(
        "winner, changes",
        winner,
        "changes",
        numbers.count,
        numbers.decimal(steps * (1 - 1 / many), 1) if many else NO_CHANCE,
        f"How often the first place differed from the trial before, of "
        f"{numbers.plural(steps, 'succession')}.",
    )
    yield Line(
        "winner, pair agreement",
        winner,
        "pair_agreement",
        numbers.decimal,
        by_lot,
        "Chance that two trials name the same winner.",
        agreement_limits(facts),
    )
    yield Line(
        "winner, most frequent",
        winner,
        "modal_share",
        numbers.percent,
        f"over {numbers.percent(1 / ranked)} (1/N)" if ranked else "over 1/N",
        "Share of the trials that the most frequent winner won; chosen afterwards, so it flatters.",
        modal_limits(facts),
    )
    yield _entropy(winner, ranked, many)


def _entropy(winner: Json, ranked: int, many: int) -> Line:
    bits = math.log2(min(ranked, many)) if ranked and many else None
    top = f"; at most {numbers.decimal(bits, 1)} here" if bits else ""
    return Line(
        "winner, entropy in bits",
        winner,
        "entropy_bits",
        numbers.decimal,
        NO_CHANCE,
        f"0 means always the same winner{top}; biased low with few trials.",
    )


def _scales(facts: Facts) -> Iterator[Line]:
    scale, icc = block(facts.stability, "scale"), block(facts.stability, "icc")
    yield Line(
        "scale, largest to smallest",
        scale,
        "ratio",
        numbers.decimal,
        NO_CHANCE,
        "Ratio of the largest to the smallest top score on the same input; 1 is no drift of scale.",
    )
    yield Line(
        "scale, coefficient of variation",
        scale,
        "cv",
        numbers.decimal,
        NO_CHANCE,
        "Spread of the top scores over their mean.",
    )
    yield Line(
        "scale, SD of ln(top score)",
        scale,
        "log_sd",
        numbers.decimal,
        NO_CHANCE,
        "The same on a log scale, where factors count; about the relative spread.",
        log_sd_limits(facts),
    )
    strict, shifted = number(icc, "absolute"), number(icc, "consistency")
    offset = "The same after taking out a shift a trial."
    if strict is not None and shifted is not None and shifted < strict:
        offset += (
            " It stands below the line above because the levels of the trials differ by less than "
            "their scatter alone would make them: there is no shift to take out."
        )
    for key, title, sentence in (
        ("absolute", "ICC, same numbers", "Do the trials award the same points?"),
        ("consistency", "ICC, up to an offset", offset),
        ("standardised", "ICC, up to offset and factor", "The same after taking out the factor."),
    ):
        yield Line(title, icc, key, numbers.decimal, "0", sentence + " 1 is perfect.")


def _rbo_chance(many: int) -> float:
    """RBO_EXT expected for two unrelated orders of the same ``many`` candidates."""
    p = RBO_PERSISTENCE
    return (1 - p) * sum(p ** (d - 1) * d / many for d in range(1, many + 1)) + p**many
