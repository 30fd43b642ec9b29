"""The channel markup of gpt-oss where a server lets it through as text.

Serves A17: ``analysis`` is thinking, ``final`` is the answer, ``commentary`` with a recipient is a
call. Servers that strip the special tokens leave the names glued together
(``analysisWe add.assistantfinalfour``). What belongs to a call stays in the text as received.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from evalstab.endpoint.quoting import find_quotes

MAX_SEGMENTS = 500

_HEADER = re.compile(
    r"(?:<\|start\|>(?:assistant)?(?P<to>\s{1,9}to=[\w.]{1,80})?\s{0,9})?"
    r"<\|channel\|>(?P<channel>[^<]{0,120})(?:<\|constrain\|>[^<]{0,40})?<\|message\|>"
)
_TERMINATOR = re.compile(r"<\|(?:end|return|call)\|>|(?=<\|(?:start|channel)\|>)")
_GLUED = re.compile(r"\s*analysis(?=[A-Z\"'“(*\d])")
_GLUED_FINAL = "assistantfinal"
_GLUED_CALL = "assistantcommentary"


@dataclass(frozen=True, slots=True)
class Channels:
    """Thinking and visible text; ``unclosed`` where the text ends inside the analysis.

    ``unwrapped`` says that markup was taken off, even if there was no thinking in it.
    """

    thought: str
    visible: str
    unclosed: bool
    unwrapped: bool = True


def split_channels(text: str) -> Channels | None:
    """Separate the channels of a text, or ``None`` where it is not made of channels."""
    if "<|channel|>" in text:
        return _tagged(text)
    opening = _GLUED.match(text)
    return _glued(text, opening.end()) if opening else None


def _tagged(text: str) -> Channels | None:
    quotes = find_quotes(text)
    headers = [h for h in _HEADER.finditer(text) if not quotes.covers(h.start())][:MAX_SEGMENTS]
    if not headers:
        return None
    thought: list[str] = []
    visible: list[str] = []
    unclosed = unwrapped = False
    position = 0
    for header in headers:
        if header.start() < position:
            continue
        visible.append(text[position : header.start()])
        stop = _TERMINATOR.search(text, header.end())
        body = text[header.end() : stop.start() if stop else len(text)]
        position = stop.end() if stop else len(text)
        channel = header.group("channel").strip().lower()
        unclosed = channel.startswith("analysis") and stop is None
        if header.group("to") or _is_call(channel, body):
            visible.append(text[header.start() : position])
        else:
            unwrapped = True
            (thought if channel.startswith("analysis") else visible).append(body)
    visible.append(text[position:])
    return Channels("\n".join(thought), "".join(visible), unclosed, unwrapped)


def _is_call(channel: str, body: str) -> bool:
    """Whether a segment is a call: it has a recipient, or is a bare object for one."""
    return "to=" in channel or (channel.startswith("commentary") and body.lstrip().startswith("{"))


def _glued(text: str, start: int) -> Channels | None:
    final = text.find(_GLUED_FINAL, start)
    call = text.find(_GLUED_CALL, start)
    if call >= 0 and (final < 0 or call < final):
        return Channels(text[start:call], text[call:], unclosed=False)
    if final >= 0:
        return Channels(text[start:final], text[final + len(_GLUED_FINAL) :], unclosed=False)
    if text[start : start + 1].isupper():
        return Channels(text[start:], "", unclosed=True)
    return None
