"""What the shipped gates do to models of known stability: chances of each verdict, trials spent.

    python benchmarks/gate_characteristics.py            print the tables
    python benchmarks/gate_characteristics.py --write    write them into docs/gates.md

Trials are Mallows rankings of 11 candidates, scales log-normal, faults independent. Every series is
judged by the very code that judges real ones, look by look, so stopping early is part of it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from evalstab.gate.looks import looks_of
from evalstab.gate.policy import Policy, load_policy, shipped
from evalstab.gate.verdict import decided, judge
from evalstab.statistics.mallows import expected_tau, sample
from evalstab.statistics.scale import coefficient_of_variation

DOCS = Path(__file__).resolve().parent.parent / "docs" / "gates.md"
BEGIN, END = "<!-- generated: characteristics -->", "<!-- end generated -->"
REPLICATES = 1000
CANDIDATES = [f"person_{n:02d}" for n in range(1, 12)]


@dataclass(frozen=True)
class Model:
    """A model of known behaviour: expected tau, spread of the scale, chance of a fault a trial."""

    name: str
    tau: float
    cv: float = 0.03
    leak: float = 0.0
    incomplete: float = 0.0


MODELS = (
    Model("very stable", 0.93),
    Model("stable", 0.85),
    Model("fair", 0.75),
    Model("at .6 exactly", 0.60),
    Model("poor", 0.45),
    Model("unstable", 0.25),
    Model("stable, scale doubles (CV 35 %)", 0.85, cv=0.35),
    Model("stable, leaks in 1 of 20 trials", 0.85, leak=0.05),
    Model("stable, leaks in 1 of 3 trials", 0.85, leak=0.33),
    Model("stable, files missing in 1 of 10", 0.85, incomplete=0.1),
)


def phi_of(tau: float) -> float:
    """The dispersion of Mallows' model with this expected tau."""
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if (expected_tau(middle, 11).value or 0) > tau else (low, middle)
    return low


def series(model: Model, trials: int, rng: np.random.Generator) -> list[dict[str, Any]]:
    """The trials of one series, as scores.json has them."""
    orders = np.argsort(sample(rng, phi_of(model.tau), 11, trials), axis=1)
    made = []
    for number, order in enumerate(orders, 1):
        ranking = [CANDIDATES[i] for i in order]
        leaked = rng.random() < model.leak
        complete = 5 if rng.random() < model.incomplete else 6
        found = [{"code": "text.foreign_script", "side": "model"}] if leaked else []
        made.append(
            {
                "index": number,
                "outcome": "completed",
                "ranking": [[who] for who in ranking],
                "winner": ranking[0],
                "top_score": 100 * float(np.exp(rng.normal(0, model.cv))),
                "deliverables": {"expected": 6, "complete": complete},
                "findings": found,
                "finding_counts": {f["code"]: 1 for f in found},
            }
        )
    return made


def scores_of(trials: list[dict[str, Any]]) -> dict[str, Any]:
    """As much of scores.json as the shipped gates read."""
    tops = [trial["top_score"] for trial in trials]
    return {
        "series": {"attrition": {}},
        "trials": trials,
        "findings": [],
        "stability": {
            "candidates": dict.fromkeys(CANDIDATES),
            "winner": {"distinct": len({trial["winner"] for trial in trials})},
            "scale": {"cv": coefficient_of_variation(tops).value},
        },
    }


def verdict_of(policy: Policy, trials: list[dict[str, Any]]) -> tuple[str, int]:
    """How a series ends under a gate, and after how many trials."""
    verdict: dict[str, Any] = {}
    for look in looks_of(policy, policy.repeats):
        verdict = judge(policy, scores_of(trials[:look]))
        if decided(verdict):
            break
    return str(verdict["status"]), int(verdict["trials"])


def table(name: str, replicates: int, rng: np.random.Generator) -> Iterator[str]:
    """The table of one gate, Markdown."""
    policy = load_policy(name, {})
    yield f"### {name}: at most {policy.repeats} trials\n"
    yield "| model | expected tau | pass | undecided | fail | trials on average |"
    yield "|---|---|---|---|---|---|"
    for model in MODELS:
        ends = [verdict_of(policy, series(model, policy.repeats, rng)) for _ in range(replicates)]
        share = {
            s: sum(e == s for e, _ in ends) / replicates for s in ("pass", "undecided", "fail")
        }
        mean = sum(trials for _, trials in ends) / replicates
        cells = " | ".join(f"{share[s]:.1%}" for s in ("pass", "undecided", "fail"))
        yield f"| {model.name} | {model.tau:.2f} | {cells} | {mean:.1f} |"
    yield ""


def main(arguments: list[str]) -> None:
    """Print the tables, or write them between the markers."""
    rng = np.random.default_rng(20)
    lines = [line for name in shipped() for line in table(name, REPLICATES, rng)]
    lines.append(f"{REPLICATES:,} simulated series a row; Monte-Carlo error up to 1.6 points.")
    text = "\n".join(lines)
    if "--write" in arguments:
        page = DOCS.read_text(encoding="utf-8")
        head, _, rest = page.partition(BEGIN)
        tail = rest.partition(END)[2]
        DOCS.write_text(f"{head}{BEGIN}\n\n{text}\n\n{END}{tail}", encoding="utf-8")
    else:
        print(text)


if __name__ == "__main__":
    main(sys.argv[1:])
