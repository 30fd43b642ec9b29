"""Channel texts: decoded, on their channel, with offsets that can be found again."""

from __future__ import annotations

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from evalstab.chat import ToolCall
from evalstab.endpoint.base import Reply
from evalstab.measures.texts import given_texts, message_text, reply_pieces
from evalstab.trial.record import ToolResult
from tests.measures.series_making import call, make_step


def test_written_content_is_file_and_the_rest_arguments() -> None:
    reply = Reply(
        reasoning="Ich denke.",
        content="Ich schreibe.",
        tool_calls=(
            call("write_file", path="a.md", content="Erste Datei"),
            call("edit_file", path="a.md", old="Erste", new="Zweite"),
            call("submit_ranking", ranking=[{"candidate": "p1", "note": "符合"}]),
        ),
    )
    pieces = [(p.channel, p.text, p.offset, p.path) for p in reply_pieces(reply)]
    assert pieces == [
        ("reasoning", "Ich denke.", 0, None),
        ("content", "Ich schreibe.", 0, None),
        ("arguments", "a.md", 0, "a.md"),
        ("file", "Erste Datei", 0, "a.md"),
        ("arguments", "a.md", 5, "a.md"),
        ("file", "Zweite", 12, "a.md"),
        ("arguments", "p1", 10, None),
        ("arguments", "符合", 13, None),
    ]


def test_escapes_are_decoded() -> None:
    escaped = ToolCall(id="1", name="submit", arguments='{"why": "\\u7b26\\u5408"}')
    (piece,) = reply_pieces(Reply(tool_calls=(escaped,)))
    assert piece.text == "符合"


def test_cut_arguments_stand_as_they_came() -> None:
    cut = ToolCall(id="1", name="write_file", arguments='{"content": "\\u7b26', complete=False)
    (piece,) = reply_pieces(Reply(tool_calls=(cut,)))
    assert piece.raw
    assert piece.text == cut.arguments


@given(st.text(max_size=300), st.lists(st.text(max_size=30), max_size=4))
def test_any_arguments_give_pieces_with_disjoint_places(raw: str, texts: list[str]) -> None:
    calls = (
        ToolCall(id="1", name="x", arguments=raw),
        call("y", values=texts, deeper={"k": texts}),
    )
    ends: dict[str, int] = {}
    for piece in reply_pieces(Reply(tool_calls=calls)):
        assert piece.offset >= ends.get(piece.channel, 0)
        ends[piece.channel] = piece.offset + len(piece.text)


def test_deep_arguments_do_not_break() -> None:
    deep = ToolCall(id="1", name="x", arguments='{"a":' + "[" * 5000 + "]" * 5000 + "}")
    assert all(piece.raw for piece in reply_pieces(Reply(tool_calls=(deep,))))


def test_what_the_agent_wrote_itself_is_no_input() -> None:
    written: set[str] = set()
    steps = [
        make_step(
            1,
            calls=[call("write_file", path="r.md", content="符合")],
            results=[ToolResult(call_id="c1", name="write_file", path="r.md", wrote=True)],
            given=["Wrote r.md"],
        ),
        make_step(
            2,
            calls=[call("read_file", path="r.md")],
            results=[ToolResult(call_id="c1", name="read_file", path="r.md")],
            given=["符合"],
        ),
        make_step(
            3,
            calls=[call("read_file", path="p.md")],
            results=[ToolResult(call_id="c1", name="read_file", path="p.md")],
            given=["李明"],
        ),
        make_step(
            4,
            calls=[call("read_file", path="x")],
            results=[ToolResult(call_id="c1", name="read_file", error="no file 中")],
            given=["Error: no file 中"],
        ),
    ]
    assert [given_texts(step, written) for step in steps] == [(), (), ("李明",), ()]


def test_messages_of_parts_are_joined() -> None:
    raw = msgspec.Raw(b'{"role":"user","content":[{"type":"text","text":"a"},{"text":"b"},7]}')
    assert message_text(raw) == ("user", "a\nb", None)
    assert message_text(msgspec.Raw(b'{"role": 1}')) == ("", "", None)
