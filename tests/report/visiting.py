"""Pages opened in a real Chromium, all that they do meanwhile, and what is measured on them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from playwright.sync_api import Dialog, Page

LOOKS = {"light": {"color_scheme": "light"}, "dark": {"color_scheme": "dark"}}
PHONE = {"viewport": {"width": 390, "height": 844}, "is_mobile": True, "has_touch": True}


@dataclass
class Visit:
    """A page that was opened, and all that it did meanwhile."""

    page: Page
    requests: list[str] = field(default_factory=list)
    said: list[str] = field(default_factory=list)

    def dialog(self, dialog: Dialog) -> None:
        self.said.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    def open_trial(self, key: str) -> None:
        self.page.locator(f'[data-open="{key}"]').click()

    def count(self, selector: str) -> int:
        return self.page.locator(selector).count()


Open = Callable[..., Visit]


CONTRAST = """() => {
  const channels = (c) => c.match(/[\\d.]+/g).map(Number);
  const light = (c) => {
    const [r, g, b] = channels(c).slice(0, 3).map((v) => v / 255)
      .map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const behind = (e) => {
    for (; e; e = e.parentElement) {
      const c = getComputedStyle(e).backgroundColor, parts = channels(c);
      if (parts.length === 3 || parts[3] === 1) return c;
    }
    return 'rgb(255, 255, 255)';
  };
  const weak = [];
  let texts = 0;
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const e = walker.currentNode.parentElement;
    if (!walker.currentNode.data.trim() || !e.getClientRects().length) continue;
    texts += 1;
    const pair = [light(getComputedStyle(e).color), light(behind(e))].sort((a, b) => b - a);
    const ratio = (pair[0] + 0.05) / (pair[1] + 0.05);
    if (ratio < 4.5) weak.push(`${ratio.toFixed(2)} ${e.tagName}.${e.className}`);
  }
  return { texts, weak };
}"""


UNNAMED = """() => {
  const named = (e) => e.getAttribute('aria-label') || e.alt || e.labels?.length
    || (e.tagName !== 'SELECT' && e.textContent.trim());
  return [...document.querySelectorAll('button, select, img, [role=region], a')]
    .filter((e) => !named(e)).map((e) => e.outerHTML.slice(0, 80));
}"""


WIDE = """() => [...document.querySelectorAll('body *')]
  .filter((e) => !e.closest('.scroll, .skip, pre') && e.getClientRects().length
    && e.getBoundingClientRect().right > document.documentElement.clientWidth + 1)
  .map((e) => `${e.tagName}.${e.className}`)"""
"""What stands out of the page to the right, other than inside what scrolls by itself."""
