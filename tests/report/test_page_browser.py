"""The page in a real Chromium: nothing executes, everything can be reached, nothing freezes."""

from __future__ import annotations

from pathlib import Path

import pytest

from evalstab.report.marks import shown
from evalstab.report.write import page
from evalstab.series.folder import open_series
from tests.report.page_cases import PAYLOADS, hostile_series, large_series
from tests.report.report_cases import five_run
from tests.report.visiting import CONTRAST, LOOKS, PHONE, UNNAMED, Open


@pytest.fixture(scope="session")
def example() -> str:
    folder, scores = five_run()
    return page(folder, scores)


def test_hostile_texts_are_shown_and_do_nothing(visit: Open, tmp_path: Path) -> None:
    folder, scores = hostile_series(tmp_path / "hostile")
    text = page(folder, scores)
    seen = visit(text)
    scripts = seen.count("script")
    seen.open_trial("1")
    seen.page.locator("#unfold").click()
    seen.page.evaluate("document.querySelectorAll('details').forEach((d) => { d.open = true; })")
    seen.page.wait_for_function(
        "document.querySelectorAll('#panes details.text > pre').length > 20"
    )
    for button in seen.page.locator("[data-code]").all():
        button.focus()
        button.hover()
    read = str(seen.page.evaluate("document.querySelector('#panes').textContent"))
    for name, payload in PAYLOADS.items():
        for line in shown(payload).split("\n"):
            assert line in read, name
    assert seen.page.evaluate("window.pwned") is None
    assert seen.said == []
    outside = [url for url in seen.requests if not url.startswith(("file:", "data:"))]
    assert outside == []
    assert seen.count("script") == scripts
    assert seen.count("#panes :is(img, svg, iframe, script, style, link, meta, base, a, form)") == 0
    assert seen.count("iframe, object, embed, base, meta[http-equiv=refresh]") == 0
    assert not any(c in read for c in "\x1b\x00\u202e\u2066\u2028\u200b\U000e0041")


def test_a_script_that_got_into_the_page_would_not_run(visit: Open, example: str) -> None:
    bad = '<script>window.pwned=1</script><img src=x onerror="window.pwned=2"><p style="color:red">'
    seen = visit(example.replace("<main", f"{bad}<main", 1))
    assert seen.page.evaluate("window.pwned") is None
    assert sum("Content Security Policy" in line for line in seen.said) >= 3
    assert seen.page.evaluate(_MARKUP) == "TypeError"


_MARKUP = "(() => { try { document.body.innerHTML = 'x'; } catch (e) { return e.name; } })()"


def test_leaks_are_marked_in_place(visit: Open, example: str) -> None:
    folder, scores = five_run()
    del folder
    finding = next(
        f for t in scores["trials"] for f in t["findings"] if f["code"] == "text.foreign_script"
    )
    trial = next(t for t in scores["trials"] if finding in t["findings"])
    seen = visit(example)
    seen.open_trial(str(trial["index"]))
    seen.page.locator("#next").click()
    mark = seen.page.locator("mark:focus")
    assert mark.get_attribute("data-codes") == "text.foreign_script"
    assert mark.text_content() in finding["excerpt"]
    assert "Finding 1 of" in str(seen.page.locator("#status").text_content())


def test_the_filter_leaves_steps_with_the_code(visit: Open, tmp_path: Path) -> None:
    folder, scores = large_series(tmp_path / "some", 2, 12)
    scores["trials"][1]["findings"] = []
    seen = visit(page(folder, scores))
    button = seen.page.locator('[data-code="text.foreign_script"]')
    seen.open_trial("2")
    button.click()
    assert seen.page.locator("#left").input_value() == "1"
    assert button.get_attribute("aria-pressed") == "true"
    assert seen.page.locator("#panes .step").evaluate_all("e => e.map((s) => s.dataset.n)") == ["3"]
    assert seen.count("[data-dim]") == 1
    button.click()
    assert button.get_attribute("aria-pressed") == "false"
    assert seen.count("#panes .step") == 12


def test_two_trials_stand_side_by_side(visit: Open, example: str) -> None:
    seen = visit(_drifting())
    seen.open_trial("1")
    seen.page.locator("#right").select_option("4")
    left, right = (seen.page.locator(f'.step[data-key="{key}"]') for key in ("1", "4"))
    left.nth(1).locator("summary").first.click()
    seen.page.wait_for_function("document.querySelectorAll('.step[open] pre').length > 1")
    assert right.nth(1).get_attribute("open") is not None
    boxes = left.nth(1).bounding_box(), right.nth(1).bounding_box()
    assert boxes[0]
    assert boxes[1]
    assert boxes[0]["y"] == boxes[1]["y"]
    assert boxes[0]["x"] + boxes[0]["width"] <= boxes[1]["x"]
    assert seen.page.url.endswith("#trial-1,4")


def test_an_address_opens_the_trials_it_names(visit: Open) -> None:
    seen = visit(_drifting())
    seen.page.goto(seen.page.url + "#trial-2,3")
    seen.page.reload()
    assert seen.page.locator("#left").input_value() == "2"
    assert seen.page.locator("#right").input_value() == "3"
    assert seen.count(".step") == 20


def test_a_large_series_opens_in_pieces(visit: Open, tmp_path: Path) -> None:
    folder, scores = large_series(tmp_path / "large", 20, 60)
    text = page(folder, scores)
    assert 7_000_000 < len(text) < 14_000_000
    seen = visit(text)
    everything = "document.querySelectorAll('*').length"
    assert seen.page.evaluate(everything) < 2_500
    assert seen.count("#panes *") == 0
    seen.open_trial("7")
    assert seen.count(".step") == 60
    assert seen.page.evaluate(everything) < 3_500
    assert seen.count("#panes pre") == 0
    seen.page.locator(".step summary").first.click()
    seen.page.wait_for_selector("#panes pre")
    assert seen.count("#panes pre") == 2
    seen.page.locator("#right").select_option("20")
    assert seen.count(".step") == 120
    assert seen.page.evaluate(everything) < 4_500
    assert seen.said == []


def test_the_keyboard_reaches_everything(visit: Open, example: str) -> None:
    seen = visit(example)
    keys = seen.page.keyboard
    reached = []
    for _ in range(120):
        keys.press("Tab")
        told = seen.page.evaluate(_FOCUSED)
        assert told["outline"] or told["name"] == "BODY", told
        reached.append(told["id"] or told["open"] or told["code"] or told["name"])
        if told["code"]:
            break
    assert {"2", "4", "left", "right", "next", "previous", "unfold"} <= set(reached)
    seen.page.locator('[data-open="2"]').focus()
    keys.press("Enter")
    assert seen.page.evaluate("document.activeElement.id") == "left"
    seen.page.locator("#next").focus()
    keys.press("Enter")
    assert seen.page.evaluate("document.activeElement.closest('.step') !== null")
    summary = seen.page.locator(".step > summary").first
    summary.focus()
    was = seen.page.locator(".step").first.get_attribute("open")
    keys.press("Space")
    assert seen.page.locator(".step").first.get_attribute("open") != was


_FOCUSED = """() => {
  const e = document.activeElement, style = getComputedStyle(e);
  return { id: e.id, name: e.tagName, open: e.dataset.open, code: e.dataset.code,
    outline: style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) >= 2 };
}"""


@pytest.mark.parametrize("look", sorted(LOOKS))
def test_text_has_enough_contrast(visit: Open, example: str, look: str) -> None:
    seen = visit(example, **LOOKS[look])
    for key in ("2", "3", "4"):
        seen.open_trial(key)
        seen.page.evaluate(
            "document.querySelectorAll('details').forEach((d) => { d.open = true; })"
        )
        seen.page.wait_for_selector("#panes pre, #panes .call")
        seen.page.locator("[data-code]").first.click()
        seen.page.locator("[data-code]").first.click()
        found = seen.page.evaluate(CONTRAST)
        assert found["texts"] > 100
        assert found["weak"] == []


def test_every_control_and_picture_has_a_name(visit: Open, example: str) -> None:
    seen = visit(example)
    seen.open_trial("3")
    unnamed = seen.page.evaluate(UNNAMED)
    assert unnamed == []
    twice = seen.page.evaluate(
        "(() => { const ids = [...document.querySelectorAll('[id]')].map((e) => e.id);"
        " return ids.filter((id, at) => ids.indexOf(id) !== at); })()"
    )
    assert twice == []


def test_a_phone_needs_no_sideways_scrolling(visit: Open) -> None:
    seen = visit(_drifting(), **PHONE)
    seen.open_trial("1")
    seen.page.locator("#right").select_option("2")
    seen.page.locator(".step > summary").nth(2).click()
    seen.page.wait_for_selector("#panes pre")
    width = seen.page.evaluate("document.documentElement.scrollWidth")
    assert width <= 390


def test_print_shows_what_is_open_and_no_controls(visit: Open, example: str) -> None:
    seen = visit(example, color_scheme="dark")
    seen.page.emulate_media(media="print")
    assert not seen.page.locator("#transcripts").is_visible()
    seen.page.emulate_media(media="screen")
    seen.open_trial("3")
    seen.page.locator(".step > summary").first.click()
    seen.page.wait_for_selector(".step[open] .call")
    seen.page.emulate_media(media="print")
    assert seen.page.locator(".step[open]").is_visible()
    assert not seen.page.locator("#controls").is_visible()
    assert not seen.page.locator("nav").is_visible()
    assert seen.page.evaluate("getComputedStyle(document.body).color") == "rgb(0, 0, 0)"


def test_without_scripts_the_report_can_be_read(visit: Open, example: str) -> None:
    seen = visit(example, java_script_enabled=False)
    assert seen.page.locator("noscript p").is_visible()
    assert seen.page.locator("h2").count() > 8
    assert not seen.page.locator("#controls").is_visible()


def _drifting() -> str:
    """A page over whole conversations; its numbers are those of the five-run fixture."""
    root = Path(__file__).parents[2] / "fixtures" / "series-drifting"
    return page(open_series(root), five_run()[1])
