"""The stable keys of scores.json, and what is missing or unexplained in a document."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

CONTRACT_TRIAL = {
    "index",
    "attempt",
    "outcome",
    "reason",
    "seconds",
    "steps",
    "resumed",
    "active_context_tokens",
    "tokens_source",
    "deliverables.expected",
    "deliverables.complete",
    "deliverables.missing",
    "deliverables.invalid",
    "ranking",
    "totals",
    "criteria",
    "winner",
    "winners",
    "top_score",
    "reasoning.tokens",
    "reasoning.tokens_source",
    "reasoning.blocks",
    "reasoning.largest_block_tokens",
    "reasoning.repeated_share",
    "language.spans",
    "language.graphemes",
    "language.per_thousand",
    "language.scripts",
    "language.channels.reasoning",
    "language.channels.content",
    "language.channels.arguments",
    "language.channels.file",
    "tool_calls.total",
    "tool_calls.completed",
    "tool_calls.unfinished",
    "tool_calls.repeated",
    "speed.ttft_s.p50",
    "speed.ttft_s.p99",
    "speed.decode_tok_s.p50",
    "speed.prefill_tok_s.p50",
    "speed.by_context",
    "accuracy",
    "findings",
    "finding_counts",
}
CONTRACT_SERIES = {
    "schema_version",
    "series.id",
    "series.task",
    "series.endpoint",
    "series.model",
    "series.context_target",
    "series.repeats_planned",
    "series.repeats_done",
    "series.simulated",
    "series.attempts",
    "series.invalid",
    "series.attrition",
    "trials",
    "findings",
    "stability.trials_ranked",
    "stability.trials_unranked",
    "stability.success_rate",
    "stability.coverage",
    "stability.distinct_outputs",
    "stability.unseen_share",
    "stability.kendall_tau.mean",
    "stability.kendall_tau.ci_low",
    "stability.kendall_tau.ci_high",
    "stability.kendall_tau.min",
    "stability.kendall_tau.pairs",
    "stability.kendall_tau.with_failures",
    "stability.kendall_tau.noise_ceiling",
    "stability.weighted_tau",
    "stability.kendall_w",
    "stability.spearman",
    "stability.rbo",
    "stability.winner.sequence",
    "stability.winner.counts",
    "stability.winner.distinct",
    "stability.winner.changes",
    "stability.winner.pair_agreement",
    "stability.winner.modal_share",
    "stability.winner.entropy_bits",
    "stability.scale.top_scores",
    "stability.scale.ratio",
    "stability.scale.cv",
    "stability.scale.log_sd",
    "stability.icc.absolute",
    "stability.icc.consistency",
    "stability.icc.standardised",
    "stability.candidates",
    "stability.consensus.orders",
    "stability.consensus.optima",
    "verdict.status",
    "verdict.provisional",
    "verdict.gate",
    "verdict.rules",
    "verdict.more_repeats_needed",
    "verdict.next",
}
FINDING_KEYS = {
    "trial",
    "code",
    "side",
    "step",
    "channel",
    "context_tokens",
    "start",
    "end",
    "excerpt",
    "detail",
}


def missing_keys(document: dict[str, Any], keys: set[str]) -> list[str]:
    missing = []
    for key in sorted(keys):
        inner: Any = document
        for part in key.split("."):
            if not isinstance(inner, dict) or part not in inner:
                missing.append(key)
                break
            inner = inner[part]
    return missing


def unexplained(value: Any, path: str = "") -> Iterator[str]:
    """Nulls of a document without a reason beside them; places inside findings do not count."""
    if isinstance(value, dict):
        for key, inner in value.items():
            if key == "findings":
                continue
            if inner is None and not value.get(f"{key}_reason"):
                yield f"{path}.{key}"
            yield from unexplained(inner, f"{path}.{key}")
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            if isinstance(inner, (dict, list)):
                yield from unexplained(inner, f"{path}[{number}]")
