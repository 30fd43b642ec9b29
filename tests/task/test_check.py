"""Every mistake in a task is found, all at once, with place and mend."""

import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evalstab.errors import Mistake, TaskError
from evalstab.task.check import mistakes_in
from evalstab.task.load import find_task, known_tasks, load_task
from evalstab.task.model import TaskFile
from evalstab.workflow.tasks import checked
from tests.task.task_making import toml_of, write_task

TRUTH = '{"order": [["person_01"], ["person_02", "person_11"]], "totals": %s}'
TOTALS = '{"person_01": 9, "person_02": 3, "person_11": 3}'
DOC = '[[deliverables]]\npath = "%s"\nkind = "%s"\n%s\n'


def found(folder: Path) -> list[Mistake]:
    mistakes = mistakes_in(folder)
    for mistake in mistakes:
        assert mistake.file
        assert mistake.problem
        assert mistake.mend
    return mistakes


def only(folder: Path) -> str:
    mistakes = found(folder)
    assert len(mistakes) == 1, [str(mistake) for mistake in mistakes]
    return str(mistakes[0])


@pytest.mark.parametrize("name", sorted(known_tasks()))
def test_shipped_tasks_have_no_mistakes(name: str) -> None:
    assert mistakes_in(find_task(name)) == []


@pytest.mark.parametrize(
    ("head", "tail", "said"),
    [
        ('languag = "de"', "", "languag: unknown key. Did you mean 'language'?"),
        ("", "[limits]\nmax_step = 3", "limits.max_step: unknown key. Did you mean 'max_steps'?"),
        ("", "[limits]\nmax_steps = 0", "limits.max_steps: 0 is too small. At least 1"),
        ("", "[limits]\nmax_steps = 1.5", "limits.max_steps: 1.5 is no whole number"),
        ("", "[limits]\nmax_seconds = inf", "limits.max_seconds: inf is no finite number"),
        ('tools = "all"', "", "tools: 'all' is not allowed. Allowed: 'free', 'typed' or 'none'"),
        ('allow_scripts = ["Greak"]', "", "allow_scripts: unknown script 'Greak'"),
        ('system = "system.md"', "", "system: there is no file 'system.md'"),
        ('truth = "../truth.json"', "", "truth: '../truth.json': the path points outside"),
        ('inputs = "docs"', "", "inputs: there is no folder 'docs'"),
        ('offer = ["read_file"]', "", "offer: without write_file nothing can be delivered"),
        ('offer = ["write_file", "submit_ranking"]', "", "offer: submit_ranking is no tool of"),
        ("points = { min = 3, max = 3 }", "", "points.max: the range from 3 to 3 is empty"),
        ("", '[[criteria]]\nid = "a"\ntitle = "A"\nmax = -1', "criteria[1].max: the range"),
        ("", '[[criteria]]\nid = "a b"\ntitle = "A"', "criteria[1].id: 'a b' holds characters"),
        ("", '[[criteria]]\nid = "a"', "criteria[1].title: this key is missing"),
        (
            "",
            '[[criteria]]\nid = "a"\ntitle = "A"\n[[criteria]]\nid = "b"\ntitle = "a"',
            "criteria[2].title: 'a' already stands for another criterion",
        ),
        ("", '[[candidates]]\nid = "PERSON_01"', "candidates[4].id: 'PERSON_01' already"),
        (
            "",
            '[[candidates]]\nid = "x"\nname = "anna berg"',
            "candidates[4].name: 'anna berg' already stands",
        ),
        (
            "",
            '[[candidates]]\nid = "x"\nfile = "p/x.md"',
            "candidates[4].file: there is no input file 'p/x.md' for x",
        ),
        ("", DOC % ("ranking.json", "markdown", ""), "'ranking.json' is already a deliverable"),
        ("", DOC % ("ranking.json/a", "markdown", ""), "'ranking.json/a' is already a deliverable"),
        ("", DOC % ("P/person_01.md", "markdown", ""), "is already an input file"),
        ("", DOC % ("answer.md", "markdown", ""), "already the place for answers"),
        ("", DOC % ("/tmp/x", "markdown", ""), "deliverables[2].path: the path points outside"),
        ("", DOC % ("./x", "markdown", ""), "'./x' is not written plainly. Write 'x'"),
        ("", DOC % ("x", "form", ""), "deliverables[2].fields: a form needs fields"),
        ("", DOC % ("x", "markdown", 'fields = ["A"]'), "fields are for deliverables of kind"),
        ("", DOC % ("x", "markdown", 'headings = ["A", "a"]'), "headings: one stands twice"),
        ("", DOC % ("x", "markdown", 'headings = ["# A"]'), "no '#' before"),
        ("", DOC % ("x", "letter", ""), "kind: 'letter' is not allowed"),
        ("", DOC % ("x", "ranking", 'format = "json"'), "2 of them are of kind 'ranking'"),
    ],
)
def test_one_mistake_is_named_with_its_mend(
    tmp_path: Path, head: str, tail: str, said: str
) -> None:
    assert said in only(write_task(tmp_path, toml_of(head, tail)))


@pytest.mark.parametrize(
    ("deliverables", "said"),
    [
        (DOC % ("x.md", "markdown", ""), "0 of them are of kind 'ranking'"),
        (DOC % ("x.md", "ranking", ""), "deliverables[1].format: a ranking needs a format"),
        ("", "deliverables: this key is missing"),
        ("deliverables = 3", "deliverables: 3 is no list in [ ]"),
    ],
)
def test_mistakes_in_what_must_be_delivered(tmp_path: Path, deliverables: str, said: str) -> None:
    if deliverables.startswith("deliverables"):
        toml = toml_of(deliverables, deliverables="")
    else:
        toml = toml_of(deliverables=deliverables)
    assert said in only(write_task(tmp_path, toml))


def test_broken_toml_names_the_line(tmp_path: Path) -> None:
    assert "line 3" in only(write_task(tmp_path, 'schema_version = 1\nname = "a"\nlanguage = de\n'))


def test_an_unknown_language_names_the_nearest(tmp_path: Path) -> None:
    toml = toml_of().replace('"de"', '"germann"')
    said = only(write_task(tmp_path, toml))
    assert "unknown language 'germann'" in said
    assert "'de'" in said


@pytest.mark.parametrize(
    ("totals", "said"),
    [
        ('{"person_01": 9, "person_02": 3}', "totals: person_11 missing"),
        ('{"person_01": 9, "person_02": 3, "person_11": 3, "x": 1}', "does not know x"),
        ('{"person_01": 2, "person_02": 3, "person_11": 3}', "does not follow the totals"),
        ('{"person_01": 9, "person_02": 4, "person_11": 3}', "does not follow the totals"),
        ('{"person_01": 99, "person_02": 3, "person_11": 3}', "99 lies outside 0 to 10"),
        (TOTALS + ', "criteria": {}', "person_01, person_02, person_11 missing"),
        (TOTALS + ', "winner": "x"', "winner: unknown key"),
        (TOTALS + ",", "this is no JSON"),
    ],
)
def test_a_truth_that_does_not_fit(tmp_path: Path, totals: str, said: str) -> None:
    head = 'truth = "truth.json"\npoints = { max = 10 }'
    files: dict[str, str | bytes] = {"truth.json": TRUTH % totals}
    assert said in only(write_task(tmp_path, toml_of(head), files))


def test_a_truth_among_the_inputs_is_refused(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {"inputs/truth.json": TRUTH % TOTALS}
    said = only(write_task(tmp_path, toml_of('truth = "inputs/truth.json"'), files))
    assert "lies among the inputs, where the agent reads it" in said


def test_points_of_the_truth_are_held_against_the_rubric(tmp_path: Path) -> None:
    rubric = "".join(f'[[criteria]]\nid = "{c}"\ntitle = "T{c}"\nmax = 5\n' for c in "ab")
    points = (
        '{"person_01": {"a": 5, "b": 4}, "person_02": {"a": 6, "b": -3}, "person_11": {"a": 1}}'
    )
    files: dict[str, str | bytes] = {"truth.json": TRUTH % f'{TOTALS}, "criteria": {points}'}
    folder = write_task(tmp_path, toml_of('truth = "truth.json"', rubric), files)
    said = [str(mistake).removeprefix("truth.json: ") for mistake in found(folder)]
    assert said == [
        "criteria.person_02.a: 6 lies outside the criterion's range. Correct it",
        "criteria.person_02.b: -3 lies outside the criterion's range. Correct it",
        "criteria.person_11: b missing. Add them",
        "criteria.person_11: the points do not add up to the total. Correct points or total",
    ]


def test_unreadable_files_and_links(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {
        "prompt.md": " \n",
        "inputs/p/person_01.md": "ok\nä".encode("latin-1"),
        "elsewhere.md": "x",
    }
    folder = write_task(tmp_path, toml_of(), files)
    (folder / "inputs" / "link.md").symlink_to(folder / "elsewhere.md")
    (folder / "inputs" / "folder").symlink_to(folder / "inputs" / "p")
    os.mkfifo(folder / "inputs" / "pipe")
    said = "\n".join(map(str, found(folder)))
    assert "prompt.md: the file is empty" in said
    assert "inputs/p/person_01.md: line 2: the file is not UTF-8" in said
    assert "inputs/link.md: symbolic links are not allowed" in said
    assert "inputs/folder: symbolic links are not allowed" in said
    assert "inputs/pipe: this is no regular file" in said


def test_a_prompt_behind_a_link_is_refused(tmp_path: Path) -> None:
    folder = write_task(tmp_path / "task", toml_of('system = "docs/system.md"'))
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "system.md").write_text("secret")
    (folder / "docs").symlink_to(tmp_path / "docs")
    assert "system: 'docs/system.md' is a symbolic link" in only(folder)


def test_all_mistakes_come_at_once(tmp_path: Path) -> None:
    head = 'tols = "free"\nsystem = "no.md"\nlimits = 3'
    tail = '[[candidates]]\nid = "ä"\n[[candidates]]\nid = "y"\nfile = "no.md"'
    folder = write_task(tmp_path, toml_of(head, tail).replace('"de"', '"xx"'))
    keys = {mistake.key for mistake in found(folder)}
    assert keys == {
        "tols",
        "system",
        "limits",
        "candidates[4].id",
        "candidates[5].file",
        "language",
    }
    with pytest.raises(TaskError) as error:
        load_task(folder)
    assert {mistake.key for mistake in error.value.mistakes} == keys


def test_no_folder_and_no_task_toml(tmp_path: Path) -> None:
    assert "this is no folder" in only(tmp_path / "no")
    assert "there is no task.toml" in only(tmp_path)


@settings(deadline=None)
@given(st.text(max_size=80), st.text(max_size=80))
def test_any_task_toml_is_checked_without_an_error(
    tmp_path_factory: pytest.TempPathFactory, before: str, after: str
) -> None:
    folder = tmp_path_factory.mktemp("task")
    content = f"{before}\n{toml_of()}\n{after}".encode(errors="surrogatepass")
    (folder / "task.toml").write_bytes(content)
    assert found(folder)


VALUES = st.recursive(
    st.one_of(st.integers(-3, 3), st.booleans(), st.sampled_from(["", "a", "../x", "json", "de"])),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(st.sampled_from(["id", "max", "min", "path", "kind"]), inner, max_size=3)
    ),
    max_leaves=6,
)


@settings(deadline=None)
@given(
    st.sampled_from(sorted(TaskFile.model_fields)),
    VALUES,
)
def test_any_value_of_any_key_is_checked_without_an_error(
    tmp_path_factory: pytest.TempPathFactory, key: str, value: object
) -> None:
    lines = [line for line in toml_of().splitlines() if not line.startswith(f"{key} =")]
    folder = write_task(tmp_path_factory.mktemp("task"), "")
    (folder / "task.toml").write_text(f"{key} = {_toml(value)}\n" + "\n".join(lines))
    found(folder)


def _toml(value: object) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key} = {_toml(inner)}" for key, inner in value.items()) + "}"
    if isinstance(value, list):
        return f"[{', '.join(map(_toml, value))}]"
    return str(value).lower() if isinstance(value, bool) else repr(value).replace("'", '"')


def test_a_second_mistake_in_a_table_does_not_hide_the_first(tmp_path: Path) -> None:
    tail = '[[criteria]]\nid = "a"\nmin = 9\nmax = 3'
    deliverables = '[[deliverables]]\npath = "../x"\nkind = "rankin"'
    said = [
        str(mistake) for mistake in found(write_task(tmp_path, toml_of("", tail, deliverables)))
    ]
    for wanted in (
        "criteria[1].title: this key is missing",
        "criteria[1].max: the range from 9 to 3 is empty",
        "deliverables[1].kind: 'rankin' is not allowed",
        "deliverables[1].path: the path points outside",
    ):
        assert any(wanted in one for one in said), said
    assert len(said) == 4, "wrong deliverables are not missing ones"


def test_a_candidate_file_that_is_no_text_is_not_missing_too(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {"inputs/p/person_01.md": b"\xff\xfe"}
    assert "is not UTF-8" in only(write_task(tmp_path, toml_of(), files))


def test_a_language_of_the_command_line_is_blamed_on_it(tmp_path: Path) -> None:
    folder = write_task(tmp_path, toml_of())
    mistakes = mistakes_in(folder, {"task.language": "xx"})
    assert [mistake.file for mistake in mistakes] == ["--language xx"]


def test_an_empty_input_and_an_unused_truth_are_noted(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {"inputs/p/person_01.md": "\n", "truth.json": "{}"}
    told = checked(str(write_task(tmp_path, toml_of(), files)))
    assert "note: inputs/p/person_01.md is empty" in told
    assert "note: truth.json is not used" in told
