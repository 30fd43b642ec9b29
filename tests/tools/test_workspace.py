"""The workspace: confined against links and devices, bounded, restorable."""

import os
import stat
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evalstab.task.paths import Refused
from evalstab.tools.workspace import Workspace, WorkspaceLimits

INPUTS = {"notes/a.md": b"alpha\n", "rubric.md": b"rules\n"}


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    folder = tmp_path / "outside"
    folder.mkdir()
    (folder / "secret.txt").write_bytes(b"secret")
    return folder


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return Workspace.create(tmp_path / "trial" / "workspace", INPUTS)


def test_inputs_are_there_and_private(workspace: Workspace) -> None:
    assert workspace.snapshot() == INPUTS
    assert workspace.files() == {"notes/a.md": 6, "rubric.md": 6}
    assert stat.S_IMODE(workspace.root.stat().st_mode) == 0o700
    assert stat.S_IMODE((workspace.root / "notes/a.md").stat().st_mode) == 0o600


def test_writing_says_whether_something_changed(workspace: Workspace) -> None:
    assert workspace.write("out/report.md", b"one")
    assert not workspace.write("./out/report.md", b"one")
    assert workspace.write("out/report.md", b"two")
    assert workspace.read("out/report.md") == b"two"
    assert sorted(p.name for p in (workspace.root / "out").iterdir()) == ["report.md"]


def test_a_used_folder_is_not_overwritten_but_can_be_restored(workspace: Workspace) -> None:
    workspace.write("notes/a.md", b"changed")
    with pytest.raises(FileExistsError):
        Workspace.create(workspace.root, INPUTS)
    assert Workspace.restore(workspace.root, INPUTS).snapshot() == INPUTS


def test_restoring_over_a_link_leaves_its_target_alone(tmp_path: Path, outside: Path) -> None:
    root = tmp_path / "workspace"
    root.symlink_to(outside)
    assert Workspace.restore(root, INPUTS).snapshot() == INPUTS
    assert (outside / "secret.txt").read_bytes() == b"secret"


@pytest.mark.parametrize("path", ["file", "folder/secret.txt", "folder/new.txt", "folder"])
def test_links_are_never_followed(workspace: Workspace, outside: Path, path: str) -> None:
    (workspace.root / "file").symlink_to(outside / "secret.txt")
    (workspace.root / "folder").symlink_to(outside)
    with pytest.raises(Refused) as reading:
        workspace.read(path)
    with pytest.raises(Refused) as writing:
        workspace.write(path, b"mine")
    assert reading.value.escape
    assert writing.value.escape
    assert sorted(p.name for p in outside.iterdir()) == ["secret.txt"]
    assert (outside / "secret.txt").read_bytes() == b"secret"


def test_a_link_put_in_place_of_a_folder_between_two_calls(
    workspace: Workspace, outside: Path
) -> None:
    workspace.write("out/a.md", b"a")
    (workspace.root / "out/a.md").unlink()
    (workspace.root / "out").rmdir()
    (workspace.root / "out").symlink_to(outside)
    with pytest.raises(Refused):
        workspace.write("out/a.md", b"b")
    assert not (outside / "a.md").exists()


def test_writing_never_goes_through_a_hard_link(workspace: Workspace, outside: Path) -> None:
    os.link(outside / "secret.txt", workspace.root / "twin.txt")
    workspace.write("twin.txt", b"mine")
    assert (outside / "secret.txt").read_bytes() == b"secret"


def test_a_link_under_the_reserved_name_is_no_way_out(workspace: Workspace, outside: Path) -> None:
    (workspace.root / ".evalstab-writing").symlink_to(outside / "secret.txt")
    workspace.write("a.md", b"mine")
    assert (outside / "secret.txt").read_bytes() == b"secret"


def test_pipes_and_folders_are_no_files(workspace: Workspace) -> None:
    os.mkfifo(workspace.root / "pipe")
    for path in ("pipe", "notes"):
        with pytest.raises(Refused):
            workspace.read(path)
        with pytest.raises(Refused):
            workspace.write(path, b"x")
    with pytest.raises(Refused, match="not a folder"):
        workspace.write("rubric.md/x", b"x")
    with pytest.raises(Refused, match="no file"):
        workspace.read("absent.md")


def test_the_survey_names_what_it_leaves_out(workspace: Workspace, outside: Path) -> None:
    os.mkfifo(workspace.root / "pipe")
    (workspace.root / "link").symlink_to(outside / "secret.txt")
    os.mkdir(os.fsencode(workspace.root) + b"/\xff")
    survey = workspace.survey()
    assert survey.files == INPUTS
    assert set(survey.left_out) == {"pipe", "link", "\\udcff"}


def test_limits(tmp_path: Path) -> None:
    limits = WorkspaceLimits(files=3, file_bytes=10, total_bytes=25, depth=2)
    workspace = Workspace.create(tmp_path / "w", {"a": b"0123456789"}, limits)
    for path, data, reason in [
        ("b", b"0" * 11, "larger"),
        ("x/y/z", b"", "levels"),
    ]:
        with pytest.raises(Refused, match=reason):
            workspace.write(path, data)
    workspace.write("b", b"0123456789")
    with pytest.raises(Refused, match="exceed"):
        workspace.write("c", b"012345")
    workspace.write("c", b"01234")
    with pytest.raises(Refused, match="limit"):
        workspace.write("d", b"")
    assert workspace.write("c", b"0")
    with pytest.raises(Refused):
        Workspace.create(tmp_path / "v", {"a": b"0" * 11}, limits)


def test_the_survey_is_bounded_where_others_wrote(tmp_path: Path) -> None:
    limits = WorkspaceLimits(files=2, file_bytes=10, total_bytes=12, depth=2)
    workspace = Workspace.create(tmp_path / "w", {}, limits)
    for name, size in {"a": 8, "b": 11, "c": 8, "d": 1, "e": 1}.items():
        (workspace.root / name).write_bytes(b"x" * size)
    survey = workspace.survey()
    assert sorted(survey.files) == ["a", "d"]
    assert sorted(survey.left_out) == ["b", "c", "e"]


@settings(deadline=None, max_examples=60)
@given(st.lists(st.tuples(st.text(max_size=12), st.binary(max_size=8)), max_size=6))
def test_no_write_leaves_the_folder(
    tmp_path_factory: pytest.TempPathFactory, writes: list[tuple[str, bytes]]
) -> None:
    top = tmp_path_factory.mktemp("top")
    workspace = Workspace.create(top / "workspace", {})
    for path, data in writes:
        try:
            workspace.write(path, data)
        except Refused:
            continue
        assert workspace.read(path) == data
    assert [entry.name for entry in top.iterdir()] == ["workspace"]
    assert not workspace.survey().left_out
