"""Which path texts stay inside."""

import os
from pathlib import PurePosixPath

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from evalstab.task.paths import NAME_BYTES, Refused, inside

PIECES = st.sampled_from(
    [
        "..",
        ".",
        "",
        "a",
        "ä",
        "a b",
        "notes",
        "~",
        "\\",
        "C:",
        "\x00",
        "‥",
        "．．",
        "／",
        "…",
        "\u200b",
    ]
)


@pytest.mark.parametrize(
    ("path", "names"),
    [
        ("notes/a.md", ("notes", "a.md")),
        ("./notes//a.md", ("notes", "a.md")),
        ("notes/", ("notes",)),
        ("u\u0308ber uns.md", ("über uns.md",)),
        ("日本.md", ("日本.md",)),
        ("a..b", ("a..b",)),
        ("...", ("...",)),
    ],
)
def test_plain_paths_are_taken(path: str, names: tuple[str, ...]) -> None:
    assert inside(path, 8) == names


@pytest.mark.parametrize(
    "path",
    [
        "/etc/passwd",
        "../x",
        "a/../../x",
        "~/x",
        "C:\\x",
        "c:/x",
        "\\\\host\\x",
        "..\\x",
        "..",
        " ../x",
        "/",
        "．．/x",
        "‥/x",
        "／etc/passwd",
    ],
)
def test_paths_that_point_outside_are_marked(path: str) -> None:
    with pytest.raises(Refused) as refusal:
        inside(path, 8)
    assert refusal.value.escape


@pytest.mark.parametrize(
    "path",
    [
        "",
        ".",
        "a/../b",
        "a\\b",
        "a\x00b",
        "a\nb",
        "a\u202eb",
        "a\u200bb",
        "\ud800",
        "a／b",
        "a．md",
        "x" * (NAME_BYTES + 1),
        "/".join("a" * 9),
        "a" * 301,
        "  ",
        "ab：c",
        ".evalstab-writing",
    ],
)
def test_odd_paths_are_refused_without_a_mark(path: str) -> None:
    with pytest.raises(Refused) as refusal:
        inside(path, 8)
    assert not refusal.value.escape


@settings(deadline=None)
@example("./~")
@given(st.one_of(st.text(max_size=40), st.lists(PIECES, max_size=8).map("/".join)))
def test_whatever_is_taken_stays_inside(path: str) -> None:
    try:
        names = inside(path, 8)
    except Refused:
        return
    joined = os.path.normpath(os.path.join("/work space/root", *names))
    assert PurePosixPath(joined).is_relative_to("/work space/root")
    assert joined != "/work space/root"
    assert inside("/".join(names), 8) == names
