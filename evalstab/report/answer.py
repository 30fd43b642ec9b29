"""The first screen: may this model's judgement be trusted, and what the numbers cannot say."""

from __future__ import annotations

from collections import Counter
from typing import cast, get_args

from evalstab.chat import Json
from evalstab.findings import CODES, UNFINISHED
from evalstab.report import imported, labels, numbers, truth
from evalstab.report.facts import Facts, block, index, is_complete, number, numbers_of
from evalstab.report.lost import lost_trials, told_losses
from evalstab.report.page import Answer, Status
from evalstab.report.sure import rate_sure, tau_sure
from evalstab.series.folder import SeriesFolder

NO_VARIATION = "series.no_variation"
SATURATED = "series.saturated"
ROUNDING = 1e-9


def question(facts: Facts) -> str:
    """The question that the first screen answers."""
    if facts.unasked:
        size = "" if facts.context is None else f", at {numbers.context(facts.context)}"
        return f"How did these sessions go{size}{' of active context' if size else ''}?"
    subject = "this judgement" if facts.series.get("simulated") else "this model's judgement"
    if facts.context is None:
        return f"Can {subject} be trusted? (The active context is not known.)"
    size = numbers.context(facts.context)
    source = "" if facts.context_source == "server" else f" ({facts.context_source})"
    return f"Can {subject} be trusted at {size}{source} of active context?"


def answer(facts: Facts) -> Answer:
    """Verdict or plain reading, then the facts behind it."""
    verdict = block(facts.scores, "verdict")
    status = verdict.get("status")
    status = cast(Status, status if status in get_args(Status) else "none")
    reading = _reading(facts)
    if not facts.valid:
        return Answer("invalid" if facts.trials else status, _nothing(facts), ())
    if len(facts.valid) < facts.planned and status in ("none", "invalid", "undecided"):
        line = f"{len(facts.valid)} of {facts.planned} valid, no verdict."
        if status == "undecided":
            line = f"{line} {_verdict_line(facts, verdict, status)}"
    elif status == "none":
        return Answer(status, f"No gate was asked. {reading}", _points(facts))
    else:
        line = _verdict_line(facts, verdict, status)
    return Answer(status, line, (f"Judgement: {reading}", *_points(facts)))


def notices(facts: Facts, folder: SeriesFolder, named: str) -> tuple[str, ...]:
    """What must be known before any number is read; ``named`` is the folder as commands say it."""
    found: list[str] = []
    seed = block(folder.file.settings, "sampling").get("seed")
    own = imported.imported(folder.file) is None
    asked = block(facts.scores, "verdict").get("gate")
    if folder.file.stopped:
        found.append(f"It was stopped: {labels.sentence(folder.file.stopped)}")
    if own and not asked and len(facts.valid) < facts.planned:
        found.append(f"The series is not complete: evalstab resume {named} goes on.")
    if facts.series.get("simulated"):
        found.append("Simulated endpoint, no model was judged.")
    if (told := imported.notice(folder.file)) is not None:
        found.append(told)
    if seed == "per-trial":
        found.append("A sampling seed was sent, another one for each trial.")
    elif seed is not None:
        found.append(
            f"A fixed sampling seed was sent ({labels.name(seed)}): agreement between trials may "
            "come from the seed and says little about the model."
        )
    if _identical(facts):
        found.append("All trials are identical: determinism, not stability.")
    if (late := _fell_behind(facts)) is not None:
        found.append(late)
    if resumed := [index(t) for t in facts.valid if t.get("resumed")]:
        found.append(f"Interrupted and resumed: trial {', '.join(resumed)}.")
    return tuple(found)


def first_places(facts: Facts) -> str:
    """Who stood first how often: ``person_11 three times, person_06 once``."""
    wins = list(facts.wins.items())
    shown = [f"{labels.name(who)} {numbers.times(times)}" for who, times in wins[:5]]
    if len(wins) > 5:
        shown.append(f"{numbers.count(len(wins) - 5)} others")
    return ", ".join(shown) or "nobody"


def _nothing(facts: Facts) -> str:
    if not facts.trials:
        return "No trial has finished: nothing can be said about the model."
    return (
        f"0 of {facts.planned} valid, no verdict: every attempt was spoilt by something "
        "other than the model."
    )


def _verdict_line(facts: Facts, verdict: Json, status: Status) -> str:
    name = verdict.get("gate")
    name = name.get("name") if isinstance(name, dict) else name
    gate = f"gate {labels.name(name or 'without a name')}"
    rules = [r for r in verdict.get("rules") or () if isinstance(r, dict)]
    blame = [labels.name(r.get("name")) for r in rules if r.get("status") == status]
    because = f" ({', '.join(blame)})" if blame and status != "pass" else ""
    trials = numbers.plural(len(facts.valid), "trial")
    if status == "pass":
        unseen = number(facts.stability, "unseen_share")
        tail = f", unseen share up to {numbers.percent(unseen)}" if unseen is not None else ""
        soft = f" provisionally after {trials}{tail}" if verdict.get("provisional") else ""
        return f"Pass: {gate} passed{soft}."
    if status == "fail":
        return f"Fail: {gate} failed after {trials}{because}."
    if status == "invalid":
        return f"Invalid: {gate} cannot be judged by these trials{because}."
    more = number(verdict, "more_repeats_needed")
    need = f" About {numbers.plural(int(more), 'more trial')} could decide it." if more else ""
    return f"Undecided: {gate} is open after {trials}{because}.{need}"


def _identical(facts: Facts) -> bool:
    return _of_series(facts, NO_VARIATION) is not None


def _fell_behind(facts: Facts) -> str | None:
    """That this client could not keep up, if so: which answers have no rates, and in which trials.

    The trials named are the first twenty; a shared report does not know them.
    """
    found = _of_series(facts, SATURATED)
    if found is None:
        return None
    detail = block(found, "detail")
    trials, counts = detail.get("trials"), detail.get("answers")
    told = "some answers"
    if isinstance(trials, list) and isinstance(counts, list) and len(trials) == len(counts):
        told = ", ".join(
            f"{numbers.plural(int(count), 'answer')} in trial {trial}"
            for trial, count in zip(trials, counts, strict=True)
        )
    elif isinstance(trials, list):
        told = f"some answers in trial {', '.join(map(str, trials))}"
    return (
        f"This client could not keep up with the stream of {told}: their rates are unknown and "
        "left out, those of all other answers stand."
    )


def _of_series(facts: Facts, code: str) -> Json | None:
    findings = facts.scores.get("findings") or ()
    return next((f for f in findings if isinstance(f, dict) and f.get("code") == code), None)


def _reading(facts: Facts) -> str:
    if facts.unasked:
        return "No task was named: no ranking is judged, and what follows needs none."
    ranked = len(facts.ranked)
    lost = lost_trials(facts.valid)
    if ranked == 0 and lost and len(lost) == len(facts.valid):
        return f"No trial delivered a usable ranking: {told_losses(lost)}; the model is not judged."
    if ranked == 0:
        return "No trial delivered a usable ranking: its stability cannot be judged."
    if ranked == 1:
        return "Only one trial delivered a ranking: whether it comes out again is not known."
    if _identical(facts):
        return (
            f"All {ranked} trials gave the same output: this is determinism, not stability, one "
            f"observation repeated.{truth.mostly_wrong(facts)}"
        )
    return _comparison(facts, ranked) + truth.mostly_wrong(facts)


def _comparison(facts: Facts, ranked: int) -> str:
    winner = block(facts.stability, "winner")
    lowest = number(facts.stability, "kendall_tau", "min")
    if changes := number(winner, "changes"):
        return (
            f"The ranking is not reproducible: the first place changed in {numbers.count(changes)} "
            f"of {ranked - 1} successive trials ({first_places(facts)})."
        )
    distinct = number(winner, "distinct") or 0
    if distinct > 1:
        return (
            f"The ranking is not reproducible: {numbers.count(distinct)} different first places in "
            f"{ranked} trials ({first_places(facts)})."
        )
    if distinct != 1 or lowest is None:
        return f"{ranked} trials delivered a ranking; how far they agree could not be computed."
    if lowest > 1 - ROUNDING:
        return f"The order came out the same in all {ranked} ranked trials."
    return f"The first place was the same in all {ranked} ranked trials, the order behind it moved."


def _points(facts: Facts) -> tuple[str, ...]:
    found = (
        truth.first_word(facts),
        _files(facts),
        _order(facts),
        _scale(facts),
        _faults(facts),
        _unseen(facts),
    )
    return tuple(point for point in found if point)


def _files(facts: Facts) -> str:
    if facts.unasked:
        return ""
    complete = [t for t in facts.valid if is_complete(t)]
    return (
        f"Files: {len(complete)} of {numbers.plural(len(facts.valid), 'trial')} delivered all that "
        f"was asked ({rate_sure(len(complete), len(facts.valid))}). "
        "Formal success says nothing about the judgement."
    )


def _order(facts: Facts) -> str:
    tau = block(facts.stability, "kendall_tau")
    mean = number(tau, "mean")
    if mean is None:
        return ""
    agree = numbers.percent((1 + mean) / 2)
    ceiling = number(tau, "noise_ceiling")
    most = ""
    if ceiling is not None:
        most = (
            " As a yardstick: judges who err by one point a criterion would reach about "
            f"{numbers.decimal(ceiling)} here"
        )
        most += "; these trials agree better than that." if mean > ceiling else "."
    return (
        f"Order: two trials agree on which of two candidates is better in {agree} of cases "
        f"(chance 50 %); mean Kendall tau {numbers.decimal(mean)} (chance 0), {tau_sure(tau)}."
        f"{most}"
    )


def _scale(facts: Facts) -> str:
    tops = numbers_of(facts.valid, "top_score")
    if len(tops) < 2:
        return ""
    low, high = min(tops), max(tops)
    if low == high:
        return f"Scale: the highest total was {numbers.points(low)} in every trial."
    ratio = number(facts.stability, "scale", "ratio")
    factor = f", a factor of {numbers.significant(ratio, 2)}" if ratio is not None else ""
    return (
        f"Scale: on the same input the highest total went from {numbers.points(low)} to "
        f"{numbers.points(high)}{factor}."
    )


def _faults(facts: Facts) -> str:
    per_trial = [_model_faults(t) for t in facts.valid]
    hit = Counter(name for names in per_trial for name in names)
    if not hit and facts.valid and len(lost_trials(facts.valid)) == len(facts.valid):
        return "Faults of the model: not known, something else ended every trial."
    if not hit:
        return f"Faults of the model: none found in {numbers.plural(len(facts.valid), 'trial')}."
    ordered = sorted(hit.items(), key=lambda item: (-item[1], item[0]))
    named = [f"{name} in {count}" for name, count in ordered[:4]]
    if len(hit) > 4:
        named.append(f"{len(hit) - 4} other kinds")
    return (
        f"Faults of the model in {sum(bool(names) for names in per_trial)} of "
        f"{numbers.plural(len(facts.valid), 'trial')}: {', '.join(named)}."
    )


def _model_faults(trial: Json) -> set[str]:
    names = set()
    for found in trial.get("findings") or ():
        code = str(found.get("code"))
        known = CODES.get(code)
        if found.get("side") == "model" and not (known and known.informational):
            names.add("unfinished tool calls" if code in UNFINISHED else labels.name(code))
    return names


def _unseen(facts: Facts) -> str:
    share = number(facts.stability, "unseen_share")
    if share is None:
        return ""
    return (
        f"Not seen: with {numbers.plural(len(facts.ranked), 'ranked trial')}, up to "
        f"{numbers.percent(share)} of all trials could behave in a way that none of these did."
    )
