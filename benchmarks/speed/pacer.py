"""The server of these benchmarks: ``pacer.c``, built and started for as long as it is needed."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

SOURCE = Path(__file__).with_name("pacer.c")
NO_COMPILER = "there is no C compiler (cc) to build the pacer with"


@dataclass(frozen=True, slots=True)
class Pacer:
    """A running pacer: its address below ``/v1``, where it writes its times, its id."""

    url: str
    log: Path
    process: int

    def sends(self) -> dict[int, list[float]]:
        """For each answer by its ID: monotonic seconds of the request and of every chunk's send."""
        rows = (line.split() for line in self.log.read_text().splitlines())
        return {int(row[0]): [int(stamp) / 1e9 for stamp in row[1:]] for row in rows}

    def rates(self, identity: int) -> list[float]:
        """Chunks a second, from first to last, of every answer with this ID."""
        found = []
        for line in self.log.read_text().splitlines():
            number, _, *stamps = map(int, line.split())
            if number == identity:
                found.append((len(stamps) - 1) * 1e9 / (stamps[-1] - stamps[0]))
        return found


def compiler() -> str | None:
    """The C compiler, None where there is none."""
    return shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")


@contextmanager
def pacing() -> Iterator[Pacer]:
    """A pacer on a free port of loopback; RuntimeError where it cannot be built."""
    cc = compiler()
    if cc is None:
        raise RuntimeError(NO_COMPILER)
    with tempfile.TemporaryDirectory(prefix="evalstab-pacer-") as place:
        program, log = Path(place) / "pacer", Path(place) / "sends.txt"
        subprocess.run([cc, "-O2", "-o", str(program), str(SOURCE)], check=True)
        with subprocess.Popen([program, log], stdout=subprocess.PIPE, text=True) as server:
            try:
                assert server.stdout is not None
                yield Pacer(server.stdout.readline().split()[1] + "/v1", log, server.pid)
            finally:
                server.kill()


def paced(identity: int, rate: int, chunks: int, first_ms: int = 0) -> str:
    """The model name that asks for chunks at a rate (a second; 0: as fast as possible)."""
    return f"pace-{identity}-{rate}-{chunks}-{first_ms}"


def scripted(steps: int, chunks: int) -> str:
    """The model name that asks for an agent's conversation of so many steps."""
    return f"agent-{steps}-{chunks}"
