"""From the list of series to a finding in a transcript, as a person walks, over the real server."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser

from evalstab.view import Server
from evalstab.workflow.reporting import page_of
from tests.cli.program import evalstab
from tests.report.report_cases import FIVE_RUN


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A series with findings, and a ladder that was run."""
    cwd = tmp_path_factory.mktemp("walk")
    shutil.copytree(FIVE_RUN, cwd / "reports" / "five-run")
    options = ["--endpoint", "sim:steady", "--context", "4k,9k", "--repeats", "3", "--seed", "1"]
    done = evalstab("run", "three-notes", *options, "--out", "reports/ladder", "--quiet", cwd=cwd)
    assert done.returncode == 0, done.stderr
    with Server(cwd / "reports", page_of) as running:
        thread = threading.Thread(target=running.serve_forever, daemon=True)
        thread.start()
        yield running
        running.shutdown()
        thread.join()


def test_from_the_index_to_a_marked_leak(browser: Browser, server: Server) -> None:
    page = browser.new_page()
    said: list[str] = []
    asked: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))
    page.goto(server.url)
    assert page.locator("tbody tr").count() == 4
    page.get_by_role("link", name="five-run").click()
    page.get_by_role("button", name="text.foreign_script").click()
    page.get_by_role("button", name="Next finding").click()
    assert page.locator("mark:focus").count() == 1
    assert said == []
    assert all(url.startswith((server.url, "data:")) for url in asked)
    page.close()


def test_a_ladder_leads_to_its_rungs(browser: Browser, server: Server) -> None:
    page = browser.new_page()
    page.goto(server.url)
    page.get_by_role("link", name="ladder", exact=True).click()
    drawn = page.locator("img.plot")
    assert drawn.count() >= 1
    assert drawn.first.evaluate("image => image.complete && image.naturalWidth > 100")
    page.get_by_role("link", name="rung 9k").click()
    assert page.locator("h1").text_content() == "three-notes on sim:steady, 3 trials"
    page.locator('[data-open="2"]').click()
    assert page.locator(".step").count() > 1
    page.close()
