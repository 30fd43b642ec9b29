"""A number, or the reason why there is none."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Value:
    """One statistic: `value` is a finite float, or None with a plain `reason`.

    Exactly one of the two fields is set. NaN and infinity are refused, so that "undefined" can
    never be mistaken for a number further down.
    """

    value: float | None
    reason: str | None = None

    def __post_init__(self) -> None:
        if (self.value is None) == (self.reason is None):
            raise ValueError("a Value holds either a number or a reason")
        if self.value is not None and not math.isfinite(self.value):
            raise ValueError(f"a Value must be finite, not {self.value}")

    @classmethod
    def of(cls, number: float) -> Value:
        """A defined value, as a plain Python float."""
        return cls(float(number))

    @classmethod
    def undefined(cls, reason: str) -> Value:
        """No value, and why."""
        return cls(None, reason)


@dataclass(frozen=True, slots=True)
class Interval:
    """A confidence interval: both limits finite and low <= high, or both None with a `reason`."""

    low: float | None
    high: float | None
    reason: str | None = None

    def __post_init__(self) -> None:
        if self.low is None or self.high is None:
            if self.reason is None or self.low is not None or self.high is not None:
                raise ValueError("an Interval holds two limits or a reason")
            return
        if self.reason is not None:
            raise ValueError("an Interval with limits needs no reason")
        if not (math.isfinite(self.low) and math.isfinite(self.high)) or self.low > self.high:
            raise ValueError(f"not an interval: [{self.low}, {self.high}]")

    @classmethod
    def of(cls, low: float, high: float) -> Interval:
        """A defined interval, as plain Python floats."""
        return cls(float(low), float(high))

    @classmethod
    def undefined(cls, reason: str) -> Interval:
        """No interval, and why."""
        return cls(None, None, reason)
