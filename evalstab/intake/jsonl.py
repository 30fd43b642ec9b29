"""Lines of JSON as agents leave them: perhaps compressed, perhaps torn at the end."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import msgspec

from evalstab.chat import Json

LONGEST_LINE = 64 << 20
MOST_BYTES = 4 << 30
PACKED = ".zst"


def objects(path: Path) -> Iterator[Json]:
    """The objects of a file, in order; lines that are none (a torn tail) are passed over.

    OSError where the file cannot be read.
    """
    with path.open("rb") as file:
        for line in _lines(file, packed=path.name.endswith(PACKED)):
            try:
                value = msgspec.json.decode(line)
            except (msgspec.MsgspecError, RecursionError, UnicodeError):
                continue
            if isinstance(value, dict):
                yield value


def _lines(file: BinaryIO, *, packed: bool) -> Iterator[bytes]:
    if not packed:
        while line := file.readline(LONGEST_LINE):
            yield line
        return
    import zstandard  # noqa: PLC0415

    read = 0
    try:
        with zstandard.ZstdDecompressor().stream_reader(file, read_across_frames=True) as raw:
            text = io.BufferedReader(raw)
            while (line := text.readline(LONGEST_LINE)) and read < MOST_BYTES:
                read += len(line)
                yield line
    except zstandard.ZstdError:
        return
