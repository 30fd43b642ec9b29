"""The texts that listing, reading and searching give back to a model: deterministic, bounded."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping

import regex

from evalstab.task.paths import Refused

MATCHES = 100
MATCH_CHARACTERS = 300
PATTERN_CHARACTERS = 300
SEARCH_SECONDS = 2.0
LISTED_FILES = 500


def as_text(data: bytes, path: str) -> str:
    """The text of a file; Refused where it is not UTF-8."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise Refused(f"{path} is not a UTF-8 text file and cannot be read as text") from None


def listing(sizes: Mapping[str, int]) -> str:
    """One line for each file with its size in bytes."""
    lines = [f"{path} ({size} bytes)" for path, size in list(sizes.items())[:LISTED_FILES]]
    if len(sizes) > LISTED_FILES:
        lines.append(f"[{len(sizes) - LISTED_FILES} more files are not listed]")
    return "\n".join(lines) or "[the workspace is empty]"


def page(text: str, offset: int | None, limit: int | None, characters: int) -> str:
    """Some lines of a text, at most ``characters`` long, and how to read on.

    A text that is read completely comes back exactly as it is.
    """
    lines = text.split("\n")
    if lines[-1] == "":
        lines.pop()
    if not lines:
        return "[the file is empty]"
    first = offset or 1
    if first > len(lines):
        raise Refused(f"the file has {len(lines)} lines. Use an offset from 1 to {len(lines)}")
    last = len(lines) if limit is None else min(len(lines), first + limit - 1)
    taken, size = 0, 0
    for line in lines[first - 1 : last]:
        size += len(line) + 1
        if size > characters and taken:
            break
        taken += 1
    last = first + taken - 1
    shown = "\n".join(lines[first - 1 : last])
    if len(shown) > characters:
        shown = f"{shown[:characters]}\n[line {first} is longer than {characters} characters]"
    elif first == 1 and last == len(lines):
        return text
    if last < len(lines):
        note = f"[lines {first} to {last} of {len(lines)}; read on with offset {last + 1}]"
    else:
        note = f"[lines {first} to {last} of {len(lines)}; end of the file]"
    return f"{shown}\n{note}"


def search(texts: Mapping[str, str], pattern: str) -> str:
    """All lines that match, as ``path:line: text``; a pattern that is no regex is taken literally.

    Matching is bounded in time; Refused where the pattern would take longer.
    """
    if not pattern or len(pattern) > PATTERN_CHARACTERS:
        raise Refused(f"the pattern must have 1 to {PATTERN_CHARACTERS} characters")
    try:
        compiled = regex.compile(pattern, regex.IGNORECASE)
    except (regex.error, ValueError, OverflowError, RecursionError):
        compiled = regex.compile(regex.escape(pattern), regex.IGNORECASE)
    found: list[str] = []
    try:
        for hit in _hits(texts, compiled):
            if len(found) == MATCHES:
                found.append(f"[more than {MATCHES} lines match; narrow the pattern]")
                break
            found.append(hit)
    except (TimeoutError, MemoryError):
        raise Refused("the pattern takes too long. Use a plain word or a simpler one") from None
    return "\n".join(found) or "[no line matches]"


def _hits(texts: Mapping[str, str], compiled: regex.Pattern[str]) -> Iterator[str]:
    end = time.monotonic() + SEARCH_SECONDS
    for path, text in texts.items():
        for number, line in enumerate(text.split("\n"), start=1):
            left = end - time.monotonic()
            if left <= 0:
                raise TimeoutError
            if (match := compiled.search(line, timeout=left, concurrent=True)) is not None:
                start = max(0, min(match.start(), len(line) - MATCH_CHARACTERS))
                yield f"{path}:{number}: {line[start : start + MATCH_CHARACTERS].strip()}"
