"""Files of ours are written whole or not at all, and only their owner may read them."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any

import msgspec

from evalstab.errors import FolderError
from evalstab.redact import scrub


def make_folder(path: Path) -> None:
    """Create a folder (0700) and its parents; FolderError names what stands in the way."""
    try:
        path.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        raise disk_error(path, error) from error


def write_whole(path: Path, data: bytes | str) -> None:
    """Replace a file in one step (0600): readers see the old or the new text, never a half.

    Secrets that this process knows are taken out first.
    """
    raw = scrub(data.encode() if isinstance(data, str) else data)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
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


def write_json(path: Path, value: Any) -> None:
    """Write a value as indented JSON, whole or not at all (NaN would come out as null)."""
    write_whole(path, msgspec.json.format(msgspec.json.encode(value), indent=2) + b"\n")


def disk_error(path: Path, error: OSError) -> FolderError:
    """The error a user can act on, for what the operating system said about a path."""
    mends = {
        errno.ENOSPC: "the disk is full: free some space and run `evalstab resume` on the folder",
        errno.EFBIG: "the file may not grow further: lift the limit and run `evalstab resume`",
        errno.EDQUOT: "the disk quota is used up: free some space and run `evalstab resume`",
        errno.EROFS: "the file system is read-only: choose another place with --out",
        errno.EACCES: "no permission to write there: choose another place with --out",
        errno.EPERM: "not allowed to write there: choose another place with --out",
        errno.ENOTDIR: "a parent of this path is a file: choose another place with --out",
        errno.EEXIST: "a file stands where a folder is needed: choose another place with --out",
        errno.ENAMETOOLONG: "the name is too long: choose a shorter one with --out",
    }
    other = f"{error.strerror or error}: choose another place with --out"
    mend = mends.get(error.errno or 0, other)
    return FolderError(f"cannot write {path}: {mend}")
