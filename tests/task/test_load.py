"""Finding, loading and hashing tasks."""

import os
import shutil
from pathlib import Path

import pytest

from evalstab.errors import TaskError
from evalstab.task.brief import opening_messages
from evalstab.task.load import find_task, known_tasks, load_task, shipped_tasks
from evalstab.tools.offers import offered_tools
from tests.task.task_making import small_task, toml_of, write_task


def test_a_name_is_looked_for_here_first_then_among_the_shipped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert find_task("three-notes") == shipped_tasks()["three-notes"]
    mine = write_task(tmp_path / "tasks" / "three-notes", toml_of())
    assert find_task("three-notes").resolve() == mine
    assert set(known_tasks()) >= {"three-notes", "eleven-profiles"}


def test_a_path_is_taken_as_it_is(tmp_path: Path) -> None:
    folder = write_task(tmp_path / "x", toml_of())
    assert find_task(str(folder)) == folder
    assert find_task(str(folder / "task.toml")) == folder


@pytest.mark.parametrize(
    ("ref", "said"),
    [("tree-notes", "three-notes"), ("nowhere/at/all", "no such task"), ("", "no such task")],
)
def test_an_unknown_task_names_the_nearest(ref: str, said: str) -> None:
    with pytest.raises(TaskError, match=said):
        find_task(ref)


def test_a_folder_without_a_task_says_so(tmp_path: Path) -> None:
    with pytest.raises(TaskError, match="holds no"):
        find_task(str(tmp_path))


def test_inputs_come_in_reading_order(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {"inputs/z.md": "last", "inputs/a/b.md": "first"}
    task = load_task(write_task(tmp_path, toml_of(), files))
    people = ["p/person_01.md", "p/person_02.md", "p/person_11.md"]
    assert list(task.inputs) == ["a/b.md", "z.md", *people]


def test_the_digest_does_not_depend_on_place_time_or_file_names(tmp_path: Path) -> None:
    task = small_task(tmp_path / "one")
    other = shutil.copytree(tmp_path / "one", tmp_path / "ö two")
    os.utime(other / "prompt.md", (1, 1))
    (other / "prompt.md").rename(other / "frage.md")
    toml = (other / "task.toml").read_text().replace("prompt.md", "frage.md")
    (other / "task.toml").write_text(f"# a comment\n{toml}".replace("\n", "\r\n"))
    assert load_task(other).digest == task.digest


@pytest.mark.parametrize(
    ("path", "old", "new"),
    [
        ("prompt.md", "Rank", "Order"),
        ("inputs/p/person_02.md", "Ben", "Bob"),
        ("task.toml", 'name = "Ben Ott"', 'name = "Ben Otto"'),
        ("task.toml", 'language = "de"', 'language = "de-AT"'),
        ("task.toml", 'format = "json"', 'format = "markdown-table"'),
        ("task.toml", 'prompt = "prompt.md"', 'prompt = "prompt.md"\npoints = { max = 9 }'),
    ],
)
def test_the_digest_changes_with_what_is_seen_or_judged(
    tmp_path: Path, path: str, old: str, new: str
) -> None:
    before = small_task(tmp_path).digest
    text = (tmp_path / path).read_text()
    assert old in text
    (tmp_path / path).write_text(text.replace(old, new))
    assert load_task(tmp_path).digest != before


def test_the_digest_changes_with_the_truth(tmp_path: Path) -> None:
    truth = '{"order": [["person_01"], ["person_02"], ["person_11"]], "totals": {%s}}'
    digests = set()
    for best in (3, 4):
        totals = f'"person_01": {best}, "person_02": 2, "person_11": 1'
        files: dict[str, str | bytes] = {"truth.json": truth % totals}
        folder = write_task(tmp_path / str(best), toml_of('truth = "truth.json"'), files)
        digests.add(load_task(folder).digest)
    assert len(digests) == 2


def test_overrides(tmp_path: Path) -> None:
    folder = write_task(tmp_path, toml_of())
    task = load_task(folder, {"task.tools": "typed", "task.limits.max_steps": "7"})
    assert (task.spec.tools, task.spec.limits.max_steps) == ("typed", 7)
    assert task.digest != load_task(folder).digest
    task = load_task(folder, {"task.offer": "read_file, write_file"})
    assert [tool.name for tool in offered_tools(task)] == ["read_file", "write_file"]


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("task.tool", "typed", "Did you mean 'task.tools'"),
        ("tools", "typed", "task.tools"),
        ("task.tools", "tipped", "'typed'"),
        ("task.limits.max_steps", "many", "whole number"),
    ],
)
def test_wrong_overrides_are_named(tmp_path: Path, key: str, value: str, said: str) -> None:
    with pytest.raises(TaskError, match=said):
        load_task(write_task(tmp_path, toml_of()), {key: value})


@pytest.mark.parametrize("name", ["three-notes", "eleven-profiles"])
def test_shipped_tasks_load(name: str) -> None:
    task = load_task(find_task(name))
    assert task.truth is not None
    assert len(task.digest) == 64


@pytest.mark.parametrize("mode", ["free", "typed"])
def test_three_notes_is_small(mode: str) -> None:
    task = load_task(find_task("three-notes"), {"task.tools": mode})
    prompt = sum(len(message["content"]) for message in opening_messages(task))
    tools = sum(len(str(tool.as_openai())) for tool in offered_tools(task))
    assert (prompt + tools) / 4 < 2000
    assert all(60 <= len(data.split()) <= 100 for data in task.inputs.values())
    assert list(task.inputs) == ["notes/note_a.md", "notes/note_b.md", "notes/note_c.md"]
    assert task.ranking.path == "ranking.json"
    assert task.spec.limits.max_steps == 12
