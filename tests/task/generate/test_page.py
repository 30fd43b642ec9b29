"""The page on making tasks: its example works, its table is that of the code."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from evalstab.task.check import mistakes_in
from evalstab.task.generate.plan import DIFFICULTIES
from evalstab.task.generate.request import CHARS_PER_TOKEN, DOMAINS, LARGEST, SMALLEST

PAGE = (Path(__file__).parents[3] / "docs" / "task-make.md").read_text(encoding="utf-8")


def test_the_example_makes_a_task(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (example,) = re.findall(r"^```python\n(.*?)^```", PAGE, re.S | re.M)
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    exec(compile(example, "task-make.md", "exec"), names)
    assert mistakes_in(tmp_path / "bids-8k") == []
    assert isinstance(names["deepest"], float)


def test_the_page_states_what_the_code_does() -> None:
    for name in (*DOMAINS, *DIFFICULTIES):
        assert f"`{name}`" in PAGE
    assert f"{SMALLEST} to {LARGEST}" in PAGE
    for ratio in CHARS_PER_TOKEN.values():
        assert str(ratio) in PAGE
    cells = re.findall(r"^\| (?:points between|figures that)[^|]*\|(.*)\|$", PAGE, re.M)
    margins, asides = ([cell.strip() for cell in row.split("|")] for row in cells)
    for difficulty, margin, aside in zip(DIFFICULTIES.values(), margins, asides, strict=True):
        assert [int(n) for n in re.findall(r"\d", margin)] == list(difficulty.gaps)
        assert (aside.replace("none", "0")) == str(difficulty.asides)
