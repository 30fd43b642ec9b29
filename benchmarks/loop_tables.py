"""How many synthetic loops the detectors find, and how often honest reasoning is called one."""

from reasoning_texts import LOOPS, honest, looping
from tables import rate, table

from evalstab.text.repetition import (
    RewordingProfile,
    judge_rewording,
    low_entropy,
    rewording_profile,
    verbatim_loops,
)


def loop_table(seeds: int = 12, characters: int = 48_000) -> str:
    """Share of synthetic loops found, by kind and onset."""
    rows: list[list[object]] = []
    honest_texts = [honest(seed, characters) for seed in range(seeds)]
    alarms = sum(bool(verbatim_loops(t)) for t in honest_texts)
    entropy = sum(low_entropy(t) is not None for t in honest_texts)
    rows.append(["honest", "–", rate(alarms, seeds), rate(entropy, seeds)])
    for kind in LOOPS:
        for onset in (0.5, 0.8):
            texts = [looping(kind, seed, characters, onset) for seed in range(seeds)]
            exact = sum(any(loop.tier == "sure" for loop in verbatim_loops(t)) for t in texts)
            dense = sum(low_entropy(t) is not None for t in texts)
            rows.append([kind, f"{onset:.0%}", rate(exact, seeds), rate(dense, seeds)])
    return table(["kind", "begins at", "verbatim loop", "low entropy"], rows)


def rewording_table(seeds: int = 8) -> str:
    """Share judged a reworded loop, against references of the same and of other lengths."""
    lengths = (48_000, 110_000, 240_000)
    references = {n: [rewording_profile(honest(s, n)) for s in range(10)] for n in lengths}
    rows: list[list[object]] = []
    for kind, onset in (("honest", 0.0), ("reword", 0.5), ("reword", 0.8), ("reword_all", 0.5)):
        for n in lengths:
            made = [
                honest(500 + s, n) if kind == "honest" else looping(kind, 500 + s, n, onset)
                for s in range(seeds)
            ]
            profiles = [rewording_profile(text) for text in made]
            others = [p for length in lengths if length != n for p in references[length]]
            cells = [_judged(profiles, pool) for pool in (references[n], others, [])]
            rows.append([kind, f"{onset:.0%}", n, *cells])
    head = ["kind", "begins at", "characters", "same length", "other lengths", "no references"]
    return table(head, rows)


def _judged(profiles: list[RewordingProfile], pool: list[RewordingProfile]) -> str:
    hits = sum(judge_rewording(profile, pool).reworded is True for profile in profiles)
    return f"{hits} of {len(profiles)}"
