"""Control tokens of a model that arrive as visible text."""

from collections.abc import Iterator

import regex

from .inputs import InputIndex
from .spans import Span, Tier
from .zones import Zones

_SURE = regex.compile(
    r"<[|｜][^|｜<>\s]{1,48}[|｜]>"
    r"|\[e~\[|\]~!?b\]|\]~b\[|\]~!b\[|\[~b\]"
    r"|<</?SYS>>|\[/?INST\]|\[(?:TOOL_CALLS|TOOL_RESULTS|AVAILABLE_TOOLS|gMASK|sMASK)\]"
    r"|</?(?:start|end)_of_(?:turn|image|text|message|role)>|<(?:bos|eos|eod|eot|sop|eop)>"
    r"|<(?:fim_prefix|fim_suffix|fim_middle|file_sep|repo_name|endoftext)>"
    r"|<(?:extra_id_|reserved_|unused)\d{1,4}>|<0x[0-9A-F]{2}>"
)
_PROBABLE = regex.compile(
    r"(?P<struck><s>[^<>\n]{1,400}</s>)"
    r"|</?s>|<(?:pad|unk|mask|cls|sep)>|\[(?:PAD|UNK|CLS|SEP|MASK|BOS|EOS)\]"
)
_BYTE_LEVEL = regex.compile(
    r"(?:Ġ[\p{L}\p{N}\p{P}]{1,24}){3,}+|(?:▁[\p{L}\p{N}\p{P}]{1,24}){3,}+|Ċ{2,}"
)


def special_tokens(text: str, inputs: InputIndex | None = None) -> list[Span]:
    """Control tokens in the prose of a text, in order; kind "special_token".

    Tokens in code, URLs and paths are quotations and left out. Tokens that stood in an input
    are marked as copied. Probable: markers that also have an honest use (`<s>`, `[MASK]`) and
    words that still carry the marks of their tokeniser (`Ġ`, `▁`); sure: all others.
    """
    found = sorted(_matches(text))
    if not found:
        return []
    zones = Zones(text)
    return [
        Span(
            kind="special_token",
            start=start,
            end=end,
            script="Common",
            graphemes=end - start,
            copied=inputs is not None and inputs.has_verbatim(text[start:end]),
            tier=tier,
            detail={"token": text[start : min(end, start + 64)]},
        )
        for start, end, tier in found
        if zones.at(start)[0] is None
    ]


def _matches(text: str) -> Iterator[tuple[int, int, Tier]]:
    if any(bracket in text for bracket in "<[]"):
        for match in _SURE.finditer(text):
            yield match.start(), match.end(), "sure"
        for match in _PROBABLE.finditer(text):
            if match.group("struck") is None:
                yield match.start(), match.end(), "probable"
    if any(mark in text for mark in "Ġ▁Ċ"):
        for match in _BYTE_LEVEL.finditer(text):
            yield match.start(), match.end(), "probable"
