"""Opens pages in a browser for the tests of this folder."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser

    from tests.report.visiting import Open, Visit


@pytest.fixture
def visit(browser: Browser, tmp_path: Path) -> Iterator[Open]:
    """Opens a page from its text, in a fresh context, and notes what it asks for and says."""
    from tests.report.visiting import Visit  # noqa: PLC0415

    contexts = []

    def opened(text: str, **options: Any) -> Visit:
        file = tmp_path / "opened.html"
        file.write_text(text, encoding="utf-8")
        context = browser.new_context(**options)
        contexts.append(context)
        seen = Visit(context.new_page())
        seen.page.on("request", lambda request: seen.requests.append(request.url))
        seen.page.on("console", lambda message: seen.said.append(message.text))
        seen.page.on("pageerror", lambda error: seen.said.append(str(error)))
        seen.page.on("dialog", seen.dialog)
        seen.page.goto(file.as_uri())
        return seen

    yield opened
    for context in contexts:
        context.close()
