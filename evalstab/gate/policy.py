"""What a gate asks: a policy in TOML, shipped, in evalstab.toml, or in a file of its own.

repeats = 5
rules = [
  { name = "tau",      metric = "stability.kendall_tau.mean", min = 0.5 },
  { name = "complete", count  = "deliverables_incomplete", at_most = 0 },
  { name = "winner",   rate   = "stability.winner.modal_share", min = 0.8 },
  { name = "scale",    value  = "stability.scale.cv", max = 0.20 },
]
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from evalstab.chat import Json
from evalstab.errors import ConfigError, nearest
from evalstab.gate.keys import candidate_of, check_count_key, check_key, check_metric_key
from evalstab.settings import read_toml, validated

FOLDER = Path(__file__).parent / "policies"
Kind = Literal["metric", "count", "rate", "value"]
FailedAs = Literal["excluded", "chance", "worst"]
KINDS: tuple[Kind, ...] = ("metric", "count", "rate", "value")


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Rule(_Part):
    """One rule: exactly one kind with its key, and exactly one bound.

    ``metric`` needs ``min`` or ``max`` and is judged by an interval at planned looks; ``rate`` the
    same by Clopper-Pearson after all planned trials; ``value`` the same by the number alone;
    ``count`` needs ``at_most`` or ``at_least`` of the first ``of`` trials (default: all planned).
    """

    name: str = Field(min_length=1, max_length=80)
    metric: str | None = None
    count: str | None = None
    rate: str | None = None
    value: str | None = None
    min: float | None = Field(default=None, allow_inf_nan=False)
    max: float | None = Field(default=None, allow_inf_nan=False)
    at_most: int | None = Field(default=None, ge=0)
    at_least: int | None = Field(default=None, ge=0)
    of: int | None = Field(default=None, ge=1, le=10_000)

    @property
    def kind(self) -> Kind:
        """Which of the four kinds this rule is."""
        return next(kind for kind in KINDS if getattr(self, kind) is not None)

    @property
    def key(self) -> str:
        """The key of scores.json, or the count, that the rule is about."""
        return str(getattr(self, self.kind))

    @property
    def threshold(self) -> float:
        """The bound, whichever it is."""
        bounds = (self.min, self.max, self.at_most, self.at_least)
        return next(float(bound) for bound in bounds if bound is not None)

    @property
    def upward(self) -> bool:
        """Whether more is better: ``min`` or ``at_least``."""
        return self.min is not None or self.at_least is not None

    @model_validator(mode="after")
    def _one_kind_one_bound(self) -> Self:
        kinds = [kind for kind in KINDS if getattr(self, kind) is not None]
        if len(kinds) != 1:
            told = " and ".join(kinds) if kinds else "none of them"
            raise ValueError(f"give exactly one of {', '.join(KINDS)}; there is {told}")
        wanted = ("at_most", "at_least") if kinds == ["count"] else ("min", "max")
        bounds = [b for b in ("min", "max", "at_most", "at_least") if getattr(self, b) is not None]
        if len(bounds) != 1 or bounds[0] not in wanted:
            told = ", ".join(bounds) or "none"
            raise ValueError(f"a {kinds[0]} rule needs exactly one of {wanted}; there is {told}")
        if self.of is not None and self.kind != "count":
            raise ValueError("'of' belongs to count rules")
        return self

    @model_validator(mode="after")
    def _known_key(self) -> Self:
        if self.kind in ("count", "rate"):
            check_count_key(self.key)
        elif self.kind == "metric":
            check_metric_key(self.key, upward=self.upward, threshold=self.threshold)
        else:
            check_key(self.key)
        if self.kind == "rate" and not 0 < self.threshold < 1:
            raise ValueError(f"a rate is asked for between 0 and 1, not {self.threshold:g}")
        return self


class Policy(_Part):
    """A gate: planned trials and rules, all of which must pass.

    ``alpha`` is the one-sided error that each interval rule may spend over all its looks.
    ``accept_identical``: trials that are all the same word for word count as agreement.
    ``failed_as``: how a trial without a ranking enters agreement: a pass must also hold with its
    pairs counted as 0 (``chance``) or -1 (``worst``), or they are left out (``excluded``).
    ``provisional``: whether agreement rules may pass before they have the trials that an
    unreserved pass needs; ``None`` allows it only where the planned trials are fewer than those.
    """

    name: str = "gate"
    about: str = ""
    repeats: int = Field(ge=1, le=1000)
    alpha: float = Field(default=0.05, gt=0, lt=0.5)
    accept_identical: bool = False
    failed_as: FailedAs = "chance"
    provisional: bool | None = None
    min_valid: int = Field(default=3, ge=1)
    rules: tuple[Rule, ...] = Field(min_length=1)

    @field_validator("rules")
    @classmethod
    def _distinct_names(cls, rules: tuple[Rule, ...]) -> tuple[Rule, ...]:
        names = [rule.name for rule in rules]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ValueError(f"two rules are named {', '.join(map(repr, twice))}")
        return rules

    @property
    def all_rules(self) -> tuple[Rule, ...]:
        """The rules, with those about lost attempts that every gate has unless it brings its own.

        A model whose server dies under the load must not pass on the trials that survived.
        """
        if any(rule.key == "crashes" or rule.key.startswith("attrition") for rule in self.rules):
            return self.rules
        return (
            *self.rules,
            Rule(name="crashes", count="crashes", at_most=0),
            Rule(name="attrition", count="attrition", at_most=max(1, self.repeats // 5)),
        )

    def with_repeats(self, repeats: int | None) -> Policy:
        """The same rules for another number of planned trials (None: as they are)."""
        return self if repeats is None else self.model_copy(update={"repeats": repeats})


def shipped() -> list[str]:
    """The names of the policies that come with the package."""
    return sorted(path.stem for path in FOLDER.glob("*.toml"))


def load_policy(name: str, gates: Mapping[str, Json]) -> Policy:
    """The policy of a name or file: ``[gates.NAME]`` first, then shipped ones, then a TOML file.

    ConfigError names file, key and the nearest known word for whatever is wrong.
    """
    if name in gates:
        return parse_policy({"name": name} | dict(gates[name]), f"[gates.{name}]")
    path = FOLDER / f"{name}.toml" if name in shipped() else Path(name)
    if not path.is_file():
        if "/" in name or name.endswith(".toml"):
            raise ConfigError(f"{name} does not exist: name a gate file, or a gate by its name")
        raise ConfigError(f"unknown gate {name!r}. {nearest(name, [*gates, *shipped()])}")
    table = read_toml(path)
    return parse_policy({"name": path.stem} | table, str(path) if path != FOLDER else name)


def require_known(policy: Policy, candidates: Sequence[str]) -> None:
    """ConfigError, with the nearest known one, for a rule about a candidate that there is not."""
    for rule in policy.rules:
        who = candidate_of(rule.key)
        if who is not None and candidates and who not in candidates:
            raise ConfigError(
                f"gate {policy.name!r}: rule {rule.name!r}: the task has no candidate {who!r}. "
                f"{nearest(who, candidates)}"
            )


def parse_policy(table: Json, where: str) -> Policy:
    """A policy from plain data; ConfigError says where it is wrong."""
    return validated(Policy, table, where)
