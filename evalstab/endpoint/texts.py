"""Which text is thinking and which is the answer, whatever field or form they came in.

Serves A1 and A2 (one source of several, never two added up), A5 (typed blocks), A12 and A16 (one
text in both fields), A19 (budget sentence), C16 (halves of characters) and, through ``thinking.py``
and ``harmony.py``, the inline forms. What is moved is thinking only; markup of calls stays where it
is.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from evalstab.endpoint.base import Asked, ReasoningField
from evalstab.endpoint.doubling import Joined, join
from evalstab.endpoint.halves import whole_characters
from evalstab.endpoint.harmony import split_channels
from evalstab.endpoint.thinking import TagPair, split_content, split_reasoning
from evalstab.findings import Channel, Finding, finding

MIN_REPEATED_CHARS = 40
SOURCES: tuple[ReasoningField, ...] = (
    "reasoning_details", "reasoning_content", "reasoning", "blocks",
)  # fmt: skip

_BUDGET_SENTENCE = re.compile(
    r"\s*considering the limited time by the user[^\n.]{0,200}(?:\.|\n|\Z)", re.IGNORECASE
)
"""What servers write when a thinking budget runs out; settable, this is the common one (A19)."""
_UNTAGGED = re.compile(
    r"\s*(?:(?:\*\*|#{1,4} )?thinking process:|here'?s (?:a|my) thinking process|\[thinking\])",
    re.IGNORECASE,
)
_SOUNDS_LIKE_THINKING = re.compile(
    r"\s*(?:okay|ok|alright|hmm|wait|so|well)\b[,. ]|\s*(?:the user|let me|let's|we need|we have|"
    r"i need|i should|i have to|first,? i|looking at|der (?:benutzer|nutzer)|die nutzerin|ich muss|"
    r"ich soll|zuerst|zunächst|also,? |gut, |lass mich|mal sehen|moment)",
    re.IGNORECASE,
)


@dataclass(slots=True)
class Texts:
    """The two texts of a reply and what was wrong with the way they came.

    ``open`` says that thinking was still open by its own markup; ``form`` is the field or form in
    which the reasoning came and ``tags`` its tags where it came inline.
    """

    reasoning: str | None = None
    content: str | None = None
    form: ReasoningField | None = None
    tags: TagPair | None = None
    open: bool = False
    findings: list[Finding] = field(default_factory=list)

    def add(self, code: str, channel: Channel, text: str | None = None, **detail: str) -> None:
        """Note one fault in the form of these texts."""
        excerpt = text.strip() if text else None
        self.findings.append(finding(code, channel=channel, excerpt=excerpt, detail=detail))


def read_texts(
    content: Sequence[str],
    sources: Mapping[ReasoningField, Sequence[str]],
    asked: Asked,
    truncated: bool,
) -> Texts:
    """Thinking and answer out of the deltas of each field.

    ``truncated`` says that the response ended at a limit. Serves the decision of A23 first: what
    the transport doubled is counted once.
    """
    texts = Texts()
    _choose_source(sources, texts)
    visible = _join(content, "content", texts)
    if texts.reasoning is not None:
        thought, answer = split_reasoning(texts.reasoning)
        texts.reasoning = thought
        if answer is not None and not (visible or "").strip():
            texts.add("reasoning.content_in_reasoning", "reasoning", answer)
            visible = answer
    if texts.reasoning is None:
        texts.form = None
    if visible and not _same_twice(visible, texts, asked, truncated):
        _split_visible(visible, texts)
    _untagged(texts, asked, truncated)
    texts.content = texts.content if texts.content and texts.content.strip() else None
    texts.reasoning = texts.reasoning if texts.reasoning and texts.reasoning.strip() else None
    return texts


def _choose_source(sources: Mapping[ReasoningField, Sequence[str]], texts: Texts) -> None:
    """One source of reasoning: details where they hold text, else the field that says most."""
    lengths = {name: sum(map(len, sources.get(name, ()))) for name in SOURCES}
    if lengths["reasoning_details"]:
        chosen: ReasoningField = "reasoning_details"
    else:
        chosen = max(SOURCES, key=lengths.__getitem__)
    if lengths[chosen]:
        texts.form = chosen
        texts.reasoning = _join(sources[chosen], "reasoning", texts)


def _join(parts: Sequence[str], channel: Channel, texts: Texts) -> str | None:
    joined: Joined = join(parts)
    if joined.doubled is not None:
        text = joined.text
        texts.add("reasoning.duplicated_by_transport", channel, text, form=joined.doubled)
    return whole_characters(joined.text) if joined.text else None


def _same_twice(visible: str, texts: Texts, asked: Asked, truncated: bool) -> bool:
    """Settle content that repeats the reasoning (A12, A16); whether there was such a case."""
    thought = (texts.reasoning or "").strip()
    answer = visible.strip()
    if not thought or not answer.startswith(thought):
        return False
    if answer == thought:
        if truncated and asked.thinking is not False:
            return True
        texts.add("reasoning.content_in_reasoning", "reasoning", thought, form="both")
        texts.content, texts.reasoning, texts.form = visible, None, None
        return True
    if len(thought) < MIN_REPEATED_CHARS:
        return False
    texts.add("reasoning.leaked_to_content", "content", thought, form="repeated")
    texts.content = answer[len(thought) :]
    return True


def _split_visible(visible: str, texts: Texts) -> None:
    """Move thinking out of the content: channels first, then tags.

    A tagged block that says what the reasoning field says is the same text, delivered twice.
    """
    channels = split_channels(visible)
    if channels is not None:
        texts.content = channels.visible
        texts.open = channels.unclosed
        if channels.unwrapped:
            texts.add("reasoning.leaked_to_content", "content", visible, form="channel")
        if channels.thought.strip():
            _add_thought(channels.thought, texts)
        return
    forced = _BUDGET_SENTENCE.match(visible)
    if forced is not None and "</think>" not in visible[forced.end() : forced.end() + 20]:
        texts.add("reasoning.leaked_to_content", "content", forced.group(), form="budget")
        _add_thought(forced.group(), texts)
        visible = visible[forced.end() :]
    split = split_content(visible, beside_field=texts.reasoning is not None)
    texts.content = "".join(split.visible)
    if texts.reasoning and [leak.strip() for leak in split.leaks] == [texts.reasoning.strip()]:
        texts.form = "inline"
        return
    texts.open = split.unclosed
    texts.tags = split.pair
    for leak in split.leaks:
        texts.add("reasoning.leaked_to_content", "content", leak, form="tags")
    thought = "\n".join(piece for piece in split.thought if piece.strip())
    if thought:
        _add_thought(thought, texts)


def _add_thought(thought: str, texts: Texts) -> None:
    if texts.reasoning is None:
        texts.reasoning, texts.form = thought, "inline"
    else:
        texts.reasoning = f"{texts.reasoning}\n{thought}"


def _untagged(texts: Texts, asked: Asked, truncated: bool) -> None:
    """Thinking without any tag: a known heading, or cut at the limit and sounding like it (A12)."""
    if texts.reasoning is not None or texts.content is None or texts.findings:
        return
    heading = _UNTAGGED.match(texts.content) is not None
    if truncated and (
        heading or (asked.thinking is True and _SOUNDS_LIKE_THINKING.match(texts.content))
    ):
        texts.reasoning, texts.content, texts.form = texts.content, None, "inline"
        texts.open = True
    elif heading:
        texts.add("reasoning.leaked_to_content", "content", texts.content, form="untagged")


def is_json(text: str) -> bool:
    """Whether a text is a JSON object or list, as a demanded answer would be."""
    body = text.strip()
    if body[:1] not in ("{", "["):
        return False
    try:
        json.loads(body)
    except (ValueError, RecursionError):
        return False
    return True
