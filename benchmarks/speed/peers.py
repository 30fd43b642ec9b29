"""Other tools on the same work, each in a virtual environment of its own."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PACKAGES = {"inspect-ai": ["inspect-ai", "openai"], "guidellm": ["guidellm"]}
PACKAGES["llama-benchy"] = ["llama-benchy"]
MINUTES = 10
_HERE = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class Peers:
    """Where the environments stand; None: no peer was asked for (``--peers DIR``)."""

    place: Path | None = None

    def install(self) -> dict[str, str]:
        """Make the environments that are missing; returns the peers that failed, and why."""
        if self.place is None:
            return {}
        failed = {}
        for name, packages in PACKAGES.items():
            home = self.place / name
            if (home / "bin" / "pip").exists() and _answers(home, packages[0]):
                continue
            subprocess.run([sys.executable, "-m", "venv", str(home)], check=True)
            pip = [str(home / "bin" / "pip"), "install", "-q", *packages]
            done = subprocess.run(pip, capture_output=True, text=True, check=False)
            if done.returncode:
                failed[name] = (done.stderr.strip().splitlines() or ["pip failed"])[-1]
        return failed

    def versions(self) -> dict[str, str]:
        """The versions of those that are there."""
        found = {}
        for name in PACKAGES:
            if self.place is not None and (self.place / name).is_dir():
                pip = [str(self.place / name / "bin" / "pip"), "show", name]
                told = subprocess.run(pip, capture_output=True, text=True, check=False).stdout
                if version := re.search(r"^Version: (.+)$", told, re.MULTILINE):
                    found[name] = version.group(1)
        return found

    def inspect(self, url: str, model: str, trials: int, *, stream: bool) -> dict[str, Any] | str:
        """Wall and CPU seconds of inspect's agent, or why there are none."""
        arguments = [_HERE / "inspect_agent.py", url, model, trials, stream]
        done = self.command("inspect-ai", "python", arguments)
        if isinstance(done, str):
            return done
        line = next((x for x in done["out"].splitlines() if x.startswith("RESULT ")), None)
        return json.loads(line[7:]) if line else f"inspect said nothing: {done['out'][-200:]}"

    def help_seconds(self, name: str, program: str) -> dict[str, Any] | str:
        """Wall and CPU seconds of ``PROGRAM --help``, or why there are none."""
        return self.command(name, program, ["--help"])

    def command(self, name: str, program: str, arguments: list[Any]) -> dict[str, Any] | str:
        """Output, wall and CPU seconds of a peer's program, or why there are none."""
        if self.place is None:
            return "no peers asked for (--peers DIR)"
        path = self.place / name / "bin" / program
        if not path.exists():
            return f"{name} is not installed"
        before, start = os.times(), time.perf_counter()
        done = subprocess.run(
            [str(path), *map(str, arguments)],
            capture_output=True,
            text=True,
            check=False,
            timeout=60 * MINUTES,
            env={**os.environ, "HF_HUB_OFFLINE": "1"},
        )
        after = os.times()
        if done.returncode:
            return f"{name} failed: {(done.stderr or done.stdout).strip()[-300:]}"
        cpu = after.children_user + after.children_system
        cpu -= before.children_user + before.children_system
        return {"out": done.stdout, "wall_s": time.perf_counter() - start, "cpu_s": cpu}


def _answers(home: Path, package: str) -> bool:
    show = [str(home / "bin" / "pip"), "show", "-q", package]
    return subprocess.run(show, capture_output=True, check=False).returncode == 0
