"""Reasoning: how much a model thinks, in which blocks, and whether it grows with the context.

A block is the reasoning of one accepted reply. Text that a gateway delivered twice is counted once
(the reader of replies sees to that).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from evalstab.findings import finding
from evalstab.measures.base import Fact, Measured, TrialMeasure, put, put_all
from evalstab.measures.tokens import Source, reasoning_tokens, scale_of, worst_source
from evalstab.measures.view import StepView, TrialView
from evalstab.statistics.quantiles import t_quantile
from evalstab.text.repetition import repeated_share

LEAST_POINTS = 5
LEAST_STEPS = 4
_KEYS = ("tokens", "tokens_source", "blocks", "largest_block_tokens", "repeated_share")


@dataclass(frozen=True, slots=True)
class Block:
    """The reasoning of one step."""

    step: StepView
    tokens: int
    source: Source


def compute(trial: TrialView) -> Measured:
    """Tokens, blocks, the largest block and where it began, growth over context."""
    found = Measured()
    values: dict[str, Any] = {}
    found.values["reasoning"] = values
    answered = [step for step in trial.steps if step.reply is not None]
    if not answered:
        put_all(values, _KEYS, "no step was answered")
        return found
    blocks = blocks_of(trial)
    thought = [block for block in blocks if block.tokens]
    values["tokens"] = sum(block.tokens for block in blocks)
    values["tokens_source"] = worst_source(b.source for b in thought or blocks)
    values["blocks"] = len(thought)
    largest = max(thought, key=lambda block: block.tokens, default=None)
    nothing = "no reasoning arrived"
    put(values, "largest_block_tokens", largest.tokens if largest else None, nothing)
    put(values, "largest_block", _place(largest) if largest else None, nothing)
    put(values, "repeated_share", *_repeated(trial))
    values["per_step"] = [
        {"step": b.step.number, "context_tokens": b.step.context.count, "tokens": b.tokens}
        for b in blocks
    ]
    values["growth"] = growth([(b.step.context.count, b.tokens) for b in blocks])
    if _first_step_only(blocks):
        step = blocks[0].step.number
        found.findings.append(finding("reasoning.first_step_only", step=step, channel="reasoning"))
    return found


def blocks_of(trial: TrialView) -> list[Block]:
    """One block for each answered step, of 0 tokens where it did not think."""
    scale = scale_of(step.event for step in trial.steps)
    blocks = []
    for step in trial.steps:
        if step.reply is not None:
            counted = reasoning_tokens(step.reply, scale)
            blocks.append(Block(step, counted.count, counted.source))
    return blocks


def growth(points: Sequence[tuple[int, int]]) -> dict[str, Any]:
    """Slope of tokens a step over active context, with a two-sided 95 % interval.

    ``points`` are (context tokens, reasoning tokens). Least squares, in reasoning tokens for each
    10,000 tokens of context; the interval takes steps as independent and is a description, not a
    test. Undefined with fewer than 5 points or without spread of the context.
    """
    values: dict[str, Any] = {}
    keys = ("per_10k", "ci_low", "ci_high")
    if len(points) < LEAST_POINTS:
        put_all(values, keys, f"needs at least {LEAST_POINTS} steps, there are {len(points)}")
        return values
    x = np.array([context for context, _ in points], dtype=float) / 10_000
    y = np.array([tokens for _, tokens in points], dtype=float)
    spread = float(((x - x.mean()) ** 2).sum())
    if spread <= 1e-12:
        put_all(values, keys, "the context did not grow")
        return values
    slope = float(((x - x.mean()) * (y - y.mean())).sum()) / spread
    rest = y - y.mean() - slope * (x - x.mean())
    df = len(points) - 2
    error = float(np.sqrt((rest**2).sum() / df / spread))
    half = t_quantile(0.975, df) * error
    return {"per_10k": slope, "ci_low": slope - half, "ci_high": slope + half}


def _repeated(trial: TrialView) -> tuple[float | None, str]:
    texts = [s.reply.reasoning for s in trial.steps if s.reply and s.reply.reasoning]
    share = repeated_share("\n".join(texts)) if texts else None
    return share, "too little reasoning" if texts else "no reasoning arrived"


def _place(block: Block) -> dict[str, Any]:
    """Where a block began: its step and the tokens of the request it answered."""
    return {"step": block.step.number, "context_tokens": block.step.prompt.count}


def _first_step_only(blocks: Sequence[Block]) -> bool:
    return (
        len(blocks) >= LEAST_STEPS
        and blocks[0].tokens > 0
        and not any(block.tokens for block in blocks[1:])
    )


_SLOPE = "reasoning tokens for each 10,000 tokens of context"

MEASURE = TrialMeasure(
    name="reasoning",
    meaning="How much the model thinks before it acts, and whether single blocks run away.",
    facts=(
        Fact(
            "reasoning.tokens",
            "Reasoning tokens of all accepted replies.",
            "tokens",
            "0 and more",
        ),
        Fact(
            "reasoning.tokens_source",
            "The least exact source among the blocks: the server's own split, its tokenizer, or "
            "an estimate from the share of characters.",
            "word",
            "server, tokenizer, estimate",
        ),
        Fact("reasoning.blocks", "Steps in which the model thought.", "blocks", "0 and more"),
        Fact(
            "reasoning.largest_block_tokens",
            "Tokens of the largest block.",
            "tokens",
            "1 and more",
        ),
        Fact(
            "reasoning.largest_block",
            "Step of the largest block, and the tokens of the request before it began.",
            "place",
            "step, context_tokens",
        ),
        Fact(
            "reasoning.repeated_share",
            "Share of the reasoning that stands in verbatim repeats of earlier reasoning.",
            "share",
            "0 to 1",
            "lower is better",
        ),
        Fact(
            "reasoning.per_step",
            "Reasoning tokens of each step, with its active context.",
            "list",
            "step, context_tokens, tokens",
        ),
        Fact("reasoning.growth.per_10k", "Slope of tokens a step over context.", _SLOPE, "any"),
        Fact("reasoning.growth.ci_low", "Lower limit of its 95 % interval.", _SLOPE, "any"),
        Fact("reasoning.growth.ci_high", "Upper limit of its 95 % interval.", _SLOPE, "any"),
    ),
    compute=compute,
    codes=("reasoning.first_step_only",),
)
