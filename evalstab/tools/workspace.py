"""The folder that an agent works in: no path, link or name leaves it, and it stays bounded.

Every step of a path is opened relative to the folder before it and never through a link, so a
link that somebody puts there between two calls is refused as well.
"""

from __future__ import annotations

import errno
import os
import shutil
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from evalstab.private import private_folder
from evalstab.task.paths import RESERVED_NAME, Refused, inside
from evalstab.tools.survey import Survey, survey

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


@dataclass(frozen=True, slots=True)
class WorkspaceLimits:
    """Bounds of a workspace: number of files, bytes a file, bytes in all, levels of a path."""

    files: int = 1000
    file_bytes: int = 4_000_000
    total_bytes: int = 64_000_000
    depth: int = 8


@dataclass(frozen=True, slots=True)
class Workspace:
    """A confined folder. Paths are posix and relative to ``root``.

    Methods that take a path raise ``Refused`` with a text for the model; OSError means that the
    disk itself refused (full, read-only), which is the rig's fault and no answer to a model.
    """

    root: Path
    limits: WorkspaceLimits

    @classmethod
    def create(
        cls, root: Path, inputs: Mapping[str, bytes], limits: WorkspaceLimits | None = None
    ) -> Workspace:
        """Make the folder and write the input files into it.

        Raises FileExistsError where ``root`` already holds something, and Refused where the
        inputs themselves break the limits.
        """
        private_folder(root)
        if any(root.iterdir()):
            raise FileExistsError(errno.EEXIST, "the workspace is not empty", str(root))
        workspace = cls(root, limits or WorkspaceLimits())
        for path, data in inputs.items():
            workspace.write(path, data)
        return workspace

    @classmethod
    def restore(
        cls, root: Path, inputs: Mapping[str, bytes], limits: WorkspaceLimits | None = None
    ) -> Workspace:
        """The workspace as it was at the start of the trial, whatever stands there now.

        To resume a trial, the recorded calls are then played again (``Toolbox.replay``).
        """
        if root.is_symlink():
            root.unlink()
        elif root.exists():
            shutil.rmtree(root)
        return cls.create(root, inputs, limits)

    def files(self) -> dict[str, int]:
        """Size in bytes of each regular file, in code point order of the paths."""
        return self._survey(contents=False).sizes

    def snapshot(self) -> dict[str, bytes]:
        """Contents of the files, within the limits; ``survey`` says what had to be left out."""
        return self.survey().files

    def survey(self) -> Survey:
        """Contents of the files within the limits, and each thing left out with the reason."""
        return self._survey(contents=True)

    def read(self, path: str) -> bytes:
        """The contents of one file."""
        names = inside(path, self.limits.depth)
        shown = "/".join(names)
        with self._parent(names, create=False) as folder:
            descriptor = _open_file(names[-1], folder, shown)
        try:
            status = os.fstat(descriptor)
            if stat.S_ISDIR(status.st_mode):
                raise Refused(f"{shown} is a folder. Name a file in it; list_files shows them")
            if not stat.S_ISREG(status.st_mode):
                raise Refused(f"{shown} is no regular file and cannot be read")
            if status.st_size > self.limits.file_bytes:
                raise Refused(f"{shown} is larger than {self.limits.file_bytes} bytes")
            with os.fdopen(descriptor, "rb", closefd=False) as file:
                return file.read(self.limits.file_bytes)
        finally:
            os.close(descriptor)

    def write(self, path: str, data: bytes) -> bool:
        """Write one file, making folders as needed; returns whether anything changed."""
        names = inside(path, self.limits.depth)
        shown = "/".join(names)
        before = self._room_for(shown, len(data))
        if before and self.read(path) == data:
            return False
        with self._parent(names, create=True) as folder:
            _refuse_unless_file(names[-1], folder, shown)
            _replace(names[-1], folder, data)
        return True

    def _survey(self, *, contents: bool) -> Survey:
        limits = self.limits
        with self._opened_root() as root:
            return survey(
                root, limits.files, limits.file_bytes, limits.total_bytes, contents=contents
            )

    def _room_for(self, path: str, size: int) -> bool:
        if size > self.limits.file_bytes:
            raise Refused(f"the content is larger than {self.limits.file_bytes} bytes. Shorten it")
        sizes = self.files()
        exists = path in sizes
        if not exists and len(sizes) >= self.limits.files:
            raise Refused(f"the workspace already holds {len(sizes)} files, which is the limit")
        if sum(sizes.values()) - sizes.get(path, 0) + size > self.limits.total_bytes:
            raise Refused(f"the workspace would exceed {self.limits.total_bytes} bytes in all")
        return exists

    @contextmanager
    def _opened_root(self) -> Iterator[int]:
        descriptor = os.open(self.root, _FOLDER)
        try:
            yield descriptor
        finally:
            os.close(descriptor)

    @contextmanager
    def _parent(self, names: tuple[str, ...], *, create: bool) -> Iterator[int]:
        descriptor = os.open(self.root, _FOLDER)
        try:
            for level, name in enumerate(names[:-1], start=1):
                shown = "/".join(names[:level])
                following = _open_folder(name, descriptor, shown, create=create)
                os.close(descriptor)
                descriptor = following
            yield descriptor
        finally:
            os.close(descriptor)


def _open_folder(name: str, parent: int, shown: str, *, create: bool) -> int:
    if create:
        with suppress(FileExistsError):
            os.mkdir(name, 0o700, dir_fd=parent)
    try:
        return os.open(name, _FOLDER, dir_fd=parent)
    except FileNotFoundError:
        raise Refused(f"there is no folder {shown}. list_files shows what there is") from None
    except OSError as error:
        raise _explained(error, name, parent, shown) from None


def _open_file(name: str, parent: int, shown: str) -> int:
    try:
        return os.open(name, _READ, dir_fd=parent)
    except FileNotFoundError:
        raise Refused(f"there is no file {shown}. list_files shows what there is") from None
    except OSError as error:
        raise _explained(error, name, parent, shown) from None


def _explained(error: OSError, name: str, parent: int, shown: str) -> Exception:
    if error.errno not in {errno.ELOOP, errno.ENOTDIR, errno.ENXIO, errno.EACCES}:
        return error
    mode = os.stat(name, dir_fd=parent, follow_symlinks=False).st_mode
    if stat.S_ISLNK(mode):
        return Refused(f"{shown} is a link. Links are not followed; use another path", escape=True)
    if stat.S_ISREG(mode) and error.errno == errno.ENOTDIR:
        return Refused(f"{shown} is a file, not a folder. Use another path")
    return Refused(f"{shown} cannot be opened. Use another path")


def _refuse_unless_file(name: str, parent: int, shown: str) -> None:
    try:
        mode = os.stat(name, dir_fd=parent, follow_symlinks=False).st_mode
    except FileNotFoundError:
        return
    if stat.S_ISLNK(mode):
        raise Refused(f"{shown} is a link. Links are not followed; use another path", escape=True)
    if stat.S_ISDIR(mode):
        raise Refused(f"{shown} is a folder. Name a file")
    if not stat.S_ISREG(mode):
        raise Refused(f"{shown} is no regular file. Use another path")


def _replace(name: str, parent: int, data: bytes) -> None:
    with suppress(FileNotFoundError):
        os.unlink(RESERVED_NAME, dir_fd=parent)
    descriptor = os.open(RESERVED_NAME, _NEW, 0o600, dir_fd=parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
        os.rename(RESERVED_NAME, name, src_dir_fd=parent, dst_dir_fd=parent)
    except OSError:
        os.unlink(RESERVED_NAME, dir_fd=parent)
        raise
