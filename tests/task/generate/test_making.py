"""What is made is a task without mistakes, and the same on every machine."""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from evalstab.errors import TaskError
from evalstab.task.brief import opening_messages
from evalstab.task.brief_reading import parse_brief
from evalstab.task.check import mistakes_in
from evalstab.task.generate.build import VERSION
from evalstab.task.generate.facts import FACTS_FILE, read_facts
from evalstab.task.load import load_task
from tests.task.generate.making import KINDS, inputs, made

_PROGRAM = """
import sys
from pathlib import Path
from tests.task.generate.making import made
from tests.task.generate.test_making import fingerprint
out = Path(sys.argv[1])
print(fingerprint(made(out, difficulty="hard", candidates=6)))
"""
GOLDEN = "f27db5f9ad9a54f64dbb81d810c6a8ce2784329635b8f1ae41d9eee280abbd37"
"""Of one small task; a change needs another VERSION, as old seeds then give other tasks."""
_ROOT = Path(__file__).resolve().parents[3]


def fingerprint(folder: Path) -> str:
    """Sha256 over all paths and bytes of a folder."""
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*"), key=lambda p: p.relative_to(folder).as_posix()):
        if path.is_file():
            digest.update(path.relative_to(folder).as_posix().encode() + b"\0")
            digest.update(path.read_bytes() + b"\0")
    return digest.hexdigest()


def test_the_same_bytes_whatever_hash_seed_locale_and_time_zone(tmp_path: Path) -> None:
    found = set()
    for number, (seed, zone, locale) in enumerate(
        [("0", "UTC", "C"), ("1", "Asia/Tokyo", "C.UTF-8"), ("4242", "America/Lima", "POSIX")]
    ):
        environment = {
            **os.environ,
            "PYTHONHASHSEED": seed,
            "TZ": zone,
            "LC_ALL": locale,
            "PYTHONPATH": str(_ROOT),
        }
        done = subprocess.run(
            [sys.executable, "-c", _PROGRAM, str(tmp_path / str(number))],
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        )
        found.add(done.stdout.strip())
    assert found == {fingerprint(made(tmp_path / "here", difficulty="hard", candidates=6))}


def test_another_seed_gives_another_task(tmp_path: Path) -> None:
    prints = {fingerprint(made(tmp_path / str(seed), seed=seed)) for seed in (1, 2, -3)}
    assert len(prints) == 3


@pytest.mark.parametrize("form", [False, True])
@pytest.mark.parametrize(("domain", "language"), KINDS)
def test_the_task_has_no_mistakes_and_its_brief_can_be_read(
    domain: str, language: str, form: bool, tmp_path: Path
) -> None:
    folder = made(tmp_path / "t", domain=domain, language=language, form=form)
    assert mistakes_in(folder) == []
    task = load_task(folder)
    assert task.truth is not None
    assert task.truth.criteria is not None
    kinds = [deliverable.kind for deliverable in task.spec.deliverables]
    assert kinds == ["ranking", "markdown", *(["form"] if form else [])]
    brief = parse_brief(opening_messages(task)[-1]["content"])
    assert brief is not None
    assert [c.file for c in brief.candidates] == [c.file for c in task.spec.candidates]
    assert brief.criteria == task.spec.criteria
    assert 6 <= len(brief.criteria) <= 16


def test_the_prompt_names_the_files_that_there_are(tmp_path: Path) -> None:
    for domain, language in KINDS:
        folder = made(tmp_path / f"{domain}-{language}", domain=domain, language=language)
        prompt = (folder / "prompt.md").read_bytes().decode()
        assert re.search(r"\b5\b", prompt)
        for path in inputs(folder):
            assert f"`{path.partition('/')[0]}" in prompt


def test_nothing_that_the_agent_reads_tells_the_truth(tmp_path: Path) -> None:
    folder = made(tmp_path / "t")
    assert sorted(path.name for path in folder.iterdir()) == [
        FACTS_FILE,
        "inputs",
        "prompt.md",
        "task.toml",
        "truth.json",
    ]
    task = load_task(folder)
    assert not {"truth.json", FACTS_FILE} & set(task.inputs)


def test_a_folder_that_holds_something_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(TaskError, match="something is there already"):
        made(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


def test_an_empty_folder_and_one_that_is_not_there_yet_are_fine(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    assert made(tmp_path / "empty") == tmp_path / "empty"
    assert made(tmp_path / "a" / "b") == tmp_path / "a" / "b"
    assert not list(tmp_path.glob(".make-task-*"))


def test_the_fact_sheet_says_how_the_task_was_made(tmp_path: Path) -> None:
    sheet = read_facts(made(tmp_path / "t", seed=9))
    assert sheet is not None
    assert (sheet.made.seed, sheet.made.version, sheet.made.candidates) == (9, VERSION, 5)
    assert read_facts(tmp_path) is None
    (tmp_path / FACTS_FILE).write_text("{}")
    with pytest.raises(TaskError, match="Make the task again"):
        read_facts(tmp_path)


def test_the_bytes_change_only_with_the_version(tmp_path: Path) -> None:
    folder = made(tmp_path / "t", candidates=4, context=9_000, difficulty="hard", form=True)
    assert (VERSION, fingerprint(folder)) == (1, GOLDEN)
