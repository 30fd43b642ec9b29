"""Puts a run into the README: ``python -m benchmarks.speed.page benchmarks/results/last.json``."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.speed.result import table

README = Path(__file__).parents[1] / "README.md"
BEGIN, END = "<!-- last run -->", "<!-- end of last run -->"


def main() -> None:
    """Rewrite what stands between the two marks."""
    run = json.loads(Path(sys.argv[1]).read_text())
    before, _, rest = README.read_text().partition(BEGIN)
    after = rest.partition(END)[2]
    README.write_text(f"{before}{BEGIN}\n{chr(10).join(_lines(run))}\n{END}{after}")


def _lines(run: dict[str, Any]) -> Iterator[str]:
    machine = run["machine"]
    libraries = ", ".join(
        f"{name} {v}" for name, v in (machine["libraries"] | run["peers"]).items()
    )
    yield f"\n{run['at']}, {machine['cpu']}, {machine['cores']} cores, {machine['system']}, "
    yield f"Python {machine['python']}, load average {machine['load']:.1f} at the end; "
    yield f"{libraries}.\n"
    goals = [goal for section in run["sections"].values() for goal in section["goals"]]
    yield table([_goal(goal) for goal in goals])
    for name, section in run["sections"].items():
        yield f"\n### {name}\n"
        yield table(section["rows"])
        for what, reason in section["skipped"].items():
            yield f"\nLeft out: {what} ({reason})."


def _goal(goal: dict[str, Any]) -> dict[str, Any]:
    limit = f"{'≥' if goal['least'] else '≤'} {goal['limit']:.3g}"
    met = "yes" if goal["met"] else "**no**"
    return {"goal": goal["name"], "limit": limit, "measured": goal["value"], "met": met}


if __name__ == "__main__":
    main()
