"""Files of ours are written whole or not at all, and only their owner may read them."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from evalstab.errors import DiskError, FolderError
from evalstab.private import private_folder
from evalstab.redact import scrub

_T = TypeVar("_T")


def make_folder(path: Path) -> None:
    """Create a folder (0700) and its parents; FolderError names what stands in the way."""
    try:
        private_folder(path)
    except OSError as error:
        raise disk_error(path, error) from error


def write_whole(path: Path, data: bytes | str) -> None:
    """Replace a file in one step (0600): readers see the old or the new text, never a half.

    Secrets that this process knows are taken out first.
    """
    raw = scrub(data.encode() if isinstance(data, str) else data)
    temporary = draft_of(path)
    try:
        make_folder(path.parent)
        handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(handle, "wb") as file:
            file.write(raw)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise disk_error(path, error) from error


def read_json(path: Path, kind: type[_T], mend: str) -> _T:
    """A JSON file of ours as what it must be; FolderError names file, fault and ``mend``."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=kind)
    except OSError as error:
        fault = error.strerror or str(error)
    except RecursionError:
        fault = "it is nested too deeply"
    except msgspec.MsgspecError as error:
        fault = str(error)
    raise FolderError(f"{path} cannot be read: {fault}; {mend}")


def draft_of(path: Path) -> Path:
    """Where this process writes a file before it takes its place."""
    return path.with_name(f".{path.name}.{os.getpid()}.tmp")


def sweep(folder: Path) -> None:
    """Remove the drafts that writers left in this very folder which were killed meanwhile."""
    for draft in folder.glob(".*.tmp"):
        writer = draft.name.split(".")[-2]
        if writer.isdecimal() and len(writer) < 10 and not _is_alive(int(writer)):
            draft.unlink(missing_ok=True)


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True


def write_json(path: Path, value: Any) -> None:
    """Write a value as indented JSON, whole or not at all (NaN would come out as null)."""
    write_whole(path, msgspec.json.format(msgspec.json.encode(value), indent=2) + b"\n")


_FULL: dict[int, tuple[str, str]] = {
    errno.ENOSPC: ("the disk is full", "free some space"),
    errno.EFBIG: ("the file may not grow further", "lift the limit"),
    errno.EDQUOT: ("the disk quota is used up", "free some space"),
}
_FORBIDDEN: dict[int, str] = {
    errno.EROFS: "the file system is read-only",
    errno.EACCES: "no permission to write there",
    errno.EPERM: "not allowed to write there",
    errno.ENOTDIR: "a parent of this path is a file",
    errno.EEXIST: "a file stands where a folder is needed",
    errno.ENAMETOOLONG: "the name is too long",
}


def disk_error(path: Path, error: OSError) -> DiskError:
    """The error a user can act on, for what the operating system said about a path."""
    code = error.errno or 0
    said, mend = _FULL.get(code, (_FORBIDDEN.get(code, error.strerror or str(error)), None))
    return DiskError(f"cannot write {path}: {said}", mend)


def is_refusal(error: OSError) -> bool:
    """Whether the disk itself refused: it is full, or may not be written to."""
    return error.errno in _FULL or error.errno == errno.EROFS
