"""Where disagreement comes from: the order of reading, sampling, or the engine itself."""

from __future__ import annotations

from evalstab.chat import Json
from evalstab.report import labels, numbers
from evalstab.report.facts import Facts, block, number, reason
from evalstab.report.page import Block, Paragraph, Quote, Quotes, Section, Table

FIXED = (
    "All trials read the documents in one order: a bias for what is read first or last is shared "
    "by all of them and counts as agreement in tau. evalstab run --shuffle tells the two apart."
)


def order_and_sampling(facts: Facts) -> Section | None:
    """Position effect beside sampling noise, and where identical requests part."""
    blocks: list[Block] = []
    if "position" in facts.scores and not facts.unasked:
        blocks += _position(block(facts.scores, "position"))
    divergence = block(facts.scores, "divergence")
    if number(divergence, "pairs"):
        blocks += _divergence(divergence)
    return Section("Order of reading, sampling, engine", tuple(blocks)) if blocks else None


def _position(position: Json) -> list[Block]:
    if not position.get("shuffled"):
        return [Paragraph(FIXED)]
    rows = [
        ("tau, trials with the same order (sampling alone)", _decimal(position, "tau_same_order")),
        ("tau, trials with other orders", _decimal(position, "tau_other_order")),
        ("effect of the order of reading", _decimal(position, "effect")),
        ("its 95 % interval", _interval(position)),
    ]
    table = Table(("agreement", "value"), tuple(rows), ("left", "right"))
    return [table, Paragraph(_reading(position))]


def _reading(position: Json) -> str:
    low, high = number(position, "ci_low"), number(position, "ci_high")
    if low is None or high is None:
        return "Whether the order of reading matters cannot be told from these trials."
    if low > 0:
        return "The order of reading changes the ranking: trials agree less across orders."
    if high < 0:
        return "Trials agree more across orders than within one, which no bias explains."
    return "No effect of the order of reading was shown; that is no proof that there is none."


def _divergence(divergence: Json) -> list[Block]:
    first = number(divergence, "identical_first_answers") or 0.0
    pairs = int(number(divergence, "pairs") or 0)
    where = block(divergence, "first_step")
    text = (
        f"Of {numbers.plural(pairs, 'pair')} of trials with identical requests "
        f"{numbers.percent(first)} gave the same first answer, word for word."
    )
    if where:
        text += f" They part at step {numbers.points(where['median'])} (median)."
    blocks: list[Block] = [Paragraph(f"{text} {_engine(divergence)}")]
    example = block(divergence, "example")
    if example:
        trials, texts = example["trials"], example["texts"]
        blocks.append(
            Quotes(
                tuple(
                    Quote(
                        f"trial {trial}, step {example['step']}, {labels.name(example['channel'])},"
                        f" around character {numbers.count(example['at'])}",
                        labels.sentence(text) or "(nothing)",
                    )
                    for trial, text in zip(trials, texts, strict=True)
                )
            )
        )
    return blocks


def _engine(divergence: Json) -> str:
    engine = divergence.get("engine_nondeterministic")
    if engine is True:
        return (
            "The temperature was 0, so the differences are the engine's (batching, caches, order "
            "of sums), not the sampling's."
        )
    if engine is False:
        return "The temperature was 0 and no answers differ."
    return f"Engine or sampling: not told apart ({reason(divergence, 'engine_nondeterministic')})."


def _decimal(values: Json, key: str) -> str:
    value = number(values, key)
    return f"n/a: {reason(values, key)}" if value is None else numbers.decimal(value)


def _interval(position: Json) -> str:
    low, high = number(position, "ci_low"), number(position, "ci_high")
    if low is None or high is None:
        return f"n/a: {reason(position, 'ci_low')}"
    return numbers.interval(low, high)
