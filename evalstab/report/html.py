"""The report as one self-contained page: no network, no framework, nothing of a model executed.

Texts go in through autoescaping; transcripts as JSON in data blocks, from which the page's own
script makes text nodes. The policy in the page's head names that script and style by their hashes:
nothing else can run, load or be sent, whatever a text holds.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any

import msgspec
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from evalstab.chat import Json
from evalstab.report.page import Block, Report, Table
from evalstab.report.strip import Tile, code_counts

WORDS = {
    "pass": "Pass",
    "fail": "Fail",
    "undecided": "Undecided",
    "invalid": "Invalid",
    "none": "No gate",
}


STATUSES = {
    "pass": "pass",
    "fail": "fail",
    "undecided": "undecided",
    "invalid": "invalid",
}
"""Cells that are a verdict, and the look of each."""

SOFT = "pass (provisional"

WORDY = 40
"""Characters from which a cell is a sentence."""


@dataclass(frozen=True, slots=True)
class Transcripts:
    """What of the trials can be opened: tiles, and data of attempts by key.

    ``texts`` is what the model was given to read, each text once.
    """

    tiles: tuple[Tile, ...] = ()
    data: Mapping[str, Json] = field(default_factory=dict)
    texts: tuple[str, ...] = ()


def render(
    report: Report,
    drawn: Mapping[str, str],
    transcripts: Transcripts | None = None,
    links: tuple[tuple[str, str], ...] = (),
) -> str:
    """The whole page. ``drawn`` holds the SVG of every figure by name.

    ``links`` are further pages: name and relative address.
    """
    inside = transcripts or Transcripts()
    keys = [tile.key for tile in inside.tiles]
    spoilt = [key for key in inside.data if key not in keys]
    page: str = _template("report.html").render(
        report=report,
        images={name: _image(svg) for name, svg in drawn.items()},
        tiles=inside.tiles,
        spoilt=spoilt,
        codes=code_counts(inside.tiles),
        blocks={f"trial-{key}": data_block(data) for key, data in inside.data.items()},
        texts=data_block(list(inside.texts)),
        meta=data_block(_meta(inside, spoilt)),
        links=links,
    )
    return page


def status_of(cell: str) -> str | None:
    """The look of a cell that is a verdict, None for any other."""
    return "pass" if cell.startswith(SOFT) else STATUSES.get(cell)


def data_block(value: Any) -> Markup:
    """A value as JSON that may stand in a ``script`` element of type application/json."""
    raw = msgspec.json.encode(value).decode()
    for char in "<>&\u2028\u2029":
        raw = raw.replace(char, f"\\u{ord(char):04x}")
    return Markup(raw)


def render_index(series: list[Json], place: str) -> str:
    """The page that lists all series of a folder, newest first."""
    page: str = _template("index.html").render(series=series, place=place, words=WORDS)
    return page


def is_current(page: bytes) -> bool:
    """Whether a page was made by this version, with the script and style that its policy names.

    Its head is ours word for word but for the title, and no element stands in it that we never
    write: our own texts hold no ``<``. A page that was planted is made anew.
    """
    before, after = _head()
    start = page.find(b"</title>")
    if not page.startswith(before) or start < 0 or not page.startswith(after, start):
        return False
    return _FOREIGN.search(page, start + len(after)) is None


_FOREIGN = re.compile(
    rb"<(?:meta|base|i?frame|frameset|object|embed|applet|form|input|link|area|svg|math|style)\b",
    re.I,
)


@cache
def _head() -> tuple[bytes, bytes]:
    """What stands in every page before its title, and from there to the end of the style."""
    page = render_index([], "").encode()
    title, style = page.index(b"<title>"), page.index(b"</style>")
    return page[: title + 7], page[page.index(b"</title>") : style]


def policy() -> str:
    """The content security policy of our pages: their own script and style, and data images."""
    return (
        "default-src 'none'; img-src data:; "
        f"style-src '{_hash(_asset('page.css'))}'; script-src '{_hash(_asset('page.js'))}'; "
        "base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; "
        "trusted-types 'none'"
    )


def _meta(inside: Transcripts, spoilt: list[str]) -> Json:
    trials = [
        {"key": tile.key, "title": tile.title, "codes": tile.codes}
        for tile in inside.tiles
        if tile.key is not None
    ]
    trials += [{"key": key, "title": f"Trial {key}", "codes": {}} for key in spoilt]
    return {"trials": trials, "meanings": {c: m for c, _, m in code_counts(inside.tiles)}}


def _image(svg: str) -> str:
    return "data:image/svg+xml;base64," + base64.b64encode(svg.encode()).decode()


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


@cache
def _asset(name: str) -> str:
    return files("evalstab.report").joinpath("web", name).read_text(encoding="utf-8")


def _kind(block: Block) -> str:
    return type(block).__name__


def _wordy(table: Table) -> bool:
    """Whether a table holds sentences, and so must not be squeezed into a phone's width."""
    return any(len(cell) > WORDY for row in table.rows for cell in row)


@cache
def _template(name: str) -> Any:
    environment = Environment(
        loader=PackageLoader("evalstab.report", "web"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals |= {
        "style": Markup(_asset("page.css")),
        "script": Markup(_asset("page.js")),
        "policy": policy(),
        "kind": _kind,
        "wordy": _wordy,
        "status_of": status_of,
    }
    environment.filters["kind_of"] = _kind
    return environment.get_template(name)
