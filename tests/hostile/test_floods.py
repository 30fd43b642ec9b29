"""Streams without end that mean nothing: what is held of them stays bounded."""

from __future__ import annotations

import pytest

from evalstab.endpoint.wire import LINE_COST, MAX_BAD_FRAMES, BadFrame, Bound, SseReader


@pytest.mark.parametrize("line", [b"data: {\n", b"data:\n"])
def test_lines_of_one_event_without_end_are_bounded_by_their_number(line: bytes) -> None:
    reader = SseReader(max_line=10_000)
    events = reader.feed(b"data: {\n" + line * (10_000 // LINE_COST + 1))
    assert events == [Bound("line_bytes", 10_000)]


def test_many_broken_lines_of_one_event_end_with_the_bound() -> None:
    reader = SseReader()
    assert reader.feed(b"data: {\n" * (3 * MAX_BAD_FRAMES)) == []
    events = reader.finish()
    assert sum(isinstance(event, BadFrame) for event in events) == MAX_BAD_FRAMES
    assert len(events) == MAX_BAD_FRAMES + 1
    assert isinstance(events[-1], Bound)
