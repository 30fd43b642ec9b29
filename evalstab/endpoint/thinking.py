"""Thinking between tags: taken out of the content, and the tags taken off the reasoning.

Works on the assembled text, so that a tag may be cut anywhere. Serves A4 (inline tags), A11
(the opening tag is missing), A12 (the closing one is), A19 (a budget sentence before the closing
tag), A20 (answer wrappers), A21 (Gemma's channel), A24 (only the first closing tag closes) and the
think channel of Kimi K3. A tag that is quoted or mentioned in a sentence is text.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from evalstab.endpoint.quoting import Quotes, find_quotes

MAX_TAGS = 2000
MAX_INDENT = 200


@dataclass(frozen=True, slots=True)
class TagPair:
    """Tags around thinking; ``native`` where a server documents them as its form of delivery.

    ``left_by`` are openings of other channels by which a model may leave without closing.
    """

    opening: str
    closing: str
    native: bool = True
    left_by: tuple[str, ...] = ()


PAIRS = (
    TagPair("<think>", "</think>"),
    TagPair("<thinking>", "</thinking>"),
    TagPair("<thought>", "</thought>"),
    TagPair("<reasoning>", "</reasoning>"),
    TagPair("<think:opensource>", "</think:opensource>"),
    TagPair("<seed:think>", "</seed:think>"),
    TagPair("<mm:think>", "</mm:think>"),
    TagPair("[THINK]", "[/THINK]"),
    TagPair("◁think▷", "◁/think▷"),
    TagPair("<|begin_of_thought|>", "<|end_of_thought|>"),
    TagPair("<|START_THINKING|>", "<|END_THINKING|>", native=False),
    TagPair("<|channel>thought", "<channel|>", native=False),
    TagPair(
        "<|open|>think<|sep|>",
        "<|close|>think<|sep|>",
        native=False,
        left_by=("<|open|>response<|sep|>", "<|open|>tools<|sep|>"),
    ),
)
WRAPPERS = (
    ("<answer>", "</answer>"),
    ("<answer:opensource>", "</answer:opensource>"),
    ("<response>", "</response>"),
    ("<|begin_of_solution|>", "<|end_of_solution|>"),
    ("<|open|>response<|sep|>", "<|close|>response<|sep|>"),
)
TAG_PIECES = frozenset({"think>", "/think>", "<think", "</think"})

_OPENING = {pair.opening: pair for pair in PAIRS}
_CLOSING = {pair.closing: pair for pair in PAIRS}
_ANY = re.compile(
    "|".join(re.escape(tag) for pair in PAIRS for tag in (pair.opening, pair.closing))
)
_BESIDE_MENTION = " \t\"'()[]“”„«».,;:!?"


@dataclass(slots=True)
class Split:
    """Thinking and visible text of one channel.

    ``pair`` is the pair of a well-formed or open leading block. ``leaks`` are pieces of thinking
    that arrived where an answer belongs; ``unclosed`` says that a block was open at the end.
    """

    thought: list[str] = field(default_factory=list)
    visible: list[str] = field(default_factory=list)
    leaks: list[str] = field(default_factory=list)
    pair: TagPair | None = None
    unclosed: bool = False
    tagged: bool = False


def split_content(text: str, beside_field: bool) -> Split:
    """Separate thinking from answer in a content text.

    ``beside_field`` says that reasoning came in a field of its own, so that any tagged block here
    is a leak and not the form of delivery.
    """
    split = Split()
    tags = _real_tags(text)
    if not tags:
        split.visible.append(text)
        return split
    split.tagged = True
    position = 0
    first = tags[0]
    if first.group() in _CLOSING:
        _leak(split, text[: first.start()])
        position = first.end()
        tags = tags[1:]
    _blocks(text, position, tags, split, beside_field)
    if split.visible:
        split.visible = [_unwrap("".join(split.visible))]
    return split


def _blocks(
    text: str, position: int, tags: list[re.Match[str]], split: Split, beside_field: bool
) -> None:
    """Walk over the opening tags from a position on, each up to its closing tag."""
    closings = [tag for tag in tags if tag.group() in _CLOSING]
    leading = True
    for tag in tags:
        pair = _OPENING.get(tag.group())
        if pair is None or tag.start() < position:
            continue
        leading = leading and not text[position : tag.start()].strip()
        if not leading and not _begins_line(text, tag.start()):
            continue
        split.visible.append(text[position : tag.start()])
        while closings and (closings[0].start() < tag.end() or closings[0].group() != pair.closing):
            closings.pop(0)
        end = closings[0] if closings else None
        stop, position = _stop(text, tag.end(), end, pair)
        inner = text[tag.end() : stop]
        if leading and pair.native and not split.thought and not beside_field:
            split.pair = pair
            split.thought.append(inner)
        else:
            _leak(split, inner, empty_too=not pair.native)
        if end is None and stop == len(text):
            split.unclosed = True
            return
    split.visible.append(text[position:])


def _stop(text: str, start: int, closing: re.Match[str] | None, pair: TagPair) -> tuple[int, int]:
    """Where a block ends and where the text goes on: its closing tag, or another channel."""
    stop, goes_on = (closing.start(), closing.end()) if closing else (len(text), len(text))
    for opening in pair.left_by:
        place = text.find(opening, start, stop)
        if place >= 0:
            stop = goes_on = place
    return stop, goes_on


def _leak(split: Split, thought: str, empty_too: bool = False) -> None:
    if thought.strip() or empty_too:
        split.leaks.append(thought)
    if thought.strip():
        split.thought.append(thought)


def split_reasoning(text: str) -> tuple[str | None, str | None]:
    """A reasoning field without tags, and the answer that follows a closing tag inside it.

    Either is ``None`` where nothing is left. Several closing tags are a loop and stay as they are.
    """
    if text.strip() in TAG_PIECES:
        return None, None
    body = text
    for pair in PAIRS:
        if body.lstrip().startswith(pair.opening):
            body = body.lstrip()[len(pair.opening) :]
            break
    closings = [tag for tag in _real_tags(body) if tag.group() in _CLOSING]
    if len(closings) != 1:
        return (body if body.strip() else None), None
    thought, answer = body[: closings[0].start()], body[closings[0].end() :]
    return (thought if thought.strip() else None), (answer if answer.strip() else None)


def _real_tags(text: str) -> list[re.Match[str]]:
    """The tags of a text that are neither quoted nor merely mentioned, at most MAX_TAGS."""
    found: list[re.Match[str]] = []
    quotes: Quotes | None = None
    for tag in _ANY.finditer(text):
        if quotes is None:
            quotes = find_quotes(text)
        if quotes.covers(tag.start(), closed_only=True) or _mentioned(text, tag):
            continue
        found.append(tag)
        if len(found) >= MAX_TAGS:
            break
    return found


def _mentioned(text: str, tag: re.Match[str]) -> bool:
    """Whether the tag stands inside a sentence, like a word: blanks or signs on both sides."""
    if tag.start() == 0 or tag.end() >= len(text):
        return False
    before, after = text[tag.start() - 1], text[tag.end()]
    return (
        before in _BESIDE_MENTION
        and after in _BESIDE_MENTION
        and not (before in ".!?:;,)" and after in " \t")
    )


def _begins_line(text: str, position: int) -> bool:
    start = max(0, position - MAX_INDENT)
    line = text.rfind("\n", start, position)
    return (line >= 0 or start == 0) and not text[line + 1 if line >= 0 else 0 : position].strip()


def _unwrap(text: str) -> str:
    """The text inside an answer wrapper, where one opens it; what follows the wrapper stays."""
    body = text.strip()
    for opening, closing in WRAPPERS:
        if body.startswith(opening):
            inside, _, behind = body[len(opening) :].partition(closing)
            return inside + behind
    return text
