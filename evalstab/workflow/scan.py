"""``evalstab scan``: leaks and loops of any text, file or folder."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

import msgspec

from evalstab.chat import Json
from evalstab.errors import ConfigError, InputError, UsageError, nearest
from evalstab.findings import Channel, Finding
from evalstab.measures.loose_texts import findings_in
from evalstab.text.detectors import first_detector
from evalstab.text.expected import COMMON_CANDIDATES, Expectation

STDIN = "-"
CHANNELS: dict[str, Channel] = {
    "reasoning": "reasoning",
    "content": "content",
    "arguments": "arguments",
    "file": "file",
}
LARGEST = 64 << 20
"""Bytes of one text; more than that no model writes."""

MOST_FILES = 10_000
_SNIFFED = 8_192
_OPENING = 2_000


@dataclass(frozen=True, slots=True)
class Text:
    """One text to be scanned; ``path`` is relative to the folder that was named, None for one."""

    text: str
    path: str | None = None


@dataclass(frozen=True, slots=True)
class Scanned:
    """What was found. ``skipped`` are files of a folder that are no text."""

    language: str
    guessed: bool
    findings: tuple[tuple[str | None, Finding], ...] = ()
    texts: int = 0
    skipped: tuple[str, ...] = field(default=())

    def as_json(self) -> Json:
        """The findings by the keys of scores.json; a folder's have their file in ``detail``."""
        return {
            "findings": [_plain(path, one) for path, one in self.findings],
            "language": self.language,
            "texts": self.texts,
            "skipped": list(self.skipped),
        }


def scan(
    place: str,
    stdin: BinaryIO,
    *,
    language: str | None = None,
    inputs: Sequence[Path] = (),
    channel: str | None = None,
) -> Scanned:
    """Scan a file, a folder or standard input (``-``).

    ``inputs`` are files or folders that the writer had been given: what stands there is copied and
    no leak. Without a language, the texts themselves say in which one they are written. InputError
    for what cannot be read, UsageError for an unknown channel, ConfigError for a language.
    """
    if channel is not None and channel not in CHANNELS:
        raise UsageError(f"--channel {channel!r}. {nearest(channel, CHANNELS)}")
    texts, skipped = _texts(place, stdin)
    given = [text.text for path in inputs for text in _texts(str(path), stdin)[0]]
    tag = language or main_language(text.text for text in texts)
    try:
        expected = Expectation(tag)
    except ValueError as error:
        raise ConfigError(f"--language {tag!r}: {error}") from error
    kind = CHANNELS[channel] if channel else "file" if Path(place).is_dir() else "content"
    found = [
        (text.path, one) for text in texts for one in findings_in(text.text, kind, expected, given)
    ]
    return Scanned(tag, language is None, tuple(found), len(texts), tuple(skipped))


def _plain(path: str | None, one: Finding) -> Json:
    found: Json = msgspec.to_builtins(one)
    if path is not None:
        found["detail"] = {"path": path} | found["detail"]
    return found


def _texts(place: str, stdin: BinaryIO) -> tuple[list[Text], list[str]]:
    if place == STDIN:
        return [Text(_decoded(stdin.read(LARGEST + 1), "standard input"))], []
    path = Path(place)
    if path.is_dir():
        return _folder(path)
    data = _read(path)
    if _is_binary(data):
        raise InputError(f"{place} is no text file: name one with texts")
    return [Text(_decoded(data, place))], []


def _is_binary(data: bytes) -> bool:
    return b"\0" in data[:_SNIFFED]


def _folder(root: Path) -> tuple[list[Text], list[str]]:
    """All texts below a folder, in order; links and what is no text are left out."""
    texts: list[Text] = []
    skipped: list[str] = []
    for path in _files(root):
        name = path.relative_to(root).as_posix()
        data = _read(path)
        if _is_binary(data):
            skipped.append(name)
        else:
            texts.append(Text(_decoded(data, name), name))
        if len(texts) + len(skipped) > MOST_FILES:
            raise InputError(f"{root} holds more than {MOST_FILES:,} files: name a part of it")
    if not texts:
        raise InputError(f"{root} holds no text file: name a folder with texts")
    return texts, skipped


def _files(root: Path) -> Iterator[Path]:
    for folder, folders, names in os.walk(root, onerror=_refuse):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            path = Path(folder, name)
            if not name.startswith(".") and path.is_file() and not path.is_symlink():
                yield path


def _refuse(error: OSError) -> None:
    raise InputError(f"{error.filename} cannot be read: {error.strerror}") from error


def _read(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(LARGEST + 1)
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else str(error)
        raise InputError(f"{path} cannot be read: {why}") from error


def _decoded(data: bytes, name: str) -> str:
    """Text of bytes; what is no UTF-8 becomes U+FFFD, which is a finding."""
    if len(data) > LARGEST:
        raise InputError(f"{name} has more than {LARGEST >> 20} MiB: scan it in parts")
    return data.decode("utf-8-sig", "replace")


def main_language(texts: Iterable[str]) -> str:
    """The language of most of the openings, by the first detector; English where none tells."""
    detector = first_detector(COMMON_CANDIDATES)
    votes: dict[str, int] = {}
    for text in texts:
        opening = text[:_OPENING]
        scores = detector.scores(opening) if any(map(str.isalpha, opening)) else {}
        if scores:
            best = max(scores, key=scores.__getitem__)
            votes[best] = votes.get(best, 0) + len(opening)
    return max(votes, key=votes.__getitem__, default="en")
