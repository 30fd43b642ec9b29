"""Calls that leaked as text: where they stand, and which calls were meant.

One table of marker families serves A17 (calls of gpt-oss), B6, B7 (residue), B19 (malformed
markup), B20 (in reasoning) and B21 (open at the end), always on assembled text. A marker that is
quoted, or mentioned without the body of a call, is no leak. Nothing found here is executed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection
from dataclasses import dataclass, field

from evalstab.endpoint.heads import LONGEST, begins_call
from evalstab.endpoint.markup_grammar import MAX_BODY_CHARS, Found, json_call, parse_body
from evalstab.endpoint.names import offered_name
from evalstab.endpoint.quoting import Quotes, find_quotes

MAX_REGIONS = 64
MAX_MENTIONS = 2000
MAX_FRUITLESS = 40
WINDOW = 400
MIN_PARTIAL = 6

_BAR = r"[|｜‖]{1,2}"
_COMMENTARY = (
    r"commentary(?:(?= to=)|(?=[^<]{0,40}(?:<\|constrain\|>[^<]{0,20})?<\|message\|>\s{0,9}\{))"
)
_HARMONY_END = r"<\|(?:call|end|return)\|>"


@dataclass(frozen=True, slots=True)
class Family:
    """Markers of one format: patterns of the opening and of what closes it (empty: nothing).

    ``object_alone`` counts a bare JSON object behind the opening as a call without a name, and
    ``fragment`` counts the opening itself: parameters that lost their call (B8).
    """

    name: str
    opening: str
    closing: str = ""
    object_alone: bool = False
    fragment: bool = False


FAMILIES = (
    Family("minimax", r"<minimax:tool_call>", r"</minimax:tool_call>"),
    Family("minimax_m3", r"\]<\]minimax\[>\[<tool_call>", r"\]<\]minimax\[>\[</tool_call>"),
    Family("hunyuan", r"<tool_calls:opensource>", r"</tool_calls:opensource>"),
    Family("hunyuan", r"<tool_call:opensource>", r"</tool_call:opensource>"),
    Family("minimax_m1", r"<tool_calls>", r"</tool_calls>"),
    Family("tool_call", r"<tool_call>", r"</tool_call>"),
    Family("seed", r"<seed:tool_call>", r"</seed:tool_call>"),
    Family("glm", r"<arg_key>(?=[^<]{1,100}</arg_key>)", r"</arg_value>", fragment=True),
    Family("qwen", r"<function=(?=[\w.\"'-]{1,100}>)", r"</function>(?:\s{0,9}</tool_call>)?"),
    Family("kimi", r"<\|tool_calls?_section_begin\|>", r"<\|tool_calls?_section_end\|>"),
    Family("kimi", r"<\|tool_call_begin\|>", r"<\|tool_call_end\|>"),
    Family("kimi", r"functions\.(?=[\w-]{1,64}:\d{1,4}\s{0,9}\{)"),
    Family("kimi_k3", r"<\|open\|>tools<\|sep\|>", r"<\|close\|>tools<\|sep\|>"),
    Family("kimi_k3", r"<\|open\|>call(?= )", r"<\|close\|>call<\|sep\|>"),
    Family(
        "deepseek",
        rf"<{_BAR}DSML{_BAR}(?:function_calls|tool_calls)>",
        rf"</{_BAR}DSML{_BAR}(?:function_calls|tool_calls)>",
    ),
    Family("deepseek", rf"<{_BAR}DSML{_BAR}invoke(?= )", rf"</{_BAR}DSML{_BAR}invoke>"),
    Family(
        "deepseek",
        rf"<{_BAR}DSML{_BAR}parameter(?= name=)",
        rf"</{_BAR}DSML{_BAR}parameter>",
        fragment=True,
    ),
    Family("deepseek", r"<[|｜]tool[▁_]calls[▁_]begin[|｜]>", r"<[|｜]tool[▁_]calls[▁_]end[|｜]>"),
    Family("deepseek", r"<｜tool▁call▁begin｜>", r"<｜tool▁call▁end｜>"),
    Family("anthropic", r"<(?:antml:)?function_calls>", r"</(?:antml:)?function_calls>"),
    Family("anthropic", r"<(?:antml:)?invoke(?= name=)", r"</(?:antml:)?invoke>"),
    Family("mistral", r"\[TOOL_CALLS\]"),
    Family("lfm", r"<\|tool_call_start\|>", r"<\|tool_call_end\|>"),
    Family("gemma", r"<\|tool_call>", r"<tool_call\|>"),
    Family("granite", r"<\|tool_call\|>", r"<\|/tool_call\|>"),
    Family("llama", r"<\|python_tag\|>"),
    Family("llama", r"<\|python_start\|>", r"<\|python_end\|>"),
    Family("cohere", r"<\|START_ACTION\|>", r"<\|END_ACTION\|>"),
    Family("nemotron", r"<TOOLCALL>", r"</TOOLCALL>"),
    Family("internlm", r"<\|action_start\|>(?:<\|plugin\|>)?", r"<\|action_end\|>"),
    Family("harmony", rf"<\|channel\|>{_COMMENTARY}", _HARMONY_END, object_alone=True),
    Family("harmony", rf"<\|start\|>assistant<\|channel\|>{_COMMENTARY}", _HARMONY_END, True),
    Family("harmony", r"<\|start\|>assistant(?= to=)", _HARMONY_END),
    Family("harmony", r"assistantcommentary(?= to=functions\.)", r"<\|(?:call|end)\|>"),
    Family("harmony", r"commentary(?= to=functions\.)", r"<\|(?:call|end)\|>"),
)
MARKERS = (
    "<minimax:tool_call>", "</minimax:tool_call>", "]<]minimax[>[<tool_call>", "<tool_calls>",
    "<tool_call>", "</tool_call>", "</tool_calls>", "<seed:tool_call>", "<function=", "</function>",
    "<|tool_calls_section_begin|>", "<|tool_call_section_begin|>", "<|tool_calls_section_end|>",
    "<|tool_call_begin|>", "<|tool_call_end|>", "<|open|>tools<|sep|>", "<|close|>message<|sep|>",
    "<|close|>response<|sep|>", "<｜DSML｜function_calls>", "<｜DSML｜tool_calls>",
    "<|DSML|function_calls>", "<|DSML|tool_calls>", "<｜｜DSML｜｜tool_calls>",
    "<｜｜DSML｜｜function_calls>", "<‖DSML‖tool_calls>", "<‖DSML‖function_calls>",
    "<｜tool▁calls▁begin｜>", "<｜tool▁calls▁end｜>", "<function_calls>", "[TOOL_CALLS]",
    "<|tool_call_start|>", "<|tool_call>", "<tool_call|>", "<|tool_call|>", "<|python_tag|>",
    "<|START_ACTION|>", "<TOOLCALL>", "<|action_start|>", "<tool_call:opensource>",
    "<tool_calls:opensource>", "<|im_end|>", "<|im_start|>", "<|endoftext|>", "<|eot_id|>",
    "<|end|>", "<|call|>", "<|return|>", "<end_of_turn>", "<｜end▁of▁sentence｜>", "[e~[", "]~b]",
    "]~!b[", "<|eom_id|>", "<|end_of_msg|>", "<|user|>", "<|observation|>", "<|assistant|>",
)  # fmt: skip
CONTROL = frozenset(MARKERS[MARKERS.index("<|im_end|>") :])

# Two patterns for one search: without groups it runs ten times as fast, with them it tells which.
_ANY_OPENING = re.compile("|".join(family.opening for family in FAMILIES))
_OPENING = re.compile("|".join(f"(?P<f{n}>{f.opening})" for n, f in enumerate(FAMILIES)))
_CLOSING = tuple(re.compile(f.closing) if f.closing else None for f in FAMILIES)
_BODY = re.compile(
    r"""\s{0,99}(?:[\[{<=]|tool[=\s]|to=|name=|invoke\s|call:|functions\.
        |[\w.:-]{1,100}\s{0,9}(?:<\|?arg_|<tool_sep|\(|\[ARGS\]|\[CALL_ID|<[|｜]|\{|json\b|:\d|>))""",
    re.VERBOSE,
)


@dataclass(frozen=True, slots=True)
class Region:
    """One leaked call or section: code point offsets, its calls, and whether it was closed."""

    family: str
    start: int
    end: int
    calls: tuple[Found, ...]
    closed: bool

    @property
    def whole(self) -> bool:
        """Whether there are calls and none of them stops before its end."""
        return bool(self.calls) and all(call.whole for call in self.calls)


@dataclass(slots=True)
class Leaks:
    """What markup a text holds; ``residue`` is a lone marker at the end, or a piece of one.

    ``opens`` says that the residue is the beginning of a call, not the end of one.
    """

    regions: list[Region] = field(default_factory=list)
    residue: tuple[int, int] | None = None
    opens: bool = False


def find_leaks(text: str, offered: Collection[str]) -> Leaks:
    """Every leaked call in a text, at most MAX_REGIONS, and the residue at its end."""
    leaks = Leaks()
    bare = _bare(text, offered)
    if bare is not None:
        leaks.regions.append(bare)
        return leaks
    quotes: Quotes | None = None
    position = mentions = fruitless = 0
    begun: int | None = None
    while (place := _ANY_OPENING.search(text, position)) is not None:
        marker = _OPENING.match(text, place.start())
        if marker is None:
            break
        position = marker.end()
        quotes = find_quotes(text) if quotes is None else quotes
        quoted = quotes.covers(marker.start())
        if (
            begun is None
            and not quoted
            and begins_call(text[position : position + LONGEST + 1], offered)
        ):
            begun = marker.start()
        if quoted or not _has_body(text, marker, offered):
            mentions += 1
        elif (region := _region(text, marker, offered)) is not None:
            leaks.regions.append(region)
            position = max(position, region.end)
        else:
            fruitless += 1
        spent = mentions >= MAX_MENTIONS or fruitless >= MAX_FRUITLESS
        if spent or len(leaks.regions) >= MAX_REGIONS:
            break
    _find_residue(text, leaks.regions[-1].end if leaks.regions else 0, leaks)
    if begun is not None and (not leaks.regions or leaks.regions[-1].end <= begun):
        leaks.residue, leaks.opens = (begun, len(text.rstrip())), True
    return leaks


def _has_body(text: str, marker: re.Match[str], offered: Collection[str]) -> bool:
    """Whether what follows a marker looks like a call rather than like a sentence."""
    window = text[marker.end() : marker.end() + WINDOW]
    number = int((marker.lastgroup or "f0")[1:])
    return FAMILIES[number].fragment or bool(_BODY.match(window)) or _named(window, offered)


def _region(text: str, marker: re.Match[str], offered: Collection[str]) -> Region | None:
    """The leak that a marker opens, ``None`` where no call follows it."""
    number = int((marker.lastgroup or "f0")[1:])
    family, closing = FAMILIES[number], _CLOSING[number]
    window = text[marker.end() : marker.end() + WINDOW]
    end = closing.search(text, marker.end()) if closing else None
    stop = end.end() if end else len(text)
    calls = tuple(parse_body(text[marker.start() : min(stop, marker.start() + MAX_BODY_CHARS)]))
    bare_object = family.object_alone and "<|message|>" in window
    if not (calls or bare_object or family.fragment or _named(window, offered)):
        return None
    return Region(family.name, marker.start(), stop, calls, end is not None)


def _named(window: str, offered: Collection[str]) -> bool:
    """Whether the text begins with the name of an offered tool."""
    start = window.lstrip()
    return any(
        start.startswith(name) and not start[len(name) : len(name) + 1].isalnum()
        for name in offered
        if name
    ) and bool(re.match(r"[\w.:-]+\s*(?:\Z|[<>\[({|｜]|\w+\s*</arg_)", start))


def _bare(text: str, offered: Collection[str]) -> Region | None:
    """A text that is nothing but the JSON or Python form of calls to offered tools."""
    body = text.strip()
    if body[:1] not in ("{", "[") or len(body) > MAX_BODY_CHARS:
        return None
    try:
        value = json.loads(body)
    except RecursionError:
        return None
    except ValueError:
        calls = parse_body(body) if re.match(r"\[\s*\w+\(.*\)\s*\]\Z", body, re.DOTALL) else []
    else:
        items = value if isinstance(value, list) else [value]
        found = [json_call(item) for item in items]
        calls = [call for call in found if call is not None] if all(found) else []
    if not calls or not all(offered_name(call.name, offered) for call in calls):
        return None
    start = text.index(body[0])
    return Region("bare", start, start + len(body), tuple(calls), closed=True)


def _find_residue(text: str, after: int, leaks: Leaks) -> None:
    """Note a marker, or the beginning of one, with which the text ends."""
    body = text.rstrip()
    if len(body) <= after:
        return
    for marker in MARKERS:
        for length in range(
            len(marker), MIN_PARTIAL - 1 if len(marker) > MIN_PARTIAL else len(marker) - 1, -1
        ):
            if body.endswith(marker[:length]) and len(body) - length >= after:
                start = len(body) - length
                if find_quotes(text).covers(start):
                    return
                leaks.residue = (start, len(body))
                leaks.opens = marker not in CONTROL and "/" not in marker and "end" not in marker
                return
