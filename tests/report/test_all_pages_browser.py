"""Pages of every kind in a real Chromium: hostile texts, contrast, a phone, print, the keyboard."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.report.hostile_pages import pages, plain_pages
from tests.report.page_cases import PAYLOADS
from tests.report.visiting import CONTRAST, LOOKS, UNNAMED, WIDE, Open

HOSTILE = ("series", "ladder", "shared ladder", "comparison", "index")
PLAIN = ("series", "ladder", "comparison", "index")
SMALL = {"viewport": {"width": 360, "height": 740}, "is_mobile": True, "has_touch": True}


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    with pytest.MonkeyPatch.context() as settings:
        root = tmp_path_factory.mktemp("hostile")
        settings.setenv("XDG_CONFIG_HOME", str(root / "config"))
        return pages(root)


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    return plain_pages(tmp_path_factory.mktemp("plain"))


@pytest.mark.parametrize("kind", HOSTILE)
def test_nothing_hostile_is_done(visit: Open, hostile: dict[str, str], kind: str) -> None:
    seen = visit(hostile[kind])
    for link in seen.page.locator("a, button, [role=region]").all():
        link.focus()
        assert link.evaluate("e => e.protocol ?? 'file:'") == "file:"
    assert seen.page.evaluate("window.pwned") is None
    assert seen.said == []
    assert [url for url in seen.requests if not url.startswith(("file:", "data:"))] == []
    assert seen.count("iframe, object, embed, base, form, link:not([rel=icon])") == 0
    assert seen.count("[onload], [onerror], [onfocus], [onmouseover], [autofocus]") == 0
    assert seen.count("svg, math, foreignObject") == 0
    text = str(seen.page.evaluate("document.body.textContent"))
    assert not any(c in text for c in "\x1b\x00\u202e\u2066\u2028\u200b\U000e0041")
    shared = kind == "shared ladder"
    assert ("<script>window.pwned=1" in text) != shared
    assert any(payload in text for payload in PAYLOADS.values()) != shared


@pytest.mark.parametrize("kind", HOSTILE)
@pytest.mark.parametrize("width", [360, pytest.param(1200, marks=pytest.mark.nightly)])
def test_nothing_needs_sideways_scrolling(
    visit: Open, hostile: dict[str, str], plain: dict[str, str], kind: str, width: int
) -> None:
    for texts in (hostile, plain):
        if kind in texts:
            seen = visit(texts[kind], viewport={"width": width, "height": 740})
            assert seen.page.evaluate(WIDE) == []
            assert seen.page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("look", sorted(LOOKS))
@pytest.mark.parametrize("kind", PLAIN)
def test_contrast_is_enough(visit: Open, plain: dict[str, str], kind: str, look: str) -> None:
    seen = visit(plain[kind], **LOOKS[look])
    found = seen.page.evaluate(CONTRAST)
    assert found["texts"] > 30
    assert found["weak"] == []
    assert seen.page.evaluate(UNNAMED) == []


@pytest.mark.parametrize("kind", PLAIN)
def test_sentences_are_not_squeezed_on_a_phone(
    visit: Open, plain: dict[str, str], kind: str
) -> None:
    seen = visit(plain[kind], **SMALL)
    narrow = seen.page.evaluate(
        "[...document.querySelectorAll('td, th')].filter((e) => e.textContent.length > 40"
        " && e.getBoundingClientRect().width < 110).map((e) => e.textContent)"
    )
    assert narrow == []


@pytest.mark.parametrize("kind", PLAIN)
def test_every_link_and_region_is_reached_by_tab_with_a_ring(
    visit: Open, plain: dict[str, str], kind: str
) -> None:
    seen = visit(plain[kind])
    wanted = seen.page.locator("a, button:visible, select:visible, [tabindex='0']").count()
    reached = set()
    for _ in range(wanted + 3):
        seen.page.keyboard.press("Tab")
        ring, name = seen.page.evaluate(
            "(() => { const e = document.activeElement, s = getComputedStyle(e);"
            " return [s.outlineStyle !== 'none' && parseFloat(s.outlineWidth) >= 2,"
            " e === document.body ? '' : [...document.querySelectorAll('*')].indexOf(e)]; })()"
        )
        assert ring or name == ""
        reached.add(name)
    assert len(reached - {""}) == wanted


@pytest.mark.parametrize("kind", PLAIN)
def test_print_is_black_on_white_and_within_the_paper(
    visit: Open, plain: dict[str, str], kind: str, tmp_path: Path
) -> None:
    seen = visit(plain[kind], color_scheme="dark", viewport={"width": 700, "height": 900})
    seen.page.emulate_media(media="print")
    assert seen.page.evaluate("getComputedStyle(document.body).color") == "rgb(0, 0, 0)"
    assert seen.page.evaluate("document.documentElement.scrollWidth") <= 700
    assert seen.page.pdf(format="A4")[:5] == b"%PDF-"
