"""All that a series leaves is its owner's alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from evalstab.private import private_folder
from tests.cli.program import evalstab


def test_every_folder_and_file_of_a_series(tmp_path: Path) -> None:
    done = evalstab("run", "three-notes", "--repeats", "1", "--quiet", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    found = sorted(tmp_path.rglob("*"))
    assert {path.name for path in found} >= {"reports", "task", "note_a.md", "001", "workspace"}
    modes = {path: path.stat().st_mode & 0o777 for path in found}
    assert {
        path for path, mode in modes.items() if mode != (0o700 if path.is_dir() else 0o600)
    } == (set())


def test_missing_parents_are_private_and_others_stay_as_they_are(tmp_path: Path) -> None:
    (tmp_path / "open").mkdir(mode=0o755)
    private_folder(tmp_path / "open" / "a" / "b")
    modes = [p.stat().st_mode & 0o777 for p in (tmp_path / "open", tmp_path / "open" / "a")]
    assert modes == [0o755, 0o700]
    private_folder(tmp_path / "open")
    assert (tmp_path / "open").stat().st_mode & 0o777 == 0o755
    (tmp_path / "file").write_text("x")
    with pytest.raises(OSError, match="file"):
        private_folder(tmp_path / "file")
    with pytest.raises(OSError, match="file"):
        private_folder(tmp_path / "file" / "below")
