"""Bytes to events: the event stream format, and what servers make of it."""

from __future__ import annotations

import itertools
import json

import pytest

from evalstab.endpoint.frames import Frame
from evalstab.endpoint.wire import BadFrame, Bound, Comment, Done, Event, SseReader

CHUNK = json.dumps(
    {"choices": [{"index": 0, "delta": {"content": "Größe – 🙂"}}]}, ensure_ascii=False
)
OTHER = json.dumps({"choices": [{"index": 0, "delta": {"content": "second"}}]})


def events_of(data: bytes, cut: int | None = None) -> list[Event]:
    """The events of these bytes, cut into pieces of one size."""
    reader = SseReader()
    size = cut or max(1, len(data))
    found = [e for i in range(0, len(data), size) for e in reader.feed(data[i : i + size])]
    return found + reader.finish()


def texts(events: list[Event]) -> list[str]:
    """The kinds of the events, and for frames their text."""
    return [
        str(event.choices[0].delta.content)
        if isinstance(event, Frame) and event.choices and event.choices[0].delta
        else type(event).__name__
        for event in events
    ]


FIRST = "Größe – 🙂"
SPELLINGS = {
    "plain": f"data: {CHUNK}\n\n",
    "no space": f"data:{CHUNK}\n\n",
    "two spaces": f"data:  {CHUNK}\n\n",
    "crlf": f"data: {CHUNK}\r\n\r\n",
    "cr": f"data: {CHUNK}\r\r",
    "byte order mark": f"\ufeffdata: {CHUNK}\n\n",
    "other fields": f"id: 7\nevent: message\nretry: 100\ndata: {CHUNK}\n\n",
    "field without colon": f"id\ndata: {CHUNK}\n\n",
    "one line break": f"data: {CHUNK}\n",
    "no line break at the end": f"data: {CHUNK}",
    "bare line": f"{CHUNK}\n",
    "bare body after blank lines": f"\n\n \n{CHUNK}",
    "several data lines": "".join(
        f"data: {line}\n" for line in json.dumps(json.loads(CHUNK), indent=1).split("\n")
    )
    + "\n",
    "indented body": json.dumps(json.loads(CHUNK), indent=2, ensure_ascii=False),
    "list of one": f"[{CHUNK}]",
    "envelope": '{"data": ' + CHUNK + ', "success": true}',
    "spaces around": f"data: {CHUNK}   \n\n",
}


@pytest.mark.parametrize("cut", [None, 1, 2, 3, 7])
@pytest.mark.parametrize("name", SPELLINGS)
def test_one_event_in_every_spelling(name: str, cut: int | None) -> None:
    assert texts(events_of(SPELLINGS[name].encode(), cut)) == [FIRST]


@pytest.mark.parametrize("cut", [None, 1, 2, 5])
@pytest.mark.parametrize(("one", "two"), list(itertools.product(SPELLINGS, repeat=2)))
def test_spellings_can_follow_each_other(one: str, two: str, cut: int | None) -> None:
    first = SPELLINGS[one]
    if not first.endswith(("\n", "\r")):
        first += "\n"
    second = SPELLINGS[two].removeprefix("\ufeff").replace(CHUNK, OTHER)
    wanted = "second" if OTHER in second else FIRST
    assert texts(events_of((first + second).encode(), cut)) == [FIRST, wanted]


def test_comments_and_end_mark() -> None:
    data = f": ping\n\n:\n\ndata: {CHUNK}\n\n: x\ndata: [DONE]\n\n".encode()
    assert texts(events_of(data)) == ["Comment", "Comment", FIRST, "Comment", "Done"]
    assert events_of(b"data:[DONE]\r\n\r\n", 1) == [Done()]
    assert events_of(b"[DONE]\n") == [Done()]
    assert isinstance(events_of(b":\n")[0], Comment)


def test_events_come_at_once() -> None:
    """An event is not held back until the next one begins."""
    reader = SseReader()
    assert texts(reader.feed(f"data: {CHUNK}\n".encode())) == [FIRST]
    assert reader.feed(b"\n") == []


def test_broken_frame_between_good_ones() -> None:
    data = f'data: {CHUNK}\n\ndata: {{"cho\n\ndata: {OTHER}\n\n'.encode()
    for cut in (None, 1, 4):
        assert texts(events_of(data, cut)) == [FIRST, "BadFrame", "second"]


def test_broken_frame_without_blank_lines() -> None:
    data = f'data: {CHUNK}\ndata: {{"cho\ndata: {OTHER}\n\n'.encode()
    assert texts(events_of(data)) == [FIRST, "BadFrame", "second"]


def test_broken_bare_line_ends_at_the_next_event() -> None:
    data = f'{{"error": bro\ndata: {OTHER}\n\n'.encode()
    assert texts(events_of(data)) == ["BadFrame", "second"]
    assert texts(events_of(f'{{"a": bro\n{OTHER}\n'.encode())) == ["BadFrame", "second"]


def test_page_is_one_bad_frame() -> None:
    page = b"<html>\n<head><title>502</title></head>\n<body>Bad Gateway</body>\n</html>\n"
    events = events_of(page)
    assert len(events) == 1
    assert isinstance(events[0], BadFrame)
    assert events[0].excerpt == "<html>"


def test_bytes_that_are_no_utf8_are_replaced() -> None:
    data = b'data: {"choices": [{"delta": {"content": "Gr\xc3e\xff"}}]}\n\n'
    assert texts(events_of(data)) == ["Gr\ufffde\ufffd"]


@pytest.mark.parametrize(
    "data", [b"data: 17\n\n", b'data: "text"\n\n', b"data: []\n\n", b"data: x"]
)
def test_json_that_is_no_object(data: bytes) -> None:
    assert texts(events_of(data)) == ["BadFrame"]


def test_endless_line_is_bounded() -> None:
    reader = SseReader(max_line=10_000)
    events: list[Event] = []
    for _ in range(1000):
        events += reader.feed(b"x" * 1000)
    assert events == [Bound("line_bytes", 10_000)]
    assert (reader.closed, reader.finish()) == (True, [])


def test_endless_event_of_short_lines_is_bounded() -> None:
    reader = SseReader(max_line=10_000)
    events = [e for _ in range(5000) for e in reader.feed(b'data: "never ending\n')]
    assert events == [Bound("line_bytes", 10_000)]


def test_endless_stream_is_bounded() -> None:
    reader = SseReader(max_total=100_000)
    events = [e for _ in range(5000) for e in reader.feed(b": ping\n\n" * 10)]
    assert events[-1] == Bound("total_bytes", 100_000)
    assert reader.feed(b"data: {}\n\n") == []


def test_endless_bad_frames_are_bounded() -> None:
    events = events_of(b"data: nonsense\n\n" * 3000)
    assert isinstance(events[-1], Bound)
    assert (events[-1].name, len(events)) == ("bad_frames", 1001)


def test_deep_json_is_a_bad_frame_and_reading_goes_on() -> None:
    deep = b"[" * 100_000 + b"]" * 100_000
    data = b'data: {"choices": ' + deep + b"}\n\ndata: " + OTHER.encode() + b"\n\n"
    events = events_of(data, 65536)
    assert isinstance(events[0], BadFrame)
    assert events[0].too_deep
    assert texts(events[1:]) == ["second"]
