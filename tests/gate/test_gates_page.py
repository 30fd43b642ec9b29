"""What docs/gates.md and docs/compare.md show is run as it stands."""

from __future__ import annotations

import re
import shlex
import tomllib
from pathlib import Path

import pytest

from evalstab.gate.keys import COUNTS, PREFIXES
from evalstab.gate.looks import require_possible
from evalstab.gate.policy import parse_policy
from evalstab.statistics.intervals import min_trials_for_tau
from tests.cli.program import evalstab

DOCS = Path(__file__).parent.parent.parent / "docs"
PAGE = (DOCS / "gates.md").read_text(encoding="utf-8")


def blocks(text: str, language: str) -> list[str]:
    """Code blocks of one language."""
    return re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)


def test_the_policy_is_a_policy() -> None:
    (text,) = blocks(PAGE, "toml")
    policy = parse_policy(tomllib.loads(text), "docs/gates.md")
    require_possible(policy, 11)
    assert {rule.kind for rule in policy.rules} == {"metric", "count", "rate", "value"}


@pytest.mark.parametrize("page", ["gates.md", "compare.md"])
def test_the_commands_do_what_the_page_says(page: str, tmp_path: Path) -> None:
    (text,) = blocks((DOCS / page).read_text(encoding="utf-8"), "console")
    for line in text.splitlines():
        dollar, program, *arguments = shlex.split(line)
        assert (dollar, program) == ("$", "evalstab")
        done = evalstab(*arguments, cwd=tmp_path)
        assert done.returncode == 0, f"{line}\n{done.stderr}"


def test_every_count_is_explained() -> None:
    for key in (*COUNTS, *PREFIXES):
        assert f"`{key}" in PAGE, key


def test_the_numbers_of_trials_are_right() -> None:
    assert [min_trials_for_tau(t) for t in (0.5, 0.6, 0.7, 0.8)] == [10, 13, 18, 28]
    assert "10, 13, 18, 28 for a tau of .5, .6, .7,\n.8" in PAGE


def test_the_characteristics_are_there() -> None:
    made = PAGE.partition("<!-- generated: characteristics -->")[2]
    for name in ("acceptance", "nightly"):
        assert f"### {name}" in made
    rows = [line for line in made.splitlines() if line.startswith("| unstable ")]
    assert len(rows) == 2
    for row in rows:
        passes = float(row.split("|")[3].strip().rstrip("%"))
        assert passes < 1
