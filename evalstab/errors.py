"""The few errors that a user can cause or meet.

    EvalstabError                 never raised itself; carries the exit code
    ├── UsageError                the command line asks for something impossible      exit 2
    ├── InputError                a task, configuration, gate or folder is wrong      exit 3
    │   ├── TaskError             a task folder, with every mistake in it
    │   ├── ConfigError           evalstab.toml, a gate file, an option's value
    │   └── FolderError           a series folder that cannot be used as asked
    │       └── DiskError         the disk refused a write: full, read-only, not allowed
    ├── EndpointUnusable          nothing can be measured against this endpoint       exit 4
    └── Interrupted               Ctrl-C or SIGTERM; all finished steps are kept      exit 130

A fault of the model, of the endpoint in the middle of a trial, or of the rig is not an error but
data: a Finding in the record (see ``findings.py``). Exit codes 5 and 6 are verdicts, not errors,
and 1 is left to Python for a bug.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass


class EvalstabError(Exception):
    """Base of all errors that end a command with a clear message and an exit code."""

    exit_code = 3


class UsageError(EvalstabError):
    """The command line is understood but cannot be meant."""

    exit_code = 2


class InputError(EvalstabError):
    """Something that the user wrote (task, configuration, gate, folder) is wrong."""


class ConfigError(InputError):
    """A configuration file, gate file or setting is wrong; the text names place and mend."""


class FolderError(InputError):
    """A folder cannot be used as asked: another series, read-only, full, or not a series."""


class DiskError(FolderError):
    """The disk refused a write; what was written before stays.

    ``where`` says what could not be written and why, ``mend`` what to do about it (None where only
    another place helps), ``again`` how to go on then.
    """

    def __init__(
        self, where: str, mend: str | None, again: str = "give the same command again"
    ) -> None:
        self.where, self.mend = where, mend
        what = f"{mend}, then {again}" if mend else "choose another place with --out"
        super().__init__(f"{where}: {what}")

    def begun(self, command: str) -> DiskError:
        """The same error for work that was begun, with the command that goes on with it."""
        again = f"go on with `{command}`; all finished steps are kept"
        return DiskError(self.where, self.mend or "mend that", again)


@dataclass(frozen=True, slots=True)
class Mistake:
    """One mistake in a user's file: where it stands, what is wrong, how to mend it."""

    file: str
    key: str
    problem: str
    mend: str

    def __str__(self) -> str:
        place = f"{self.file}: {self.key}" if self.key else self.file
        return f"{place}: {self.problem}. {self.mend}"


class TaskError(InputError):
    """A task is wrong; holds every mistake found, not only the first."""

    def __init__(self, mistakes: Sequence[Mistake]) -> None:
        self.mistakes = tuple(mistakes)
        super().__init__("\n".join(str(m) for m in self.mistakes))


class EndpointUnusable(EvalstabError):
    """The endpoint cannot be measured: unreachable, refused key, unknown model, no chat API."""

    exit_code = 4


class Interrupted(EvalstabError):
    """The user stopped the command; every finished step is on disk."""

    exit_code = 130


NAMED = 20
"""Names that a message lists at most."""


def nearest(word: str, known: Iterable[str]) -> str:
    """The mend for an unknown word: the nearest known one, or all known ones."""
    words = sorted(known)
    near = difflib.get_close_matches(word, words, n=1, cutoff=0.5)
    if near:
        return f"Did you mean {near[0]!r}?"
    more = f" and {len(words) - NAMED} more" if len(words) > NAMED else ""
    return f"Known are: {', '.join(words[:NAMED])}{more}." if words else "None are known."
