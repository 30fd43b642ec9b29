"""Programs and files of a machine: this one, or another over ssh; always with a deadline.

Nothing here raises for what the other side does: a program that is missing, hangs or fails is an
answer that says so.
"""

from __future__ import annotations

import contextlib
import os
import shlex
import signal
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from evalstab.errors import ConfigError

OUTPUT_LIMIT = 4 << 20
SSH = ("ssh", "-o", "BatchMode=yes", "-o", "ConnectTimeout=5")
SSH_FAILED = 255


@dataclass(frozen=True, slots=True)
class Ran:
    """What came of a program: exit code (None: it did not end), output, and why it failed."""

    code: int | None
    out: str = ""
    err: str = ""
    problem: str | None = None

    @property
    def well(self) -> bool:
        """Whether it ran and said that all is well."""
        return self.code == 0


@dataclass(frozen=True, slots=True)
class Reach:
    """A machine by its ssh name; ``None`` is the one we run on. ConfigError for no name at all."""

    host: str | None = None

    def __post_init__(self) -> None:
        if self.host is not None and (not self.host.strip() or self.host.startswith("-")):
            raise ConfigError(f"ssh = {self.host!r} is no host: write a name that `ssh NAME` takes")

    def run(self, argv: Sequence[str], *, seconds: float = 10.0) -> Ran:
        """Run a program there; after ``seconds`` it is killed and that is the answer."""
        command = list(argv)
        if self.host is not None:
            command = [*SSH, self.host, "--", shlex.join(argv)]
        try:
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
        except OSError as error:
            return Ran(None, problem=f"{command[0]}: {error.strerror or error}")
        with process:
            try:
                out, err = process.communicate(timeout=seconds)
            except subprocess.TimeoutExpired:
                _end(process)
                return Ran(None, problem=f"{argv[0]} did not answer within {seconds:g} s")
        return self._judged(argv, process.returncode, out[:OUTPUT_LIMIT], err[:OUTPUT_LIMIT])

    def read(self, path: str | Path) -> str | None:
        """The text of a file there, None where it cannot be read."""
        if self.host is None:
            try:
                with Path(path).open("rb") as file:
                    return file.read(OUTPUT_LIMIT).decode("utf-8", "replace")
            except OSError:
                return None
        ran = self.run(["cat", "--", str(path)])
        return ran.out if ran.well else None

    def _judged(self, argv: Sequence[str], code: int, out: bytes, err: bytes) -> Ran:
        said = err.decode("utf-8", "replace")
        problem = None
        if code != 0:
            last = said.strip().splitlines()[-1:] or [f"exit code {code}"]
            where = "ssh" if self.host is not None and code == SSH_FAILED else argv[0]
            problem = f"{where}: {last[0][:300]}"
        return Ran(code, out.decode("utf-8", "replace"), said, problem)


def _end(process: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.communicate(timeout=1)
