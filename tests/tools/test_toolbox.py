"""The tools: what the model is told, and that nothing it says breaks anything."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evalstab.task.deliverables import check_deliverables
from evalstab.task.load import find_task, load_task
from evalstab.task.model import ANSWER_FILE
from evalstab.tools.offers import PAGE_CHARACTERS, offered_tools
from evalstab.tools.reading import MATCHES
from evalstab.tools.toolbox import Toolbox
from evalstab.tools.workspace import Workspace

NOTES = [f"notes/note_{letter}.md" for letter in "abc"]


def toolbox(folder: Path, mode: str = "free", offer: str | None = None) -> Toolbox:
    overrides = {"task.tools": mode} | ({"task.offer": offer} if offer else {})
    task = load_task(find_task("three-notes"), overrides)
    return Toolbox(task, Workspace.create(folder / "workspace", task.inputs))


@pytest.fixture
def tools(tmp_path: Path) -> Toolbox:
    return toolbox(tmp_path)


def names(box: Toolbox) -> list[str]:
    return [tool.name for tool in box.offered]


def test_what_each_mode_offers(tmp_path: Path) -> None:
    free = ["list_files", "read_file", "search_files", "write_file", "edit_file"]
    assert names(toolbox(tmp_path / "free")) == free
    assert names(toolbox(tmp_path / "typed", "typed")) == ["read_file", "submit_ranking"]
    assert names(toolbox(tmp_path / "none", "none")) == []
    few = toolbox(tmp_path / "few", offer="read_file,write_file")
    assert names(few) == ["read_file", "write_file"]
    assert "no tool named 'list_files'" in few.call("list_files", {}).text


def test_typed_tools_name_paths_and_candidates() -> None:
    task = load_task(find_task("eleven-profiles"), {"task.tools": "typed"})
    read, write, submit = (tool.parameters["properties"] for tool in offered_tools(task))
    assert read["path"]["enum"] == list(task.inputs)
    assert write["path"]["enum"] == [d.path for d in task.spec.deliverables if d.kind != "ranking"]
    entries = submit["ranking"]
    assert (entries["minItems"], entries["maxItems"]) == (11, 11)
    assert entries["items"]["properties"]["candidate"]["enum"] == list(task.candidates)
    assert len(entries["items"]["properties"]["criteria"]["required"]) == 16
    assert [tool.terminal for tool in offered_tools(task)] == [False, False, True]


def test_list_and_read(tools: Toolbox) -> None:
    listed = tools.call("list_files", {})
    assert [line.split(" (")[0] for line in listed.text.split("\n")] == NOTES
    read = tools.call("read_file", {"path": "./notes/note_a.md"})
    assert read.text.startswith("# Note A\n")
    assert (read.path, read.wrote, read.error) == ("notes/note_a.md", False, None)


def test_reading_in_pages(tools: Toolbox) -> None:
    tools.call("write_file", {"path": "long.md", "content": "".join(f"{n}\n" for n in range(1, 8))})
    page = tools.call("read_file", {"path": "long.md", "offset": 2, "limit": 3}).text
    assert page == "2\n3\n4\n[lines 2 to 4 of 7; read on with offset 5]"
    last = tools.call("read_file", {"path": "long.md", "offset": 5.0}).text
    assert last == "5\n6\n7\n[lines 5 to 7 of 7; end of the file]"
    beyond = tools.call("read_file", {"path": "long.md", "offset": 8})
    assert beyond.error == "the file has 7 lines. Use an offset from 1 to 7"


def test_a_text_longer_than_a_page(tools: Toolbox) -> None:
    line = "x" * (PAGE_CHARACTERS - 10)
    tools.call("write_file", {"path": "a.md", "content": f"{line}\n{line}{line}\nend"})
    first = tools.call("read_file", {"path": "a.md"}).text
    assert first == f"{line}\n[lines 1 to 1 of 3; read on with offset 2]"
    second = tools.call("read_file", {"path": "a.md", "offset": 2}).text
    assert second.split("\n")[1:] == [
        f"[line 2 is longer than {PAGE_CHARACTERS} characters]",
        "[lines 2 to 2 of 3; read on with offset 3]",
    ]
    assert tools.call("write_file", {"path": "e.md", "content": ""}).wrote
    assert tools.call("read_file", {"path": "e.md"}).text == "[the file is empty]"


def test_search(tools: Toolbox) -> None:
    assert tools.call("search_files", {"pattern": "DECIBELS;"}).text == (
        "notes/note_c.md:4: decibels; move it to the hall. Power: there are 6 sockets for 22 desks,"
        " and 9 of 20 people I asked"
    )
    assert tools.call("search_files", {"pattern": r"\b2[27] de"}).text.count("\n") == 1
    assert tools.call("search_files", {"pattern": "unicorn"}).text == "[no line matches]"
    tools.call("write_file", {"path": "odd.md", "content": "a(b\n" * (MATCHES + 1)})
    found = tools.call("search_files", {"pattern": "a(b"}).text.split("\n")
    assert found[0] == "odd.md:1: a(b"
    assert found[-1] == f"[more than {MATCHES} lines match; narrow the pattern]"


@pytest.mark.parametrize("pattern", [r"(x.*?){20}y", r"(?R)"])
def test_a_pattern_that_explodes_is_stopped(tools: Toolbox, pattern: str) -> None:
    tools.call("write_file", {"path": "x.md", "content": "x" * 50_000})
    outcome = tools.call("search_files", {"pattern": pattern})
    assert "simpler" in str(outcome.error)


def test_write_and_edit(tools: Toolbox) -> None:
    wrote = tools.call("write_file", {"path": "out/a.md", "content": "one two one\n"})
    assert (wrote.text, wrote.path, wrote.wrote) == ("wrote out/a.md (12 bytes)", "out/a.md", True)
    assert not tools.call("write_file", {"path": "out/a.md", "content": "one two one\n"}).wrote
    for old, said in {"one": "more than once", "three": "does not occur", "": "is empty"}.items():
        outcome = tools.call("edit_file", {"path": "out/a.md", "old": old, "new": "x"})
        assert said in str(outcome.error)
        assert (outcome.path, outcome.wrote) == ("out/a.md", False)
    edited = tools.call("edit_file", {"path": "out/a.md", "old": "two", "new": "2"})
    assert edited.wrote
    assert tools.call("read_file", {"path": "out/a.md"}).text == "one 2 one\n"
    tools.call("write_file", {"path": "aaa", "content": "aaa"})
    assert "more than once" in tools.call("edit_file", {"path": "aaa", "old": "aa", "new": ""}).text


@pytest.mark.parametrize(
    ("name", "arguments", "said"),
    [
        ("read", {}, "no tool named 'read'. Offered are: list_files"),
        ("read_file", {}, "missing path"),
        ("read_file", {"path": 3}, "path: 3 is no string"),
        ("read_file", {"path": "a", "offset": 0}, "offset: 0 is not allowed (minimum 1)"),
        ("read_file", {"path": "a", "line": 0}, "unknown argument; known are: path, offset"),
        ("read_file", {"path": "notes"}, "notes is a folder"),
        ("read_file", {"path": "no.md"}, "there is no file no.md"),
        ("write_file", {"path": "a", "content": "\ud800"}, "surrogate"),
        ("search_files", {"pattern": ""}, "1 to 300 characters"),
    ],
)
def test_errors_name_the_mend(
    tools: Toolbox, name: str, arguments: dict[str, Any], said: str
) -> None:
    outcome = tools.call(name, arguments)
    assert said in outcome.text
    assert outcome.text == f"Error: {outcome.error}."
    assert not outcome.wrote
    assert not outcome.findings


@pytest.mark.parametrize("mode", ["free", "typed"])
@pytest.mark.parametrize("path", ["../../etc/passwd", "/etc/passwd", "notes/../../x", "C:\\x"])
def test_a_path_outside_is_a_finding(tmp_path: Path, mode: str, path: str) -> None:
    outcome = toolbox(tmp_path, mode).call("read_file", {"path": path})
    assert outcome.error
    assert [found.code for found in outcome.findings] == ["trial.path_escape"]
    assert outcome.findings[0].excerpt == path


def test_a_link_to_the_outside_is_a_finding(tmp_path: Path, tools: Toolbox) -> None:
    (tmp_path / "workspace" / "out").symlink_to("/tmp")
    outcome = tools.call("write_file", {"path": "out/x", "content": "x"})
    assert [found.code for found in outcome.findings] == ["trial.path_escape"]


def test_a_submitted_ranking_is_the_deliverable(tmp_path: Path) -> None:
    box = toolbox(tmp_path, "typed")
    entries = [
        {"candidate": f"note_{x}", "total": t} for x, t in zip("cab", (9, 7, 7), strict=True)
    ]
    for wrong, said in [
        (entries[:2], "ranking: 2 entries given, 3 needed"),
        ([*entries[:2], {"candidate": "note_d", "total": 1}], '"note_d" is not one of: note_a'),
        ([*entries[:2], {"candidate": "note_b"}], "ranking[2]: missing total"),
    ]:
        outcome = box.call("submit_ranking", {"ranking": wrong})
        assert said in outcome.text
        assert not outcome.terminal
    outcome = box.call("submit_ranking", {"ranking": entries})
    assert (outcome.terminal, outcome.wrote, outcome.path) == (True, True, "ranking.json")
    task = load_task(find_task("three-notes"), {"task.tools": "typed"})
    files = {"ranking.json": (tmp_path / "workspace" / "ranking.json").read_bytes()}
    report = check_deliverables(task, files)
    assert report.complete == 1
    assert report.rankings["ranking.json"].groups == (("note_c",), ("note_a", "note_b"))


def test_the_judge_not_the_tool_tells_of_repeated_candidates(tmp_path: Path) -> None:
    box = toolbox(tmp_path, "typed")
    entries = [{"candidate": "note_a", "total": 99}] * 3
    assert box.call("submit_ranking", {"ranking": entries}).terminal


def test_the_same_calls_give_the_same_bytes(tmp_path: Path) -> None:
    calls: list[tuple[str, dict[str, Any]]] = [
        ("write_file", {"path": "a.md", "content": "x"}),
        ("edit_file", {"path": "a.md", "old": "x", "new": "y"}),
        ("edit_file", {"path": "a.md", "old": "x", "new": "y"}),
        ("list_files", {}),
        ("search_files", {"pattern": "desk"}),
        ("read_file", {"path": "/x"}),
    ]
    one, two, three = (toolbox(tmp_path / name) for name in ("one", "zwei", "three"))
    assert [one.call(*call) for call in calls] == [two.call(*call) for call in calls]
    three.replay(calls)
    assert three.call("read_file", {"path": "a.md"}).text == "y"


def test_an_answer_is_kept_as_a_file(tmp_path: Path) -> None:
    toolbox(tmp_path, "none").keep_answer(ANSWER_FILE, "best: note_c \ud800")
    assert (tmp_path / "workspace" / ANSWER_FILE).read_bytes() == b"best: note_c ?"


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-5, 5)
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from([*NOTES, "../x", "note_a", "a.md", "notes"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["candidate", "total"]), inner, max_size=3)
    ),
    max_leaves=6,
)
KEYS = st.sampled_from(["path", "content", "old", "new", "pattern", "offset", "limit", "ranking"])
TOOLS = [
    "list_files",
    "read_file",
    "search_files",
    "write_file",
    "edit_file",
    "submit_ranking",
    "x",
]


@settings(deadline=None)
@given(
    st.sampled_from(["free", "typed", "none"]),
    st.lists(
        st.tuples(st.sampled_from([*TOOLS, "submit_ranking", "x"]), st.dictionaries(KEYS, VALUES)),
        max_size=8,
    ),
)
def test_any_call_is_answered(
    tmp_path_factory: pytest.TempPathFactory, mode: str, calls: list[tuple[str, dict[str, Any]]]
) -> None:
    top = tmp_path_factory.mktemp("top")
    box = toolbox(top, mode)
    for call in calls:
        outcome = box.call(*call)
        assert outcome.text
        assert str(top) not in outcome.text
    assert [entry.name for entry in top.iterdir()] == ["workspace"]
