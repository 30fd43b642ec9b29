"""Everything in one run: ``python -m benchmarks.speed [--quick] [--peers DIR] [SECTION …]``."""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from benchmarks.speed import agent, client, peer_clients, scoring, startup, timing
from benchmarks.speed.pacer import NO_COMPILER, compiler, pacing
from benchmarks.speed.peers import Peers
from benchmarks.speed.result import Section, table

RESULTS = Path(__file__).parents[1] / "results"
LIBRARIES = ("aiohttp", "msgspec", "numpy", "openai", "regex", "scipy", "typer")
PACED = ("client", "timing", "agent", "peers")
SECTIONS = (*PACED, "startup", "scoring")


def main() -> int:
    """Run the sections, print ratios, keep the results; 0 whatever the figures are."""
    options = _options()
    peers = Peers(options.peers)
    failed = peers.install()
    sections = []
    for name in options.sections or SECTIONS:
        section = _section(name, peers, options.quick)
        section.skipped |= failed
        sections.append(section)
        _show(section, options.quick)
    document = {
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "quick": options.quick,
        "machine": machine(),
        "peers": peers.versions(),
        "sections": {section.name: section.as_json() for section in sections},
    }
    if options.out is not None:
        options.out.parent.mkdir(parents=True, exist_ok=True)
        options.out.write_text(json.dumps(document, indent=1) + "\n")
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.speed")
    parser.add_argument("sections", nargs="*", choices=[[], *SECTIONS])
    parser.add_argument("--quick", action="store_true", help="small, and no goal is judged")
    parser.add_argument("--peers", type=Path, help="make (or find) the peers' environments here")
    parser.add_argument("--out", type=Path, help="results as JSON (default: benchmarks/results/)")
    options = parser.parse_args()
    if options.out is None and not options.quick:
        options.out = RESULTS / f"{datetime.now(UTC):%Y%m%d-%H%M%S}.json"
    return options


def _section(name: str, peers: Peers, quick: bool) -> Section:
    alone: dict[str, Callable[[], Section]] = {
        "startup": lambda: startup.run(peers, quick),
        "scoring": lambda: scoring.run(quick),
    }
    if name in alone:
        return alone[name]()
    if compiler() is None:
        return Section(name, skipped={name: NO_COMPILER})
    with pacing() as pacer:
        if name in ("agent", "peers"):
            return (agent if name == "agent" else peer_clients).run(pacer, peers, quick)
        return (client if name == "client" else timing).run(pacer, quick)


def machine() -> dict[str, Any]:
    """Where this ran; ``load`` is the load average at the end."""
    return {
        "cpu": _cpu_name(),
        "cores": os.cpu_count(),
        "system": platform.platform(),
        "python": platform.python_version(),
        "load": os.getloadavg()[0],
        "libraries": {name: version(name) for name in LIBRARIES},
    }


def _cpu_name() -> str:
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.processor())


def _show(section: Section, quick: bool) -> None:
    print(f"\n## {section.name}\n\n{table(section.rows)}\n")
    for goal in () if quick else section.goals:
        print(f"- {goal}")
    for what, reason in section.skipped.items():
        print(f"- left out: {what}: {reason}")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
