"""Verbatim loops: stretches that consist of copies of one block, one after the other.

A stretch with period p is a run of positions whose token equals the one p positions on.
Candidate periods are the distances between equal 8-token runs, so that one pass finds periods
from one token to half the text in n log n time, at the end of a text as well as in its middle.
"""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from .loops import Loop
from .tokens import Ids, Tokens, gram_hashes, tokenise

MIN_COPIES = 3
MIN_TOKENS = 50
MIN_TOKENS_RECOVERED = 100
_GRAM = 8
_MAX_PERIODS = 64
SLACK = 2
"""Tokens by which the last copy may fall short: where it was cut, or glued to what follows."""
_BLOCK = 2_000_000
_OVERLAP = 100_000
_SAMPLE = 80


def verbatim_loop(text: str) -> Loop | None:
    """The loop a text ends in, else its longest one, else None."""
    loops = verbatim_loops(text)
    if not loops:
        return None
    last = loops[-1]
    if not last.detail["recovered"]:
        return last
    return max(loops, key=lambda loop: loop.end - loop.start)


def verbatim_loops(text: str) -> list[Loop]:
    """All verbatim loops of a text, disjoint, in order.

    A loop is at least three copies of a block that cover at least 50 tokens. One in which the
    text ends is sure; one that the text leaves again is sure from 100 tokens on. Texts above
    two million characters are read in overlapping blocks, so memory is bounded and a loop with
    a period above 50,000 characters may be missed there.
    """
    if len(text) <= _BLOCK:
        return list(_loops(text, 0, len(text)))
    found: list[Loop] = []
    for start in range(0, len(text) - _OVERLAP, _BLOCK - _OVERLAP):
        for loop in _loops(text[start : start + _BLOCK], start, len(text)):
            if found and loop.start < found[-1].end:
                found[-1] = _merged(found[-1], loop)
            else:
                found.append(loop)
    return found


def periodic_stretches(ids: Ids) -> list[tuple[int, int, int]]:
    """Disjoint periodic stretches (first, last + 1, period) in token positions, in order."""
    found: list[tuple[int, int, int]] = []
    for period in _candidate_periods(ids):
        equal = ids[period:] == ids[:-period]
        edges = np.flatnonzero(np.diff(np.concatenate(([0], equal.view(np.int8), [0]))))
        starts, ends = edges[::2], edges[1::2] + period
        keep = (ends - starts >= MIN_COPIES * period - SLACK) & (ends - starts >= MIN_TOKENS)
        found += [(int(a), int(b), period) for a, b in zip(starts[keep], ends[keep], strict=True)]
    found.sort(key=lambda item: (item[0] - item[1], item[2]))
    chosen: list[tuple[int, int, int]] = []
    for item in found:
        if all(item[1] <= other[0] or other[1] <= item[0] for other in chosen):
            chosen.append(item)
        if len(chosen) >= _MAX_PERIODS:
            break
    return sorted(chosen)


def _candidate_periods(ids: Ids) -> list[int]:
    grams = gram_hashes(ids, _GRAM)
    if len(grams) < 2:
        return []
    order = np.argsort(grams, kind="stable")
    same = grams[order][1:] == grams[order][:-1]
    distances = (order[1:] - order[:-1])[same]
    if not len(distances):
        return []
    periods, counts = np.unique(distances, return_counts=True)
    weight = np.minimum(counts, len(ids))
    enough = weight + _GRAM >= np.minimum(periods, MIN_TOKENS) // 4
    periods, weight = periods[enough], weight[enough]
    return [int(period) for period in periods[np.argsort(-weight, kind="stable")][:_MAX_PERIODS]]


def loop_of(text: str, tokens: Tokens, stretch: tuple[int, int, int], *, recovered: bool) -> Loop:
    """The Loop for a periodic stretch (first, last + 1, period) of the tokens of a text."""
    first, last, period = stretch
    start, end = int(tokens.starts[first]), int(tokens.ends[last - 1])
    block = int(tokens.starts[first + period]) - start
    sure = not recovered or last - first >= MIN_TOKENS_RECOVERED
    return Loop(
        kind="verbatim",
        start=start,
        end=end,
        period=block,
        copies=(last - first + (SLACK if period > SLACK else 0)) // period,
        tier="sure" if sure else "probable",
        detail={
            "tokens": last - first,
            "burnt": last - first - period,
            "period_tokens": period,
            "recovered": recovered,
            "sample": text[start : start + min(block, _SAMPLE)].strip(),
        },
    )


def _loops(text: str, offset: int, total: int) -> Iterator[Loop]:
    tokens = tokenise(text)
    reaches_end = offset + len(text) == total
    for first, last, period in periodic_stretches(tokens.ids):
        recovered = not (reaches_end and last >= len(tokens) - SLACK)
        loop = loop_of(text, tokens, (first, last, period), recovered=recovered)
        yield replace(loop, start=loop.start + offset, end=loop.end + offset)


def _merged(first: Loop, second: Loop) -> Loop:
    if second.end <= first.end:
        return first
    period = first.period or 1
    grown = (second.end - first.start) / max(1, first.end - first.start)
    detail = dict(first.detail)
    for key in ("tokens", "burnt"):
        detail[key] = round(int(str(detail[key])) * grown)
    detail["recovered"] = second.detail["recovered"]
    copies = (second.end - first.start) // period
    return Loop("verbatim", first.start, second.end, period, copies, "sure", detail)
