"""Series whose records hold what a page must survive: hostile texts, and very many of them."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import msgspec

from evalstab.chat import ToolCall, Usage
from evalstab.endpoint.base import Attempt, Clock, Reply
from evalstab.series.files import write_json
from evalstab.series.folder import SeriesFolder, open_series
from evalstab.trial.record import Record, Step, ToolResult, TrialEnded, TrialStarted
from tests.report.report_cases import FIVE_RUN

PAYLOADS = {
    "script": "<script>window.pwned=1;alert(1)</script>",
    "closing": "</script><script>window.pwned=2</script><!--<script>",
    "image": '<img src="http://127.0.0.1:9/x.png" onerror="window.pwned=3">',
    "svg": '<svg onload="window.pwned=4"><script>alert(4)</script></svg>',
    "frame": '<iframe srcdoc="<script>parent.pwned=5</script>"></iframe>',
    "style": "</style><style>@import url(http://127.0.0.1:9/s.css);*{display:none}</style>",
    "refresh": '<meta http-equiv="refresh" content="0;url=http://127.0.0.1:9/">',
    "base": '<base href="http://127.0.0.1:9/"><link rel=prefetch href=http://127.0.0.1:9/p>',
    "attribute": '" autofocus onfocus="window.pwned=6" x="',
    "quote": "' onmouseover='window.pwned=7' x='",
    "link": "[click](javascript:window.pwned=8) ![i](http://127.0.0.1:9/md.png)",
    "address": "http://127.0.0.1:9/ javascript:alert(9) data:text/html,<script>alert()</script>",
    "ansi": "\x1b[2J\x1b]0;title\x07\x1b]8;;http://127.0.0.1:9/\x1b\\link\x1b]8;;\x1b\\",
    "bidi": "user \u202e\u2066// nimda\u2069 \u2066 \u200b\u200d\ufeff",
    "formula": '=HYPERLINK("http://127.0.0.1:9/","x") @SUM(1) +cmd|\' /C calc\'!A0',
    "template": "{{ 7*7 }}{% include 'x' %}${window.pwned=10}#{1}",
    "entity": "&lt;script&gt;alert(11)&lt;/script&gt; &#x3c;img&#x3e;",
    "separator": "a\u2028b\u2029c\x00\x85d",
    "json": '\\u003cscript\\u003e"}];window.pwned=12;//',
    "prototype": "__proto__",
    "marks": "Z" + "\u0300" * 300,
    "tags": "x\U000e0041\U000e0042\U000e007f",
}
"""What a model may send; none of it may ever do anything."""

EVERYTHING = "\n".join(PAYLOADS.values())


def hostile_series(root: Path) -> tuple[SeriesFolder, dict[str, Any]]:
    """The five-run fixture with every payload in every place that is not ours."""
    scores = msgspec.json.decode((FIVE_RUN / "scores.json").read_bytes())
    folder = _series(root)
    record = Record(root / "trials" / "001" / "events.jsonl")
    record.append(_started(1, EVERYTHING))
    calls = tuple(
        ToolCall(id=f"{name} {text}", name=text, arguments=_arguments(text), raw_name=text)
        for name, text in PAYLOADS.items()
    )
    reply = Reply(
        reasoning=EVERYTHING, content=EVERYTHING, tool_calls=calls, finish=PAYLOADS["image"],
        model=PAYLOADS["svg"], usage=Usage(prompt_tokens=10, completion_tokens=5),
    )  # fmt: skip
    results = tuple(
        ToolResult(call_id=call.id, name=call.name, error=call.name, path=call.name)
        for call in calls
    )
    given = [{"role": "tool", "tool_call_id": call.id, "content": EVERYTHING} for call in calls]
    given.append({"role": "user", "content": EVERYTHING})
    spoilt = Attempt(
        number=1, at=PAYLOADS["script"], error=EVERYTHING, action="repeat", reply=reply
    )
    accepted = Attempt(number=2, at="now", status=200, reply=reply)
    step = Step(
        number=1, started=0.0, seconds=1.0, results=results, attempts=(spoilt, accepted),
        append=tuple(msgspec.Raw(msgspec.json.encode(message)) for message in given),
    )  # fmt: skip
    record.append(step)
    record.append(
        TrialEnded(at="now", outcome="failed", ending="no_call", reason=EVERYTHING, seconds=1.0)
    )
    record.close()
    return folder, _hostile(scores)


def large_series(root: Path, trials: int, steps: int) -> tuple[SeriesFolder, dict[str, Any]]:
    """So many trials of so many steps, about 100,000 tokens of text in each trial."""
    scores = msgspec.json.decode((FIVE_RUN / "scores.json").read_bytes())
    like = scores["trials"][0]
    scores["trials"] = []
    document = "Ein Satz aus den Unterlagen. " * 1000
    for index in range(1, trials + 1):
        found = [
            {"code": "text.foreign_script", "side": "model", "step": number, "channel": "reasoning",
             "context_tokens": 900, "start": 5, "end": 7, "excerpt": "汉字", "detail": {}}
            for number in range(3, steps, 10)
        ]  # fmt: skip
        scores["trials"].append(
            like | {"index": index, "findings": found, "finding_counts": {found[0]["code"]: 6}}
        )
        _long_record(root / "trials" / f"{index:03d}" / "events.jsonl", index, steps, document)
    scores["series"] |= {"repeats_planned": trials, "repeats_done": trials}
    return _series(root), scores


def _long_record(path: Path, index: int, steps: int, document: str) -> None:
    lines = [msgspec.json.encode(_started(index, document))]
    for number in range(1, steps + 1):
        thought = f"{number:04d} 汉字 {index} " + f"Gedanke {number} zu Trial {index}. " * 260
        call = ToolCall(id=f"c{number}", name="read_file", arguments='{"path": "a.md"}')
        answer = {"role": "tool", "tool_call_id": call.id, "content": document}
        reply = Reply(
            reasoning=thought, content="weiter", tool_calls=(call,), finish="tool_calls",
            usage=Usage(prompt_tokens=1000 * number, completion_tokens=1700),
        )  # fmt: skip
        step = Step(
            number=number, started=float(number), seconds=2.5,
            attempts=(Attempt(number=1, at="now", status=200, reply=reply, clock=_CLOCK),),
            results=(ToolResult(call_id=call.id, name="read_file", path="a.md"),),
            append=(msgspec.Raw(msgspec.json.encode(answer)),),
        )  # fmt: skip
        lines.append(msgspec.json.encode(step))
    path.parent.mkdir(parents=True)
    path.write_bytes(b"\n".join(lines) + b"\n")


_CLOCK = Clock(sent=0.0, first=0.5, last=2.0, end=2.1, chunks=10)


def _series(root: Path) -> SeriesFolder:
    root.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(FIVE_RUN / "series.json", root / "series.json")
    return open_series(root)


def _started(index: int, prompt: str) -> TrialStarted:
    message = msgspec.Raw(msgspec.json.encode({"role": "user", "content": prompt}))
    return TrialStarted(
        series="s", trial=index, attempt=1, at="now", fields={}, messages=(message,)
    )


def _arguments(text: str) -> str:
    return msgspec.json.encode({"path": text, "content": EVERYTHING, text: [text, 1]}).decode()


def _hostile(scores: dict[str, Any]) -> dict[str, Any]:
    trial, spans = scores["trials"][0], 0
    trial["outcome"], trial["reason"], trial["findings"] = "failed", EVERYTHING, []
    for code in ("text.invisible", PAYLOADS["script"], PAYLOADS["attribute"], "__proto__"):
        spans += 7
        trial["findings"].append(
            {"code": code, "side": PAYLOADS["quote"], "step": 1, "channel": "content",
             "start": spans, "end": spans + 9, "excerpt": EVERYTHING[spans : spans + 9],
             "context_tokens": 5, "detail": {"text": EVERYTHING}}
        )  # fmt: skip
    names = list(PAYLOADS.values())
    trial["totals"] = {name: float(i) for i, name in enumerate(names)}
    trial["ranking"], trial["winners"], trial["winner"] = [[n] for n in names], names[:1], names[0]
    scores["series"] |= {"model": EVERYTHING, "endpoint": PAYLOADS["svg"], "task": EVERYTHING}
    scores["stability"]["winner"]["counts"] = {names[0]: 3, names[1]: 1}
    places = scores["stability"]["candidates"]
    scores["stability"]["candidates"] = dict(zip(names, places.values(), strict=False))
    scores["verdict"] |= {
        "status": "fail", "gate": PAYLOADS["image"], "next": [EVERYTHING], "notes": [EVERYTHING],
        "rules": [{"name": EVERYTHING, "kind": "value", "key": EVERYTHING, "status": "fail",
                   "reason": EVERYTHING}],
    }  # fmt: skip
    return scores


def write_scores(folder: SeriesFolder, scores: dict[str, Any]) -> None:
    """Put scores into a series folder."""
    write_json(folder.root / "scores.json", scores)
