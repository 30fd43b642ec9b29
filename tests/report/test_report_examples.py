"""The committed example reports are what this version would write."""

from __future__ import annotations

import runpy
import xml.etree.ElementTree as ET
from collections import Counter
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "reports" / "examples"
REFRESH = runpy.run_path(str(EXAMPLES / "refresh.py"))


def structure(svg: str) -> tuple[Counter[str], list[str], list[str | None]]:
    """Elements by name, labels in order, and ids of the drawn series."""
    root = ET.fromstring(svg)
    named = [e.get("id") for e in root.iter() if "-" in (e.get("id") or "")]
    texts = ["".join(e.itertext()) for e in root.iter() if e.tag.endswith("}text")]
    return Counter(e.tag for e in root.iter()), texts, named


@pytest.mark.parametrize("name", sorted(REFRESH["EXAMPLES"]))
def test_an_example_is_up_to_date(name: str, tmp_path: Path) -> None:
    page, *plots = REFRESH["build"](name, tmp_path)
    committed = EXAMPLES / name
    assert page.read_bytes() == (committed / "report.md").read_bytes()
    assert {p.name for p in plots} == {p.name for p in (committed / "plots").iterdir()}
    for plot in plots:
        expected = (committed / "plots" / plot.name).read_text(encoding="utf-8")
        assert structure(plot.read_text(encoding="utf-8")) == structure(expected)


def test_every_example_has_a_series() -> None:
    folders = {entry.name for entry in EXAMPLES.iterdir() if entry.is_dir()} - {"__pycache__"}
    assert folders == set(REFRESH["EXAMPLES"])
