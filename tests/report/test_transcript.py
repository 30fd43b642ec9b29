"""What the page is given of a trial: texts cut where findings stand, each step, bounded."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalstab.chat import ToolCall
from evalstab.endpoint.base import Attempt, Reply
from evalstab.report import transcript as module
from evalstab.report.facts import facts_of
from evalstab.report.html import data_block
from evalstab.report.marks import cut, lies_in, shown
from evalstab.report.opened import transcripts_of
from evalstab.report.transcript import Shelf, transcript
from evalstab.series.folder import TrialFolder
from evalstab.trial.record import Record, Step, ToolResult, TrialEnded
from tests.report.page_cases import PAYLOADS, hostile_series
from tests.report.report_cases import five_run

PLAIN = st.text(alphabet="abc äöü\n汉", max_size=60)
MARKS = st.lists(st.tuples(st.integers(-5, 70), st.integers(-5, 70), st.integers(0, 5)), max_size=8)


def texts(pieces: list[Any]) -> str:
    return "".join(piece if isinstance(piece, str) else piece[0] for piece in pieces)


@given(PLAIN, MARKS)
def test_every_character_stands_once_with_the_marks_over_it(
    text: str, marks: list[tuple[int, int, int]]
) -> None:
    pieces = cut(text, marks)
    assert texts(pieces) == text
    at = 0
    for piece in pieces:
        part, over = (piece, []) if isinstance(piece, str) else (piece[0], piece[1])
        for _ in str(part):
            assert over == sorted({i for a, b, i in marks if a <= at < b})
            at += 1


def test_offsets_count_code_points() -> None:
    text = "😀😀 ok 汉字 end"
    start = text.index("汉")
    assert cut(text, [(start, start + 2, 0)]) == ["😀😀 ok ", ["汉字", [0]], " end"]


def test_unseen_characters_are_spelt_out_and_lines_stay() -> None:
    assert shown("a\x1b[2J\nb\u202e") == "a<U+001B>[2J\nb<U+202E>"
    assert shown("plain\ntext") == "plain\ntext"
    assert texts(cut("x\u202ey", [(1, 2, 0)])) == "x<U+202E>y"


@pytest.mark.parametrize(
    ("excerpt", "fits"),
    [("世界", True), ("…ab ⟦世界⟧ cd", True), (None, True), ("other", False)],
)
def test_a_finding_lies_where_its_excerpt_stands(excerpt: str | None, fits: bool) -> None:
    finding = {"start": 3, "end": 5, "excerpt": excerpt}
    assert lies_in(finding, "ab 世界 cd") is fits
    assert not lies_in(finding, "ab")


def one_step(place: Path, step: Step) -> TrialFolder:
    folder = TrialFolder(1, 1, place)
    record = Record(folder.record)
    record.append(step)
    record.append(
        TrialEnded(at="now", outcome="completed", ending="no_call", reason="done", seconds=1.0)
    )
    record.close()
    return folder


def reply_step(*replies: Reply, **fields: Any) -> Step:
    attempts = [
        Attempt(number=n, at="now", action="repeat" if n < len(replies) else "accept", reply=reply)
        for n, reply in enumerate(replies, 1)
    ]
    return Step(number=1, started=0.0, seconds=1.0, attempts=tuple(attempts), **fields)


def test_calls_have_their_state_and_files_their_marks(tmp_path: Path) -> None:
    write = {"path": "r.md", "content": "Bericht мир"}
    calls = (
        ToolCall(id="a", name="read_file", arguments='{"path": "no.md", "limit": 3}'),
        ToolCall(id="b", name="write_file", arguments=msgspec.json.encode(write).decode()),
        ToolCall(id="c", name="write_file", arguments='{"path": "x', complete=False),
        ToolCall(id="d", name="submit", arguments="{}"),
    )
    results = (
        ToolResult(call_id="a", name="read_file", error="no such file"),
        ToolResult(call_id="b", name="write_file", path="r.md", wrote=True),
        ToolResult(call_id="d", name="submit", terminal=True),
    )
    answer = {"role": "tool", "tool_call_id": "a", "content": "error: no such file"}
    step = reply_step(
        Reply(tool_calls=calls), results=results, append=(msgspec.Raw(msgspec.json.encode(answer)),)
    )
    found = {"code": "text.foreign_script", "step": 1, "channel": "file", "start": 8, "end": 11,
             "excerpt": "мир"}  # fmt: skip
    shelf = Shelf()
    told = transcript(one_step(tmp_path, step), {"findings": [found]}, shelf)["steps"][0]
    assert [call["state"] for call in told["calls"]] == [
        "failed", "wrote", "unfinished", "ended the trial",
    ]  # fmt: skip
    assert told["calls"][0]["brief"] == "path: no.md, limit: 3"
    assert shelf.texts[told["calls"][0]["answer"]] == "error: no such file"
    part = told["calls"][1]["parts"][0]
    assert (part["path"], part["pieces"]) == ("r.md", ["Bericht ", ["мир", [0]]])
    assert told["calls"][2]["parts"][0]["pieces"] == ['{"path": "x']


def test_a_mark_stands_in_the_attempt_that_brought_it(tmp_path: Path) -> None:
    step = reply_step(Reply(content="Нет, falsch"), Reply(content="ja, richtig"))
    found = {"code": "c", "step": 1, "channel": "content", "start": 0, "end": 3, "excerpt": "Нет"}
    told = transcript(one_step(tmp_path, step), {"findings": [found]}, Shelf())["steps"][0]
    assert told["tries"][0]["parts"][0]["pieces"][0] == ["Нет", [0]]
    assert told["parts"][0]["pieces"] == ["ja, richtig"]


def test_a_damaged_record_is_told_as_far_as_it_goes(tmp_path: Path) -> None:
    folder = one_step(tmp_path, reply_step(Reply(content="first")))
    folder.record.write_bytes(folder.record.read_bytes() + b"{broken}\n{}\n")
    told = transcript(folder, {}, Shelf())
    assert len(told["steps"]) == 1
    assert "events.jsonl, line 3" in told["damage"]
    assert str(tmp_path) not in told["damage"]


def test_texts_are_kept_once_and_within_bounds() -> None:
    shelf = Shelf()
    assert [shelf.put("same"), shelf.put("other"), shelf.put("same")] == [0, 1, 0]
    long = "x" * (module.LONGEST_TEXT + 7)
    kept = shelf.texts[shelf.put(long)]
    assert kept.startswith("x" * module.LONGEST_TEXT)
    assert kept.endswith("7 more characters: see the record")
    shelf.left = 3
    assert shelf.fitting("abcdef") == "abc\n… 3 more characters: see the record"
    assert shelf.fitting("gh") == "\n… 2 more characters: see the record"


def test_data_cannot_end_its_block(tmp_path: Path) -> None:
    block = str(data_block(PAYLOADS))
    assert not set("<>&\u2028\u2029") & set(block)
    assert msgspec.json.decode(block) == PAYLOADS
    folder, scores = hostile_series(tmp_path / "hostile")
    opened = transcripts_of(folder, facts_of(scores))
    assert set(opened.data) == {"1"}
    for data in opened.data.values():
        assert "\x1b" not in str(data)
        assert not set("\u202e\u2066\u2028\x00") & set(data_block(data))


def test_trials_without_a_record_have_a_tile_that_opens_nothing() -> None:
    folder, scores = five_run()
    opened = transcripts_of(folder, facts_of(scores))
    assert [tile.key for tile in opened.tiles] == [None, "2", "3", "4", None]
    assert [tile.winner for tile in opened.tiles][2:4] == ["person_06", "person_09"]
    assert len({tile.hue for tile in opened.tiles}) == 3
