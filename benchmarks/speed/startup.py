"""Section 5: what the command line costs before it does anything."""

from __future__ import annotations

import resource
import subprocess
import sys
from pathlib import Path

from benchmarks.speed.peers import PACKAGES, Peers
from benchmarks.speed.result import Goal, Section

PROGRAMS = {"inspect-ai": "inspect", "guidellm": "guidellm", "llama-benchy": "llama-benchy"}


def run(peers: Peers, quick: bool) -> Section:
    """CPU time of whole processes, the least of a few."""
    section = Section("startup")
    times = 1 if quick else 10
    evalstab = [sys.executable, "-m", "evalstab"]
    commands = {
        "python": [sys.executable, "-c", "pass"],
        "import typer, rich": [sys.executable, "-c", "import typer, rich"],
        "import openai": [sys.executable, "-c", "import openai"],
        "evalstab --help": [*evalstab, "--help"],
        "evalstab run --help": [*evalstab, "run", "--help"],
        "evalstab task list": [*evalstab, "task", "list"],
    }
    found = {name: min(_cpu(command) for _ in range(times)) for name, command in commands.items()}
    base = found["import typer, rich"]
    for name in PACKAGES:
        told = "quick mode" if quick else peers.help_seconds(name, PROGRAMS[name])
        if isinstance(told, str):
            section.skipped[f"{name} --help"] = told
        else:
            again = peers.help_seconds(name, PROGRAMS[name])
            least = min(told["cpu_s"], again["cpu_s"] if isinstance(again, dict) else 1e9)
            found[f"{PROGRAMS[name]} --help"] = least
    for name, seconds in found.items():
        row = {"process": name, "cpu_ms": seconds * 1e3, "x typer and rich": seconds / base}
        section.rows.append(row)
    section.goals = [
        Goal("evalstab --help over importing typer and rich", found["evalstab --help"] / base, 1.5)
    ]
    return section


def _cpu(command: list[str]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True, cwd=Path(__file__).parents[2])
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
