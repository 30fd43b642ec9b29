"""Secrets out of an exchange, wherever they stand in it: split over pieces and frames, or escaped.

An answer is searched as it came, and as it reads: the texts within its JSON, those of one place in
all frames of a stream put together. Pieces and their times are kept; what a secret spans goes to
the piece in which it ends.
"""

from __future__ import annotations

import codecs
import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote, unquote_plus

import msgspec

from evalstab.redact import is_secret_name, redactor, remember

DEEPEST = 40
_FRAME = re.compile(r"^data:[ ]?(\{[^\r\n]*)", re.MULTILINE)
_HEADERS = frozenset({"x-api-key", "api-key", "set-cookie", "cookie", "x-auth"})
_QUERY = frozenset({"key", "sig", "signature", "code", "auth"})
_TALK = frozenset({"messages", "input", "system", "instructions", "tools", "prompt", "functions"})
_NO_SECRETS = frozenset({"prompt_cache_key"})
_PLAIN = frozenset(
    {"id", "object", "model", "system_fingerprint", "service_tier", "type", "role", "finish_reason"}
)
"""What every frame repeats: searched as it came, not put together."""

Place = tuple[str | int, ...]


def clean_headers(headers: Mapping[str, str]) -> dict[str, str]:
    """Headers without secrets, which are remembered: a server may send them back."""
    clean: dict[str, str] = {}
    for name, value in headers.items():
        if is_secret_name(name) or name in _HEADERS:
            scheme, space, credential = value.partition(" ")
            remember(credential if space and scheme.lower() in ("bearer", "basic") else value)
            clean[name] = redactor().mark(value)
        else:
            clean[name] = redactor().shapes(value)
    return clean


def clean_query(query: str) -> str:
    """What stands behind an address's question mark, without secrets, which are remembered."""
    done = []
    for pair in query.split("&"):
        name, equals, value = pair.partition("=")
        if value and (is_secret_name(unquote_plus(name)) or unquote_plus(name) in _QUERY):
            remember(value, unquote_plus(value))
            pair = f"{name}{equals}{quote(redactor().mark(unquote_plus(value)))}"  # noqa: PLW2901
        done.append(pair)
    return redactor().shapes("&".join(done))


def clean_address(address: str) -> str:
    """An address without the password in it."""
    return redactor().text(address)


def clean_body(body: Any) -> Any:
    """A request's body: fields of secret names, and what looks like a credential in any text.

    Within the conversation and the tools names say nothing: they are what was really sent.
    """
    if not isinstance(body, dict):
        return _mapped(body, redactor().shapes)
    clean: dict[str, Any] = {}
    for name, value in body.items():
        if name in _TALK or name in _NO_SECRETS or not is_secret_name(name):
            clean[name] = _mapped(value, redactor().shapes)
        else:
            clean[name] = redactor().json({name: value})[name]
    return clean


def clean_pieces(pieces: Sequence[tuple[float, bytes]]) -> list[tuple[float, str]]:
    """The pieces of an answer as text without secrets, each with its time."""
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    texts = [decoder.decode(piece) for _, piece in pieces]
    if not texts:
        return []
    texts[-1] += decoder.decode(b"", final=True)
    whole = "".join(texts)
    changes = _changes(whole)
    if changes:
        texts = _cut(whole, texts, changes)
    return [(round(at, 6), text) for (at, _), text in zip(pieces, texts, strict=True)]


@dataclass(frozen=True, slots=True)
class _Change:
    """``start`` to ``end`` of a text becomes ``text``."""

    start: int
    end: int
    text: str


@dataclass(slots=True)
class _Frame:
    """One JSON document within an answer."""

    start: int
    end: int
    value: Any
    changed: bool = False


@dataclass(slots=True)
class _Thread:
    """The texts of one place in all frames: each with the frame, and where in it."""

    texts: list[str] = field(default_factory=list)
    homes: list[tuple[_Frame, Place]] = field(default_factory=list)


def _changes(whole: str) -> list[_Change]:
    """What must change in an answer: frames whose texts hold secrets, and raw text beside them."""
    frames = _frames(whole)
    for thread in _threads(frames).values():
        _clear(thread)
    changes: list[_Change] = []
    done = 0
    for frame in [*frames, None]:
        if frame is not None and not frame.changed:
            continue
        changes += _raw(whole, done, frame.start if frame else len(whole))
        if frame is not None:
            text = redactor().shapes(msgspec.json.encode(frame.value).decode())
            changes.append(_Change(frame.start, frame.end, text))
            done = frame.end
    return changes


def _raw(whole: str, start: int, end: int) -> list[_Change]:
    """Changes in a stretch of the answer as it came."""
    return [
        _Change(start + one.start, start + one.end, one.text) for one in _secrets(whole[start:end])
    ]


def _frames(whole: str) -> list[_Frame]:
    """The JSON documents of an answer: the whole of it, or each frame of a stream."""
    if whole.lstrip()[:1] in ("{", "["):
        found = _frame(0, len(whole), whole)
        return [found] if found is not None else []
    made = (_frame(one.start(1), one.end(1), one[1]) for one in _FRAME.finditer(whole))
    return [frame for frame in made if frame is not None]


def _frame(start: int, end: int, text: str) -> _Frame | None:
    try:
        return _Frame(start, end, msgspec.json.decode(text))
    except (msgspec.MsgspecError, RecursionError, UnicodeError):
        return None


def _threads(frames: Sequence[_Frame]) -> dict[Place, _Thread]:
    threads: dict[Place, _Thread] = {}
    for frame in frames:
        for place, key, text in _leaves(frame.value, (), ()):
            thread = threads.setdefault(key, _Thread())
            thread.texts.append(text)
            thread.homes.append((frame, place))
    return threads


def _leaves(value: Any, place: Place, key: Place) -> list[tuple[Place, Place, str]]:
    """All texts of a document: where each stands, and what tells its place in every frame."""
    if len(place) > DEEPEST:
        return []
    if isinstance(value, str):
        return [(place, key, value)]
    found: list[tuple[Place, Place, str]] = []
    if isinstance(value, dict):
        number = value.get("index")
        own = (*key, number) if isinstance(number, int) else key
        for name, item in value.items():
            if name in _PLAIN:
                continue
            found += _leaves(item, (*place, name), (*own, name))
    elif isinstance(value, list):
        for number, item in enumerate(value):
            named = isinstance(item, dict) and isinstance(item.get("index"), int)
            found += _leaves(item, (*place, number), (*key, "-" if named else number))
    return found


def _clear(thread: _Thread) -> None:
    """Take secrets out of texts that read as one, and note which frames change by it."""
    joined = "".join(thread.texts)
    changes = _secrets(joined)
    if not changes:
        return
    cleared = _cut(joined, thread.texts, changes)
    for (frame, place), before, after in zip(thread.homes, thread.texts, cleared, strict=True):
        if before != after:
            frame.changed = True
            _put(frame.value, place, after)


def _put(value: Any, place: Place, text: str) -> None:
    for step in place[:-1]:
        value = value[step]
    value[place[-1]] = text


def _cut(whole: str, texts: Sequence[str], changes: Sequence[_Change]) -> list[str]:
    """The texts that make up ``whole`` after the changes; one that lies across an edge goes to the
    text in which it ends."""
    edges = [0]
    for text in texts:
        edges.append(edges[-1] + len(text))
    done = ["" for _ in texts]
    at = 0
    for change in [*changes, _Change(len(whole), len(whole), "")]:
        _share(whole, edges, done, (at, change.start))
        if change.text:
            done[max(bisect_left(edges, change.end) - 1, 0)] += change.text
        at = change.end
    return done


def _share(whole: str, edges: Sequence[int], done: list[str], span: tuple[int, int]) -> None:
    """Give an unchanged stretch to the texts that it belongs to."""
    at, end = span
    number = bisect_right(edges, at) - 1
    while at < end:
        until = min(end, edges[number + 1])
        done[number] += whole[at:until]
        at = until
        number += 1


def _secrets(text: str) -> list[_Change]:
    return [_Change(*span) for span in redactor().spans(text)]


def _mapped(value: Any, clean: Callable[[str], str], depth: int = 0) -> Any:
    if isinstance(value, str):
        return clean(value)
    if depth > DEEPEST:
        return value
    if isinstance(value, dict):
        return {clean(key): _mapped(item, clean, depth + 1) for key, item in value.items()}
    if isinstance(value, list):
        return [_mapped(item, clean, depth + 1) for item in value]
    return value
