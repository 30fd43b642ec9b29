"""Which markup in the texts of a reply is a fault, and of which kind.

Serves B6 (a call leaked), B7 (residue beside a good call), B20 (a call in reasoning and nowhere
else), B21 (a call's markup that stops) and B26 (a call quoted by the server's error).
"""

from __future__ import annotations

import json
from collections.abc import Collection
from typing import Any

from evalstab.chat import IntendedCall, ToolSpec
from evalstab.endpoint.base import Asked
from evalstab.endpoint.calls import Calls
from evalstab.endpoint.halves import whole_characters
from evalstab.endpoint.markup import Region, find_leaks
from evalstab.endpoint.markup_grammar import Found
from evalstab.endpoint.names import offered_name
from evalstab.endpoint.texts import Texts
from evalstab.endpoint.usage import CutBy
from evalstab.findings import Channel, Finding, Side, finding


def judge_leaks(
    texts: Texts, calls: Calls, tools: tuple[ToolSpec, ...], cut: CutBy | None
) -> tuple[tuple[IntendedCall, ...], list[Finding]]:
    """The calls that were meant, and the findings about their markup."""
    offered = frozenset(tool.name for tool in tools)
    intended: list[IntendedCall] = []
    found: list[Finding] = []
    if texts.content:
        leaks = find_leaks(texts.content, offered)
        for region in leaks.regions:
            intended += _intended(region, "content", offered)
            found.append(_in_content(region, texts.content, calls, cut))
        if leaks.residue is not None:
            found += _residue(texts.content, leaks.residue, leaks.opens, calls, cut)
    if texts.reasoning and not intended and not calls.good:
        for region in find_leaks(texts.reasoning, offered).regions:
            if _acts(region, texts, offered):
                intended += _intended(region, "reasoning", offered)
                found.append(_finding("tool.in_reasoning", region, "reasoning", texts.reasoning))
    return tuple(intended), found


def _in_content(region: Region, text: str, calls: Calls, cut: CutBy | None) -> Finding:
    """The finding for one leaked call or section of calls in the content."""
    if calls.good and not region.calls:
        return _finding("tool.marker_residue", region, "content", text)
    if not region.closed and (cut is not None or not region.whole):
        cut_by: CutBy = cut or "unknown"
        return _finding("tool.truncated", region, "content", text, cut_by=cut_by)
    if region.whole and calls.good and all(_arrived(call, calls) for call in region.calls):
        return _finding("tool.marker_residue", region, "content", text)
    return _finding("tool.leaked_markup", region, "content", text, whole=region.whole)


def _arrived(meant: Found, calls: Calls) -> bool:
    """Whether the same call also came as a call."""
    for call in calls.calls:
        if call.complete and offered_name(meant.name, (call.name,)):
            try:
                if json.loads(call.arguments) == meant.values:
                    return True
            except (ValueError, RecursionError):
                continue
    return False


def _residue(
    text: str, place: tuple[int, int], opens: bool, calls: Calls, cut: CutBy | None
) -> list[Finding]:
    """A lone marker at the end: cosmetic beside a good call, else the beginning of a lost one."""
    region = Region("marker", place[0], place[1], (), closed=False)
    if calls.good:
        return [_finding("tool.marker_residue", region, "content", text)]
    if opens and not calls.calls:
        return [_finding("tool.truncated", region, "content", text, cut_by=cut or "unknown")]
    return []


def _acts(region: Region, texts: Texts, offered: Collection[str]) -> bool:
    """Whether markup in reasoning was meant as a call, and is not a rehearsal or an example."""
    known = any(offered_name(call.name, offered) for call in region.calls)
    at_end = not (texts.reasoning or "")[region.end :].strip()
    return known and (texts.content is None or at_end)


def _intended(region: Region, channel: Channel, offered: Collection[str]) -> list[IntendedCall]:
    return [
        IntendedCall(
            family=region.family,
            name=offered_name(call.name, offered) or call.name,
            arguments=whole_characters(call.arguments),
            channel=channel,
            start=region.start,
            end=region.end,
        )
        for call in region.calls
        if call.whole
    ]


def _finding(code: str, region: Region, channel: Channel, text: str, **detail: Any) -> Finding:
    named = [call.name for call in region.calls[:5]]
    side: dict[str, Side] = {"side": "harness"} if detail.get("cut_by") == "max_tokens_sent" else {}
    return finding(
        code,
        channel=channel,
        start=region.start,
        end=region.end,
        excerpt=text[region.start : region.end],
        detail={"family": region.family, "calls": named} | detail,
        **side,
    )


def quoted_call(message: str, asked: Asked) -> dict[str, Any]:
    """The call that an error message of the server's parser quotes, as a finding's detail."""
    offered = frozenset(tool.name for tool in asked.tools)
    calls = [call for region in find_leaks(message, offered).regions for call in region.calls]
    return {"intended": calls[0].name} if calls else {}
