"""The Markdown page shows exactly the report's text, whatever a model wrote into it."""

from __future__ import annotations

import re
from html import unescape

from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from evalstab.report import labels, markdown
from evalstab.report.model import build_report
from evalstab.report.page import Answer, Quote, Quotes, Report, Section, Table
from tests.report.report_cases import five_run

GITHUB = MarkdownIt("gfm-like", {"html": True, "linkify": False})
NASTY = st.text(
    st.one_of(
        st.characters(max_codepoint=0x7F),
        st.sampled_from("`*_[]()<>|~$#@\\!&:;=-+ \n\t"),
        st.characters(),
    ),
    max_size=60,
)


def shown(html: str) -> str:
    """The text a browser would show, in one line; fails where any tag but ours is left."""
    without = re.sub(
        r"<!-- -->|</?(p|ul|li|table|thead|tbody|tr|th|td)( style=\"[^\"]*\")?>", "", html
    )
    assert "<" not in without, html
    return " ".join(unescape(without).split())


@given(NASTY)
def test_a_paragraph_shows_exactly_the_text(raw: str) -> None:
    text = labels.visible(raw)
    assert shown(GITHUB.render(markdown.escape(text))) == text


@given(NASTY, NASTY)
def test_a_cell_and_a_quote_show_exactly_the_text(one: str, two: str) -> None:
    texts = labels.visible(one), labels.visible(two)
    blocks = (
        Table(("left", "right"), (texts,), ("left", "right")),
        Quotes((Quote(texts[0], texts[1]),)),
    )
    answer = Answer("none", "line", ())
    report = Report("title", "question", answer, (), (Section("Section", blocks),))
    page = markdown.render(report)
    cells = page.split("| --- | --: |\n| ")[1].splitlines()[0]
    html = GITHUB.render(page)
    assert html.count("<td") == 2, cells
    body = html.split("<tbody>")[1]
    row, quotes = body.split("</tbody>")
    found = [shown(cell) for cell in re.findall(r"<td[^>]*>(.*?)</td>", row, re.S)]
    assert found == list(texts)
    assert shown(quotes) == " ".join(f"{texts[0]}: {texts[1]}".split())


def test_nobody_is_notified() -> None:
    assert "@<!-- -->everyone" in markdown.escape("hello @everyone")


def test_a_command_cannot_leave_its_fence() -> None:
    folder, scores = five_run()
    scores["verdict"] = {"status": "fail", "next": ["echo ```\n# not a heading"], "rules": []}
    page = markdown.render(build_report(folder, scores))
    assert "````sh\necho ``` # not a heading\n````" in page


def test_plots_are_linked_with_what_they_show() -> None:
    page = markdown.render(build_report(*five_run()))
    links = re.findall(r"^!\[(.+)\]\((plots/\w+\.svg)\)$", page, re.M)
    assert [path for _, path in links] == ["plots/rank_trajectories.svg", "plots/score_scales.svg"]
    assert "person_11 three times" in links[0][0]
    assert "trial 1: 158" in links[1][0]
