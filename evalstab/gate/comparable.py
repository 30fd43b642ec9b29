"""May two series be compared? The work must be equal; conditions are the question, or a warning."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from evalstab.chat import Json
from evalstab.errors import FolderError, UsageError, nearest

Kind = Literal["declared", "undeclared", "cannot tell"]
UNKNOWN = "unknown"
_DERIVED = frozenset({"sampling_not_set", "ballast"})
"""Conditions that only repeat what others say."""


@dataclass(frozen=True, slots=True)
class Difference:
    """One condition that differs, or of which nobody can tell."""

    factor: str
    base: Any
    new: Any
    kind: Kind

    def sentence(self) -> str:
        """What a reader must know of it."""
        base, new = (_worded(self.factor, value) for value in (self.base, self.new))
        if self.kind == "cannot tell":
            return f"{self.factor}: cannot tell whether it was the same ({base} / {new})"
        word = "the question" if self.kind == "declared" else "not declared"
        return f"{self.factor}: {base} → {new} ({word})"


def require_equal_work(base: Json, new: Json) -> list[str]:
    """FolderError that names the fields in which the work differs; the fields nobody knows."""
    differing = [
        f"{key} ({base[key]} / {new[key]})"
        for key in sorted(base.keys() & new.keys())
        if base[key] != new[key]
    ]
    if differing:
        raise FolderError(
            f"these two series did not get the same work, so nothing can be compared: "
            f"{'; '.join(differing)}. Run both with the same task, tools and limits"
        )
    return sorted(base.keys() ^ new.keys()) if base and new else ["the whole work"]


def differences(base: Json, new: Json, declared: Sequence[str]) -> list[Difference]:
    """Conditions that differ or are not known, declared ones first.

    A declared factor covers everything below it: ``sampling`` covers ``sampling.temperature``.
    UsageError, with the nearest known one, for a factor that no condition is called.
    """
    one, other = dict(_flat(base)), dict(_flat(new))
    keys = sorted(one.keys() | other.keys())
    known = {key.partition(".")[0] for key in keys} | set(keys)
    for factor in declared:
        if factor not in known:
            raise UsageError(f"--vary {factor!r} is no condition. {nearest(factor, known)}")
    found = []
    for key in keys:
        missing = "not set" if "." in key else UNKNOWN
        a, b = one.get(key, missing), other.get(key, missing)
        covered = any(key == factor or key.startswith(f"{factor}.") for factor in declared)
        if UNKNOWN in (a, b):
            found.append(Difference(key, a, b, "cannot tell"))
        elif a != b:
            found.append(Difference(key, a, b, "declared" if covered else "undeclared"))
    order = ("declared", "undeclared", "cannot tell")
    return sorted(found, key=lambda one: (order.index(one.kind), one.factor))


def not_varied(found: Sequence[Difference], declared: Sequence[str]) -> list[str]:
    """Declared factors in which the two series do not differ."""
    varied = {one.factor for one in found}
    return [
        factor
        for factor in declared
        if not any(key == factor or key.startswith(f"{factor}.") for key in varied)
    ]


def _worded(factor: str, value: Any) -> str:
    """A condition's value in people's words."""
    if factor == "context" and value is None:
        return "natural size"
    if factor == "context" and isinstance(value, list):
        return " and ".join(f"{size:,}" for size in value) + " tokens"
    words = {None: "not set", True: "yes", False: "no"}
    if value is None or isinstance(value, bool):
        return words[value]
    if isinstance(value, list):
        return ", ".join(_worded("", one) for one in value) or "none"
    return str(value)


def _flat(conditions: Json) -> Iterator[tuple[str, Any]]:
    for key, value in conditions.items():
        if key in _DERIVED:
            continue
        if isinstance(value, dict):
            yield from ((f"{key}.{inner}", value[inner]) for inner in value)
        else:
            yield key, value
