"""Reads the files of a task folder: bounded, never through a link, never outside the folder."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass, field
from pathlib import Path

from evalstab.errors import Mistake
from evalstab.task.paths import Refused, inside

MAX_FILE_BYTES = 2_000_000
MAX_INPUT_FILES = 500
MAX_INPUT_BYTES = 32_000_000
MAX_DEPTH = 8


@dataclass(slots=True)
class TaskFolder:
    """A task's folder while it is read; what is wrong with it gathers in ``mistakes``."""

    root: Path
    mistakes: list[Mistake] = field(default_factory=list)

    def complain(self, file: str, key: str, problem: str, mend: str) -> None:
        """Note one mistake."""
        self.mistakes.append(Mistake(file, key, problem, mend))

    def path_of(self, relative: str, key: str) -> Path | None:
        """Where a path of task.toml leads, ``None`` (and a mistake) where it leaves the folder."""
        try:
            names = inside(relative, MAX_DEPTH)
        except Refused as refusal:
            problem, _, mend = str(refusal).partition(". ")
            self.complain("task.toml", key, f"{relative!r}: {problem}", mend)
            return None
        path = self.root
        for name in names:
            path = path / name
            if path.is_symlink():
                self.complain(
                    "task.toml", key, f"{relative!r} is a symbolic link", "Copy the file instead"
                )
                return None
        return path

    def text(self, relative: str, key: str) -> str | None:
        """A UTF-8 file named in task.toml; line ends become ``\\n``, a byte order mark goes."""
        path = self.path_of(relative, key)
        if path is None:
            return None
        if not path.is_file():
            self.complain(
                "task.toml", key, f"there is no file {relative!r}", "Create it, or name another"
            )
            return None
        data = self._bounded(path, relative)
        text = self.decoded(relative, data) if data is not None else None
        if text is None:
            return None
        text = text.replace("\r\n", "\n").replace("\r", "\n")
        if not text.strip():
            self.complain(relative, "", "the file is empty", "Write the text")
            return None
        return text

    def inputs(self, relative: str) -> dict[str, bytes]:
        """All input files below a folder by their path in it, in code point order."""
        top = self.path_of(relative, "inputs")
        if top is None:
            return {}
        if not top.is_dir():
            self.complain(
                "task.toml",
                "inputs",
                f"there is no folder {relative!r}",
                "Create it, or name another",
            )
            return {}
        found: dict[str, bytes] = {}
        for path in sorted(self._walk(top), key=lambda p: p.relative_to(top).as_posix()):
            name = path.relative_to(self.root).as_posix()
            if len(found) >= MAX_INPUT_FILES:
                self.complain(
                    relative, "", f"more than {MAX_INPUT_FILES} input files", "Remove some"
                )
                break
            inner = self._inner_path(path.relative_to(top).as_posix(), name)
            data = self._input(path, name) if inner is not None else None
            if inner is not None and data is not None:
                found[inner] = data
        if sum(map(len, found.values())) > MAX_INPUT_BYTES:
            self.complain(
                relative, "", f"the inputs have more than {MAX_INPUT_BYTES} bytes", "Shorten them"
            )
        return found

    def decoded(self, name: str, data: bytes) -> str | None:
        """The text of a file, ``None`` (and a mistake) where it is not UTF-8."""
        try:
            return data.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            line = data.count(b"\n", 0, error.start) + 1
            self.complain(name, f"line {line}", "the file is not UTF-8", "Save it as UTF-8")
            return None

    def _walk(self, top: Path) -> list[Path]:
        files: list[Path] = []
        for folder, folders, names in os.walk(top):
            folders.sort()
            for name in [*folders, *names]:
                path = Path(folder, name)
                if path.is_symlink():
                    self.complain(
                        path.relative_to(self.root).as_posix(),
                        "",
                        "symbolic links are not allowed among the inputs",
                        "Copy the file instead",
                    )
                elif name in names:
                    files.append(path)
            if len(files) > 2 * MAX_INPUT_FILES:
                break
        return files

    def _inner_path(self, inner: str, name: str) -> str | None:
        try:
            return "/".join(inside(inner, MAX_DEPTH))
        except Refused as refusal:
            problem, _, mend = str(refusal).partition(". ")
            self.complain(ascii(name)[1:-1], "", problem, mend)
            return None

    def _input(self, path: Path, name: str) -> bytes | None:
        data = self._bounded(path, name)
        if data is None or self.decoded(name, data) is None:
            return None
        return data

    def _bounded(self, path: Path, name: str) -> bytes | None:
        try:
            status = path.lstat()
            if not stat.S_ISREG(status.st_mode):
                self.complain(name, "", "this is no regular file", "Remove it")
                return None
            if status.st_size > MAX_FILE_BYTES:
                self.complain(name, "", f"larger than {MAX_FILE_BYTES} bytes", "Split the file")
                return None
            return path.read_bytes()
        except OSError as error:
            self.complain(name, "", f"cannot be read: {error.strerror}", "Mend the permissions")
            return None
