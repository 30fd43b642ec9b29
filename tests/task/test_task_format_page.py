"""The page on the task format: its examples are valid and it names every key."""

import json
import re
from pathlib import Path

import pytest

from evalstab.task import model
from evalstab.task.check import mistakes_in
from evalstab.task.draft import SETTABLE
from evalstab.task.load import load_task
from evalstab.task.ranking_json import read_json

PAGE = (Path(__file__).parents[2] / "docs" / "task-format.md").read_text(encoding="utf-8")
TOMLS = re.findall(r"^```toml\n(.*?)^```", PAGE, re.S | re.M)
JSONS = re.findall(r"^```json\n(.*?)^```", PAGE, re.S | re.M)


def write(folder: Path, toml: str) -> Path:
    files = re.findall(r'^file = "(.*)"', toml, re.M)
    texts = {f"inputs/{path}": "Some text.\n" for path in files}
    texts |= {"prompt.md": "Rank.\n", "system.md": "Be fair.\n", "truth.json": JSONS[1]}
    for path, text in {**texts, "task.toml": toml}.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")
    return folder


@pytest.mark.parametrize("toml", TOMLS)
def test_the_examples_are_tasks_without_mistakes(tmp_path: Path, toml: str) -> None:
    assert mistakes_in(write(tmp_path, toml)) == []


def test_the_example_ranking_fits_the_example_task(tmp_path: Path) -> None:
    task = load_task(write(tmp_path, TOMLS[1]))
    ranking, whole = read_json(JSONS[0], task.spec)
    assert whole
    assert task.truth is not None
    assert ranking.groups == task.truth.order
    assert ranking.criteria == task.truth.criteria
    assert not ranking.arithmetic + ranking.against_totals + ranking.missing
    assert json.loads(JSONS[1])["totals"] == ranking.totals


def test_every_key_and_setting_is_named() -> None:
    parts = (model.TaskFile, model.Candidate, model.Criterion, model.Deliverable, model.Limits)
    keys = {key for part in parts for key in part.model_fields}
    assert {key for key in keys if f"`{key}`" not in PAGE} == set()
    assert {key for key in SETTABLE if key not in PAGE} == set()
