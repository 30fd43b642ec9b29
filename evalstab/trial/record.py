"""The record of a trial: an append-only event log, and the waist of the whole house.

Everything before it only writes records; everything after it only reads them. One line is one
event; all that one step brought stands in one line, written and synced at once, so that a kill at
any moment costs at most the step in flight. A torn last line is dropped on reading.

The conversation is stored as deltas: ``TrialStarted.messages`` and then what each step appended,
byte for byte as it was sent.
"""

from __future__ import annotations

import io
import os
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import BinaryIO, Literal, cast

import msgspec

from evalstab.chat import Json
from evalstab.endpoint.base import Attempt, Reply, usage_total
from evalstab.errors import FolderError
from evalstab.findings import Finding
from evalstab.private import private_folder
from evalstab.redact import scrub

SCHEMA_VERSION = 1
RECORD_NAME = "events.jsonl"
READ_BYTES = 1 << 20
COMPRESSED = ".zst"
"""What a finished record's name ends with where it was compressed."""

DAMAGED = (
    "The record is damaged: restore it, or move the trial's folder away and run `evalstab resume`"
)
Outcome = Literal["completed", "failed", "aborted", "invalid"]
Ending = Literal[
    "no_call",
    "terminal",
    "step_limit",
    "time_limit",
    "endpoint",
    "context",
    "interrupted",
    "agent",
    "rig",
]


class ToolResult(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What became of one tool call; the text that the model got stands in ``Step.append``.

    ``path`` is the workspace path concerned (posix, relative), ``wrote`` whether a file changed.
    ``error`` is the message the model could read, ``None`` where the tool succeeded.
    """

    call_id: str
    name: str
    path: str | None = None
    wrote: bool = False
    error: str | None = None
    terminal: bool = False


class TrialStarted(msgspec.Struct, frozen=True, kw_only=True, tag="trial_started"):
    """The beginning of a trial: what is sent each time, and the first messages.

    ``fields`` are the request's body fields except messages (model, sampling, tools, stream …),
    exactly as sent. ``source`` names who made the record: our loop, or an importer.
    ``variation`` says in what this trial was asked otherwise than others of its series, as far as
    that was declared: ``order`` (candidates as the trial reads them), ``cold`` (its leading text),
    ``ballast`` (how many messages are earlier turns), ``group`` (its candidates). ``unknown`` says
    what the source of the record cannot know (``times``, ``arguments`` …), each with the reason.
    """

    schema_version: int = SCHEMA_VERSION
    series: str
    trial: int
    attempt: int
    at: str
    source: str = "loop"
    fields: Json
    messages: tuple[msgspec.Raw, ...]
    variation: Json = msgspec.field(default_factory=dict)
    unknown: dict[str, str] = msgspec.field(default_factory=dict)


class Step(msgspec.Struct, frozen=True, kw_only=True, tag="step"):
    """One model response plus the execution of its tool calls; ``number`` counts from 1.

    ``started`` and ``seconds`` are on the trial's monotonic clock. ``append`` holds the messages
    that this step added to the conversation, as they will be sent. ``findings`` are those of the
    loop itself; those of the transport stand with their attempt.
    """

    number: int
    started: float
    seconds: float
    attempts: tuple[Attempt, ...]
    results: tuple[ToolResult, ...] = ()
    append: tuple[msgspec.Raw, ...] = ()
    findings: tuple[Finding, ...] = ()

    @property
    def reply(self) -> Reply | None:
        """The response that was accepted: that of the last attempt."""
        return self.attempts[-1].reply if self.attempts else None

    @property
    def context_tokens(self) -> int | None:
        """Active context of this step as the server counts it, ``None`` where it does not."""
        return usage_total(self.reply.usage) if self.reply else None


class TrialResumed(msgspec.Struct, frozen=True, kw_only=True, tag="trial_resumed"):
    """The trial went on after an interruption, from the record alone."""

    at: str
    after_step: int


class TrialEnded(msgspec.Struct, frozen=True, kw_only=True, tag="trial_ended"):
    """The end of a trial; ``seconds`` is the time spent in it, interruptions left out.

    ``findings`` are those of the ending itself (step limit, time limit).
    """

    at: str
    outcome: Outcome
    ending: Ending
    reason: str
    seconds: float
    findings: tuple[Finding, ...] = ()


Event = TrialStarted | Step | TrialResumed | TrialEnded

_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder(Event)


class Record:
    """Appends events to a trial's log, each synced before the call returns."""

    def __init__(self, path: Path) -> None:
        self.path = path
        private_folder(path.parent)
        _drop_torn_line(path)
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    def append(self, event: Event) -> None:
        """Write one event and sync it, known secrets taken out; OSError where the disk refuses."""
        line = memoryview(scrub(_encoder.encode(event)) + b"\n")
        while line:
            line = line[os.write(self._file, line) :]
        os.fdatasync(self._file)

    def close(self) -> None:
        """Close the file; the record stays as it is."""
        os.close(self._file)


def read_events(path: Path) -> Iterator[Event]:
    """All events of a record, in order, compressed or not; a torn last line is dropped.

    FolderError names a line before the last that is no event.
    """
    done = 0
    with opened(path) as file:
        for block in _whole_lines(file):
            try:
                events = _decoder.decode_lines(block)
            except (msgspec.MsgspecError, RecursionError):
                break
            yield from events
            done += len(events)
        else:
            return
    yield from islice(_read_lines(path), done, None)


def _whole_lines(file: BinaryIO) -> Iterator[bytes | memoryview]:
    """A file in large blocks that end with a line; what follows the last line break is dropped."""
    parts: list[bytes] = []
    while block := file.read(READ_BYTES):
        cut = block.rfind(b"\n") + 1
        if not cut:
            parts.append(block)
            continue
        whole = memoryview(block)[:cut]
        yield b"".join((*parts, whole)) if parts else whole
        parts = [block[cut:]] if cut < len(block) else []


def _read_lines(path: Path) -> Iterator[Event]:
    """As ``read_events``, line by line: slower, and says which line is damaged."""
    with opened(path) as file:
        for number, line in enumerate(file, 1):
            if not line.endswith(b"\n"):
                return
            try:
                yield _decoder.decode(line)
            except (msgspec.MsgspecError, RecursionError) as error:
                raise FolderError(f"{path}, line {number}: {error}. {DAMAGED}") from error


def record_in(folder: Path) -> Path:
    """Where the record of this trial folder stands: as it was written, or compressed."""
    plain = folder / RECORD_NAME
    packed = folder / f"{RECORD_NAME}{COMPRESSED}"
    return packed if not plain.is_file() and packed.is_file() else plain


@contextmanager
def opened(path: Path) -> Iterator[BinaryIO]:
    """A record for reading, its bytes as they were written; FolderError for a broken archive."""
    if path.suffix != COMPRESSED:
        with path.open("rb") as file:
            yield file
        return
    import zstandard  # noqa: PLC0415

    try:
        with path.open("rb") as packed, zstandard.ZstdDecompressor().stream_reader(packed) as raw:
            yield cast(BinaryIO, io.BufferedReader(cast(io.RawIOBase, raw)))
    except zstandard.ZstdError as error:
        raise FolderError(f"{path}: {error}. The record is damaged: restore it") from error


def _drop_torn_line(path: Path) -> None:
    if not path.exists():
        return
    with path.open("rb+") as file:
        size = file.seek(0, os.SEEK_END)
        keep = size
        block = b""
        while keep > 0:
            start = max(0, keep - 65536)
            file.seek(start)
            block = file.read(keep - start)
            newline = block.rfind(b"\n")
            if newline >= 0:
                keep = start + newline + 1
                break
            keep = start
        if keep < size:
            file.truncate(keep)
