"""A task out of a user's own files."""

import json
from pathlib import Path
from typing import get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evalstab.errors import TaskError
from evalstab.task.brief import opening_messages
from evalstab.task.check import mistakes_in
from evalstab.task.load import load_task
from evalstab.task.model import MOST_CANDIDATES, RankingFormat, ToolMode
from evalstab.task.new import new_task
from evalstab.workflow.tasks import listing


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    folder = tmp_path / "bids"
    folder.mkdir()
    for name in ("Müller & Söhne.md", "acme.txt", "Zeta GmbH"):
        (folder / name).write_text(f"Offer of {name}\n", encoding="utf-8")
    (folder / ".hidden").write_bytes(b"\xff")
    return folder


def test_candidates_from_file_names(tmp_path: Path, sources: Path) -> None:
    folder = new_task(tmp_path / "my bids", candidates_from=sources, prompt="Which bid is best?")
    task = load_task(folder)
    assert task.name == "my_bids"
    assert task.candidates == ("Mueller_Soehne", "Zeta_GmbH", "acme")
    assert [c.name for c in task.spec.candidates] == ["Müller & Söhne", "Zeta GmbH", None]
    assert list(task.inputs) == ["Mueller_Soehne.md", "Zeta_GmbH.txt", "acme.txt"]
    assert "Which bid is best?" in opening_messages(task)[0]["content"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bids", "my bids"]


@pytest.mark.parametrize("ranking", get_args(RankingFormat))
@pytest.mark.parametrize("language", ["de", "en"])
def test_candidates_from_a_list(tmp_path: Path, ranking: RankingFormat, language: str) -> None:
    names = tmp_path / "names.txt"
    names.write_text("\ufeffAnna Berg\n\n Ben Ott \n", encoding="utf-8")
    folder = new_task(
        tmp_path / "t", candidates_from=names, ranking=ranking, language=language, tools="none"
    )
    task = load_task(folder)
    assert task.candidates == ("Anna_Berg", "Ben_Ott")
    assert task.ranking.format == ranking
    assert not (folder / "inputs").exists()


@pytest.mark.parametrize("tools", get_args(ToolMode))
def test_every_tool_mode_passes_the_check(tmp_path: Path, sources: Path, tools: ToolMode) -> None:
    assert mistakes_in(new_task(tmp_path / "t", candidates_from=sources, tools=tools)) == []


def test_nothing_is_overwritten(tmp_path: Path, sources: Path) -> None:
    before = sorted(path.read_bytes() for path in sources.iterdir())
    with pytest.raises(TaskError, match="already"):
        new_task(sources, candidates_from=["a", "b"])
    assert sorted(path.read_bytes() for path in sources.iterdir()) == before
    (tmp_path / "empty").mkdir()
    assert new_task(tmp_path / "empty", candidates_from=["a", "b"]) == tmp_path / "empty"


@pytest.mark.parametrize(
    ("names", "said"),
    [
        (["only"], "candidates: at least 2 needed"),
        ([], "candidates"),
        (["Anna", "Anna"], "already stands for another"),
        (["a\x00b", "c"], "no usable name"),
    ],
)
def test_names_that_make_no_task(tmp_path: Path, names: list[str], said: str) -> None:
    with pytest.raises(TaskError, match=said):
        new_task(tmp_path / "t", candidates_from=names)
    assert list(tmp_path.iterdir()) == []


def test_sources_that_make_no_task(tmp_path: Path, sources: Path) -> None:
    (sources / "scan.pdf").write_bytes(b"%PDF\xff")
    with pytest.raises(TaskError, match=r"inputs/scan\.pdf: line 1: the file is not UTF-8"):
        new_task(tmp_path / "t", candidates_from=sources)
    (sources / "scan.pdf").unlink()
    (sources / "link").symlink_to(sources / "acme.txt")
    with pytest.raises(TaskError, match="only plain files"):
        new_task(tmp_path / "t", candidates_from=sources)
    with pytest.raises(TaskError, match="no such file"):
        new_task(tmp_path / "t", candidates_from=tmp_path / "nowhere")
    with pytest.raises(TaskError, match="language"):
        new_task(tmp_path / "t", candidates_from=["a", "b"], language="xx")
    assert not (tmp_path / "t").exists()


@settings(deadline=None)
@given(st.lists(st.text(max_size=20), max_size=4), st.text(max_size=20))
def test_any_names_and_prompt(
    tmp_path_factory: pytest.TempPathFactory, names: list[str], prompt: str
) -> None:
    folder = tmp_path_factory.mktemp("new") / "task"
    try:
        new_task(folder, candidates_from=names, prompt=prompt)
    except TaskError as error:
        json.dumps([str(mistake) for mistake in error.mistakes])
        assert not folder.exists()
    else:
        assert mistakes_in(folder) == []


def test_one_number_of_candidates_is_the_limit(tmp_path: Path) -> None:
    (tmp_path / "many").mkdir()
    for number in range(MOST_CANDIDATES + 1):
        (tmp_path / "many" / f"c{number}.md").write_text("x")
    with pytest.raises(TaskError, match=f"2 to {MOST_CANDIDATES} can be candidates"):
        new_task(tmp_path / "t", candidates_from=tmp_path / "many")
    with pytest.raises(TaskError, match=f"at most {MOST_CANDIDATES} are allowed"):
        new_task(tmp_path / "t", candidates_from=[f"c{n}" for n in range(MOST_CANDIDATES + 1)])


def test_a_task_in_the_current_folder_is_listed_as_it_is_called(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    new_task(Path("mine"), candidates_from=["a", "b"])
    assert any(line.startswith("./mine ") for line in listing().splitlines())
