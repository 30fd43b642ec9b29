"""Reading the bytes of a case without a socket, cut into pieces at will."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator

from evalstab.endpoint.base import Asked, Reply
from evalstab.endpoint.reply import EndKind, ReplyReader, StreamEnd, read_error_body
from evalstab.endpoint.wire import SseReader
from evalstab.findings import Finding
from evalstab.measures.loops import repetition_in
from evalstab.measures.texts import reply_pieces
from evalstab.text.expected import Expectation
from evalstab.text.inputs import InputIndex
from evalstab.text.language import scan_languages
from evalstab.text.scripts import scan_scripts
from evalstab.text.special_tokens import special_tokens
from tests.endpoint.cases import Case, Response

Reading = tuple[Reply | None, tuple[Finding, ...]]

ENDS: dict[str, EndKind] = {"close": "closed", "reset": "reset", "hang": "stalled"}
SCRIPT_CODES = {
    "script": "text.foreign_script",
    "homoglyph": "text.mixed_script_word",
    "language": "text.foreign_language",
    "garbage": "text.replacement_char",
    "special_token": "text.special_token",
    "width": "text.foreign_punctuation",
    "punct": "text.foreign_punctuation",
    "invisible": "text.invisible",
}


def read_bytes(pieces: Iterable[bytes], asked: Asked, end: EndKind = "closed") -> Reading:
    """What the reader makes of a body that comes in these pieces and ends like this."""
    wire, reader = SseReader(), ReplyReader(asked)
    for piece in pieces:
        for event in wire.feed(piece):
            reader.feed(event)
    for event in wire.finish():
        reader.feed(event)
    if end == "stalled" and reader.settled:
        end = "grace"
    return reader.finish(StreamEnd(end))


def read_response(
    case: Case,
    response: Response,
    pieces: Iterable[bytes] | None = None,
    asked: Asked | None = None,
) -> Reading:
    """One response of a case, as chunked or in other pieces of the same bytes."""
    asked = asked or case.asked
    if response.status != 200:
        judged = read_error_body(response.status, response.headers, response.body, asked)
        return judged[0], judged[2]
    chunks = response.chunks if pieces is None else pieces
    return read_bytes(chunks, asked, ENDS[response.end])


def read_case(case: Case) -> Reading:
    """All responses of a case: the last reply, and the findings of every one."""
    findings: tuple[Finding, ...] = ()
    reply: Reply | None = None
    for response in case.responses:
        reply, found = read_response(case, response)
        findings += found
    return reply, findings


def text_codes(reply: Reply | None, case: Case) -> set[str]:
    """The codes that scoring adds for the texts of a reply."""
    if reply is None:
        return set()
    expectation = Expectation(case.request.get("language", "en"))
    inputs = InputIndex(case.request.get("inputs", ()))
    codes: set[str] = set()
    for piece in reply_pieces(reply):
        spans = scan_scripts(piece.text, expectation, inputs, "content")
        if not piece.raw:
            spans += scan_languages(piece.text, expectation, inputs)
        for span in (*spans, *special_tokens(piece.text, inputs)):
            if span.tier == "sure" and not span.copied and span.zone is None:
                codes.add(SCRIPT_CODES[span.kind])
        if piece.raw:
            continue
        degenerate, loop = repetition_in(piece.text)
        if degenerate:
            codes.add("text.degenerate")
        if loop is not None and loop.tier == "sure":
            codes.add("reasoning.loop" if piece.channel == "reasoning" else "text.loop")
    return codes


def cuts(body: bytes, seed: int) -> Iterator[bytes]:
    """The body in pieces of 1 to 40 bytes, cut without regard to anything."""
    rng = random.Random(seed)
    position = 0
    while position < len(body):
        size = rng.choice((1, 1, 2, 3, 5, 7, 11, 40))
        yield body[position : position + size]
        position += size
