"""Repetition: verbatim, counting and reworded loops, and long thought that does get on."""

from __future__ import annotations

import re
from dataclasses import replace

from evalstab.sim import prose, tokens
from evalstab.sim.desk import look, subjects
from evalstab.sim.dice import Dice
from evalstab.sim.faults.draft import Draft

_END = re.compile(r"(?<=[.!?“”]) ")
_COUNTED_CHARACTERS = 9_500
_RUNAWAY_TOKENS = 9_000
_ROUNDS = 10


def verbatim(draft: Draft, dice: Dice) -> bool:
    """One to three sentences again and again until the thought or the file ends."""
    free = [c for c in ("reasoning", "file") if c not in draft.taken and _ends(draft.text(c))]
    if not free:
        return False
    channel = dice.pick(free)
    text = draft.text(channel)
    onset = _onset(text, dice)
    before = text[:onset]
    starts = [0, *(end + 1 for end in _ends(before))]
    block = before[starts[-min(1 + dice.below(3), len(starts))] :].strip()
    copies = max(-(-dice.below(900) // max(tokens.count(block), 1)), 5)
    loop = " ".join([block] * copies)
    return _looped(draft, channel, f"{before} ", loop, "verbatim")


def counting(draft: Draft, dice: Dice) -> bool:
    """The same sentence with a number that goes up, for longer than 9,500 characters."""
    text = draft.text("reasoning")
    if "reasoning" in draft.taken or not _ends(text):
        return False
    onset = _onset(text, dice)
    block = text[:onset].rsplit(". ", 1)[-1].strip()
    word = "Schritt" if draft.language == "de" else "Step"
    lines: list[str] = []
    size = 0
    while size < _COUNTED_CHARACTERS:
        lines.append(f"{word} {len(lines) + 17}: {block}")
        size += len(lines[-1]) + 1
    return _looped(draft, "reasoning", f"{text[:onset]}\n\n", "\n".join(lines), "counter")


def _looped(draft: Draft, channel: str, before: str, loop: str, kind: str) -> bool:
    draft.set_text(channel, before + loop)
    draft.taken.add(channel)
    code = "reasoning.loop" if channel == "reasoning" else "text.loop"
    draft.enter(code, kind, channel, (len(before), len(before) + len(loop)))
    return True


def reworded(draft: Draft, dice: Dice) -> bool:
    """One candidate analysed again and again: the same facts and points in other words."""
    view = _view(draft)
    if view is None or "reasoning" in draft.taken:
        return False
    rich = [s for s in view.subjects if len(s.facts) >= 2]
    if not rich:
        return False
    subject = dice.pick(rich)
    few = replace(subject, facts=tuple(dice.shuffled(subject.facts)[:4]))
    rounds = []
    for number in range(_ROUNDS):
        writer = prose.Writer(draft.language, draft.mind.dice("again", draft.step, number))
        rounds.append(prose.take(prose.one(writer, view, few, len(view.criteria)), 600))
    text = draft.turn.reasoning
    loop = "\n\n".join(rounds)
    draft.set_text("reasoning", f"{text}\n\n{loop}")
    draft.taken.add("reasoning")
    place = (len(text) + 2, len(text) + 2 + len(loop))
    draft.enter("reasoning.reworded_loop", "reworded", "reasoning", place)
    return True


def runaway(draft: Draft, dice: Dice) -> bool:
    """Very long thought that keeps finding something new: no loop, and no finding is due."""
    view = _view(draft)
    if view is None or "reasoning" in draft.taken:
        return False
    writer = prose.Writer(draft.language, draft.mind.dice("runaway", draft.step))
    more = prose.take(prose.deeper(writer, view), _RUNAWAY_TOKENS + dice.below(2000))
    text = draft.turn.reasoning
    draft.set_text("reasoning", f"{text}\n\n{more}")
    draft.taken.add("reasoning")
    draft.enter("", "runaway", "reasoning", (len(text) + 2, len(text) + 2 + len(more)))
    return True


def _view(draft: Draft) -> prose.View | None:
    """What the model has in mind, where it thinks about its judgement."""
    brief, opinion = draft.conversation.brief, draft.turn.opinion
    if brief is None or opinion is None or not draft.turn.reasoning:
        return None
    return prose.View(subjects(brief, look(draft.conversation).texts), opinion, brief.criteria)


def _ends(text: str) -> list[int]:
    return [found.start() for found in _END.finditer(text)]


def _onset(text: str, dice: Dice) -> int:
    """A sentence's end in the second half of a text."""
    ends = _ends(text)
    return dice.pick(ends[len(ends) // 2 :])
