"""Foreign characters joined to spans: bridged gaps, neighbouring punctuation, sources."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import groupby, pairwise

import regex

from .characters import COMMON, INHERITED, JAPANESE, Foreign, script_of
from .inputs import InputIndex

_MAX_GAP = 12
_BREAKER = regex.compile(r"[\n\r|\"`]|[.!?…]\s")
_INNER = regex.compile(r"[\s\p{M}\p{Cf}ー・·'’\-‐]*")


@dataclass(frozen=True, slots=True)
class Atom:
    """A run of characters of one class and, for letters, one script (ISO 15924 code)."""

    kind: Foreign
    script: str
    start: int
    end: int


@dataclass(slots=True)
class Run:
    """Letter atoms of one script group that belong together."""

    group: str
    start: int
    end: int
    atoms: list[Atom] = field(default_factory=list)
    copied: bool = False


def bridge(text: str, letters: list[Atom], odd: list[Atom]) -> tuple[list[Run], list[Atom]]:
    """Join letters over short gaps of Common characters; give back the odd atoms left alone.

    Not joined over a line break, `|`, `"`, a backtick, or the end of a sentence. Full-width
    forms and foreign punctuation that touch a run become part of it.
    """
    runs: list[Run] = []
    for atom in letters:
        group = "Hani" if atom.script in JAPANESE else atom.script
        if runs and runs[-1].group == group and _bridges(text, runs[-1].end, atom.start):
            runs[-1].end = atom.end
            runs[-1].atoms.append(atom)
        else:
            runs.append(Run(group, atom.start, atom.end, [atom]))
    return runs, _absorb(runs, odd)


def _bridges(text: str, start: int, end: int) -> bool:
    if end - start > _MAX_GAP:
        return False
    gap = text[start:end]
    return not _BREAKER.search(gap) and all(script_of(c) in (COMMON, INHERITED) for c in gap)


def _absorb(runs: list[Run], odd: list[Atom]) -> list[Atom]:
    alone: list[Atom] = []
    index = 0
    for atom in odd:
        while index < len(runs) - 1 and runs[index + 1].start <= atom.start:
            index += 1
        run = runs[index] if runs else None
        joins = atom.kind in ("punct", "width")
        if run and run.start <= atom.start and atom.end <= run.end:
            continue
        if run and joins and run.end == atom.start:
            run.end = atom.end
            continue
        alone.append(atom)
    left: list[Atom] = []
    index = len(runs) - 1
    for atom in reversed(alone):
        while index > 0 and runs[index - 1].start >= atom.end:
            index -= 1
        if runs and atom.kind in ("punct", "width") and runs[index].start == atom.end:
            runs[index].start = atom.start
        else:
            left.append(atom)
    return left[::-1]


def split_by_source(text: str, run: Run, inputs: InputIndex | None) -> Iterator[Run]:
    """The run marked as copied or not, cut where only parts of it stood in an input."""
    if inputs is None or inputs.has_foreign(text[run.start : run.end]):
        run.copied = inputs is not None
        yield run
        return
    marked = [
        (inputs.has_foreign(text[unit[0].start : unit[-1].end]), unit)
        for unit in _units(text, run.atoms)
    ]
    parts = [
        (copied, [atom for _, unit in group for atom in unit])
        for copied, group in groupby(marked, key=lambda item: item[0])
    ]
    for number, (copied, atoms) in enumerate(parts):
        start = run.start if number == 0 else atoms[0].start
        end = run.end if number == len(parts) - 1 else atoms[-1].end
        yield Run(run.group, start, end, atoms, copied)


def _units(text: str, atoms: list[Atom]) -> list[list[Atom]]:
    """Atoms in groups that only white space, hyphens or inner marks separate."""
    found = [[atoms[0]]]
    for before, atom in pairwise(atoms):
        if _INNER.fullmatch(text, before.end, atom.start):
            found[-1].append(atom)
        else:
            found.append([atom])
    return found
