"""What a repetition scan returns."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from .spans import Tier

LoopKind = Literal["verbatim", "low_entropy"]


@dataclass(frozen=True, slots=True)
class Loop:
    """A stretch of text that repeats itself.

    `start` and `end` count code points, end exclusive. `period` is the length of one copy in
    code points and `copies` the number of complete copies; both are None for a low-entropy
    stretch, whose copies differ. `tier` is "sure" for a fault by itself, "probable" for what
    a reader should look at. `detail`: `tokens` in the stretch, `burnt` tokens after the first
    copy, `period_tokens`, `recovered` (text goes on afterwards), `sample` (at most 80
    characters of one copy), `ratio` (compressed to plain size, low is repetitive).
    """

    kind: LoopKind
    start: int
    end: int
    period: int | None
    copies: int | None
    tier: Tier
    detail: Mapping[str, object] = field(default_factory=dict)
