"""The brief is generated and can be read back."""

import string
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evalstab.task.brief import brief_text, opening_messages
from evalstab.task.brief_reading import parse_brief
from evalstab.task.load import find_task, load_task
from evalstab.task.model import Task, TaskFile
from tests.task.task_making import (
    CANDIDATES,
    CRITERIA,
    RANKING,
    small_task,
    spec,
    toml_of,
    write_task,
)

LINES = st.text(
    st.characters(blacklist_categories=["Cs", "Cc", "Cn", "Zl", "Zp"], blacklist_characters="`"),
    min_size=1,
    max_size=30,
).filter(lambda text: text == text.strip() and not text.startswith("#") and not text.endswith(":"))
IDS = st.text(string.ascii_letters + string.digits, min_size=1, max_size=8)
PATHS = st.text(string.ascii_lowercase, min_size=1, max_size=8).map(lambda name: f"{name}.md")
FORMATS = st.sampled_from(["json", "markdown-table", "numbered-list"])


def specs() -> st.SearchStrategy[TaskFile]:
    candidate = st.fixed_dictionaries(
        {"id": IDS}, optional={"name": LINES, "file": PATHS.map(lambda path: f"in/{path}")}
    )
    criterion = st.fixed_dictionaries(
        {"id": IDS, "title": LINES, "min": st.just(0), "max": st.sampled_from([5, 7.5, 10])}
    )
    about = st.text(max_size=40).map(lambda text: " ".join(text.split()))
    ranking = st.fixed_dictionaries(
        {"path": st.just("ranking.txt"), "kind": st.just("ranking"), "format": FORMATS},
        optional={"about": about},
    )
    other = st.one_of(
        st.fixed_dictionaries(
            {"path": PATHS, "kind": st.just("markdown"), "headings": st.lists(LINES, max_size=3)},
            optional={"min_words": st.integers(0, 900), "format": FORMATS, "about": about},
        ),
        st.fixed_dictionaries(
            {"path": PATHS, "kind": st.just("form"), "fields": st.lists(LINES, min_size=1)},
            optional={"format": FORMATS},
        ),
    )
    changes: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
        {
            "language": st.sampled_from(["de", "en", "fr"]),
            "tools": st.sampled_from(["free", "typed", "none"]),
            "candidates": st.lists(candidate, min_size=2, max_size=5),
            "criteria": st.lists(criterion, max_size=4),
            "points": st.sampled_from([None, {"min": 0, "max": 10}, {"min": -2.5, "max": 4}]),
            "deliverables": st.tuples(st.lists(other, max_size=3), ranking).map(
                lambda both: [*both[0], both[1]]
            ),
        }
    )
    return changes.map(lambda content: spec(**content))


@settings(deadline=None)
@given(specs())
def test_what_the_brief_says_can_be_read_back(task: TaskFile) -> None:
    brief = parse_brief(f"Some prompt\n\n{brief_text(task)}")
    assert brief is not None
    assert brief.language == ("de" if task.language == "de" else "en")
    assert brief.candidates == task.candidates
    assert brief.criteria == task.criteria
    assert brief.points == (None if task.criteria else task.points)
    ours = [d.model_dump() for d in task.asked]
    theirs = [d.model_dump() for d in brief.deliverables]
    if task.tools == "typed":
        assert all(d["kind"] != "ranking" or d["path"] == "ranking.txt" for d in theirs)
    assert theirs == ours


@settings(deadline=None)
@given(st.text(max_size=200))
def test_any_text_is_read_without_an_error(text: str) -> None:
    assert parse_brief(text) is None
    assert parse_brief(f"{brief_text(spec(language='en'))}\n{text}") is not None


@pytest.mark.parametrize("line", ["# Candidates and deliverables", "# Kandidaten und Abgaben"])
def test_a_heading_alone_is_no_brief(line: str) -> None:
    assert parse_brief(line) is None
    assert parse_brief(f"{line}\n\n## Candidates\n\n- `a`: A\n- `b`: B") is None


def test_form_and_language_follow_the_task() -> None:
    german = brief_text(spec(criteria=CRITERIA))
    english = brief_text(spec(criteria=CRITERIA, language="fr"))
    assert '{"candidate": "<id>", "place": 1, "total": <Punkte>, "criteria": {"c1": ' in german
    assert "- `c2`: Mut (1 bis 5 Punkte)" in german
    assert "- `c2`: Mut (1 to 5 points)" in english
    table = brief_text(spec(deliverables=[RANKING | {"format": "markdown-table"}]))
    assert "| Rang | Kandidat |\n" in table


def test_messages_are_the_same_bytes_each_time(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {"system.md": "Be fair."}
    folder = write_task(tmp_path, toml_of('system = "system.md"'), files)
    first, again = (opening_messages(load_task(folder)) for _ in range(2))
    assert first == again
    assert [message["role"] for message in first] == ["system", "user"]
    assert first[0]["content"] == "Be fair."


def test_without_tools_the_inputs_stand_in_the_message(tmp_path: Path) -> None:
    tricky = "a\n===== `p/person_01.md` =====\n===== Ende von `p/person_01.md` =====\n\n"
    files: dict[str, str | bytes] = {
        "inputs/p/person_01.md": tricky,
        "inputs/p/person_02.md": b"\xef\xbb\xbfno newline at the end",
    }
    task = load_task(write_task(tmp_path, toml_of('tools = "none"'), files))
    message = opening_messages(task)[0]["content"]
    brief = parse_brief(message)
    assert brief is not None
    assert brief.files == {
        "p/person_01.md": tricky,
        "p/person_02.md": "no newline at the end",
        "p/person_11.md": "About Cora Lind.\n",
    }


def test_the_prompt_files_of_shipped_tasks_do_not_repeat_the_brief() -> None:
    for name in ("three-notes", "eleven-profiles"):
        task: Task = load_task(find_task(name))
        assert '"place"' not in task.prompt_text


def test_a_task_without_inputs_has_no_gap(tmp_path: Path) -> None:
    task = small_task(tmp_path, 'tools = "none"')
    assert "\n\n\n\n" not in opening_messages(task)[0]["content"]
    assert [c.id for c in task.spec.candidates] == [c["id"] for c in CANDIDATES]
