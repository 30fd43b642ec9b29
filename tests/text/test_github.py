"""Workflow commands: ours are read as meant, none is read from a text of others."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalstab.text.github import LONGEST, TITLE, annotation, harmless, harmless_json

NAMES = ("error", "warning", "notice", "add-mask", "stop-commands", "add-matcher", "set-output")
UNSEEN = re.compile("[\x00-\x08\x0e-\x1f\x7f-\x9f\xad\u200b-\u200f\u2060-\u2064\ufeff]")
PIECES = (
    ":", "::", "#", "##", "##[", "[", "]", "error", "add-mask", "stop-commands", " ", "\t", "\n",
    "\r", "\r\n", "\u00a0", "\u2028", "\u200b", "\ufeff", "\xad", "\x00", "x", "%0A", "\\", ",",
)  # fmt: skip


def commands(output: str) -> list[tuple[str, dict[str, str], str]]:
    """What the runner reads as commands (its ActionCommand): first the new form, then the old.

    Its comparisons follow a culture, which may pass over characters that are not seen.
    """
    found = []
    for line in re.split("\r\n|\r|\n", output):
        seen = UNSEEN.sub("", line).lstrip()
        new = re.match(r"::([a-z-]+)(?: (.*?))?::(.*)", seen, re.DOTALL)
        old = re.search(r"##\[([a-z-]+)[^\]]*\](.*)", seen, re.DOTALL)
        if new and new[1] in NAMES:
            pairs = [part.split("=", 1) for part in (new[2] or "").strip().split(",") if part]
            more = {"%3A": ":", "%2C": ","}
            found.append((new[1], {k: _read(v, more) for k, v in pairs}, _read(new[3], {})))
        elif old and old[1] in NAMES:
            found.append((old[1], {}, old[2]))
    return found


def _read(text: str, more: dict[str, str]) -> str:
    for code, char in {"%0D": "\r", "%0A": "\n", **more, "%25": "%"}.items():
        text = text.replace(code, char)
    return text


def test_an_annotation_is_read_as_it_was_meant() -> None:
    line = annotation("error", "gate a,b: 100 %", "tau 0.2, wanted: 0.5\n50 % of trials\r\nend")
    assert line == (
        "::error title=gate a%2Cb%3A 100 %25::tau 0.2, wanted: 0.5%0A50 %25 of trials%0Aend"
    )
    read = ("error", {"title": "gate a,b: 100 %"}, "tau 0.2, wanted: 0.5\n50 % of trials\nend")
    assert commands(line) == [read]


@pytest.mark.parametrize(
    "evil",
    [
        "::stop-commands::x",
        "  \t::error::x",
        "ok\n::add-mask::evalstab",
        "ok\r::error title=x::y",
        "\u200b::error::x",
        ":\u200b:error::x",
        "\u00a0\ufeff::error::x",
        "told ##[add-matcher]/tmp/x",
        "told #\u200b#\u200b[error]x",
        "::error::x\n::error::y\n##[warning]z",
    ],
)
def test_a_text_gives_no_command(evil: str) -> None:
    assert commands(evil), "the payload is one to the runner"
    assert commands(harmless(evil)) == []
    assert harmless(evil).replace("\\", "") == evil
    assert len(commands(annotation("notice", evil, evil))) == 1
    document = json.dumps({"told": evil, evil: [evil]}, indent=2, ensure_ascii=False)
    assert commands(harmless_json(document)) == []
    assert json.loads(harmless_json(document)) == json.loads(document)


@given(st.lists(st.sampled_from(PIECES), max_size=40).map("".join))
def test_no_text_gives_a_command_or_changes_an_annotation(text: str) -> None:
    assert commands(harmless(text)) == []
    document = json.dumps([text], ensure_ascii=False)
    assert json.loads(harmless_json(document)) == [text]
    assert commands(harmless_json(document)) == []
    (only,) = commands(annotation("warning", f"t{text}", text))
    assert only[0] == "warning"
    assert set(only[1]) == {"title"}


def test_plain_texts_stay_as_they_are() -> None:
    plain = "# heading\n## [link](x)\ntime 12:30\nstd::vector a::b\n"
    assert harmless(plain) == plain


def test_long_texts_are_cut_and_cost_little() -> None:
    line = annotation("error", "t" * 10_000, "m\n" * 100_000)
    assert len(line) < 3 * (TITLE + LONGEST)
    for flood in ("#" * 10**6, "\u200b" * 10**6, "\n " * 10**6, "\x1c" * 10**6, "#\u200b" * 10**6):
        assert len(harmless(flood)) == len(flood)  # were it quadratic, this would take hours
