"""One simulated model in one trial: the persona, its seed, and what it thinks of a question."""

from __future__ import annotations

from dataclasses import dataclass

from evalstab.sim.dice import Dice, fingerprint
from evalstab.sim.judge import Opinion, Question, opinion, settle
from evalstab.sim.persona import Persona, Pinned
from evalstab.task.brief_reading import Brief
from evalstab.task.model import Criterion, Truth


@dataclass(frozen=True, slots=True)
class Mind:
    """All that decides an answer besides the conversation; ``trial`` counts from 1.

    ``salted``: the request keeps its prompt out of the prefix cache, so that it is always cold.
    """

    persona: Persona
    seed: int
    trial: int = 1
    truth: Truth | None = None
    salted: bool = False

    @property
    def mood(self) -> int:
        """The trial as far as it matters: a deterministic persona knows only cold and warm."""
        if not self.persona.judgement.cold:
            return self.trial
        return 1 if self.trial == 1 or self.salted else 2

    def key(self, *what: object) -> tuple[object, ...]:
        """A key for dice that belong to this mind."""
        return (self.seed, self.persona.name, self.mood, *what)

    def dice(self, *what: object) -> Dice:
        """Dice for one decision of this mind."""
        return Dice(*self.key(*what))

    def pinned(self, brief: Brief) -> Pinned | None:
        """The fixed outcome of this trial, for the persona's own seed and candidates only."""
        place = self.mood - 1
        if self.seed != self.persona.default_seed or not 0 <= place < len(self.persona.pinned):
            return None
        found = self.persona.pinned[place]
        same = set(found.totals) == {c.id for c in brief.candidates}
        scale = _question(brief, None).scale()
        fits = all(scale.low <= total <= scale.high for total in found.totals.values())
        return found if same and fits else None

    def opinion(self, brief: Brief) -> Opinion:
        """What this mind thinks of a task's candidates."""
        question = _question(brief, self.truth)
        if fixed := self.pinned(brief):
            order = sorted(fixed.totals, key=lambda c: -fixed.totals[c])
            return settle(question, fixed.totals, order)
        ids = fingerprint(*sorted(question.candidates))
        return opinion(self.persona.judgement, question, self.key("opinion", ids))

    def thinking(self, brief: Brief) -> tuple[int, int]:
        """Tokens of reasoning in this trial, and those of its largest block."""
        if fixed := self.pinned(brief):
            return fixed.reasoning_tokens, fixed.largest_block
        dice = self.dice("thinking")
        how = self.persona.reasoning
        total = round(dice.between(*how.tokens))
        return total, round(total * dice.between(*how.largest_share))


def _question(brief: Brief, truth: Truth | None) -> Question:
    criteria = brief.criteria
    if not criteria and brief.points:
        # A range without a rubric is one criterion that nobody is told about.
        low, high = brief.points.min, brief.points.max
        criteria = (Criterion(id="total", title="total", min=low, max=high),)
    return Question(tuple(c.id for c in brief.candidates), criteria, truth)
