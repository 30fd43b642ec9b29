"""Real text in many languages: the translated manual pages installed on this machine.

Debian has them as packages `manpages-de`, `manpages-fr`, `manpages-es`, `manpages-pl`, …
"""

import gzip
import random
from collections.abc import Iterator
from pathlib import Path

import regex

from evalstab.text.function_words import function_words

ROOT = Path("/usr/share/man")

_REQUEST = regex.compile(r"(?m)^[.'][ \t]*(\w*)[ \t]*(.*)$")
_TABLE_FORMAT = regex.compile(r"(?m)^[lcrsnLCRSN |]+\.?$")
_TEXT_MACROS = frozenset({"B", "I", "BR", "RB", "BI", "IB", "IR", "RI", "SH", "SS", "SM"})
_ESCAPE = regex.compile(
    r"\\f(?:\[\w*\]|\(\w\w|\w)|\\s[-+]?\d+|\\m\[\w*\]|\\[&:%|^/,]|\\[hvwXZ]'[^']*'|\\\*?\[\w+\]"
)
_SPECIAL = {"\\-": "-", "\\e": "\\", "\\ ": " ", "\\~": " ", "\\(aq": "'", "\\(lq": "“"}
_SPECIAL |= {"\\(rq": "”", "\\(em": "—", "\\(en": "–", "\\(co": "©", "\\(bu": "•", "\\.": "."}
_SPECIAL |= {"\\(Bq": "„", "\\(Fo": "«", "\\(Fc": "»", "\\(oq": "‘", "\\(cq": "’", "\\`": "`"}
_WORD = regex.compile(r"\p{L}++")
_CELL = regex.compile(r"\t\S\t|^[0-7]{3}\t", regex.MULTILINE)


def languages() -> list[str]:
    """Languages with at least 20 manual pages, by the name of their folder."""
    found = (path.name for path in ROOT.iterdir() if path.is_dir() and path.name[:3] != "man")
    return sorted(name for name in found if len(list(ROOT.glob(f"{name}/man*/*.gz"))) >= 20)


def pages(language: str, limit: int, seed: int = 1) -> Iterator[str]:
    """Plain text of up to `limit` pages in random but fixed order; "en" is the original."""
    folder = ROOT if language == "en" else ROOT / language
    paths = sorted(folder.glob("man[1-8]/*.gz"))
    random.Random(seed).shuffle(paths)
    for path in paths[:limit]:
        try:
            source = gzip.decompress(path.read_bytes()).decode("utf-8")
        except (UnicodeDecodeError, OSError, EOFError):
            continue
        if len(source) > 1000:
            yield plain_text(source)


def plain_text(source: str) -> str:
    """The text of a roff page: requests and comments dropped, escapes resolved."""
    paragraphs: list[str] = []
    lines: list[str] = []
    for line in _TABLE_FORMAT.sub("", source).splitlines():
        match = _REQUEST.match(line)
        if match is None:
            lines.append(line)
        elif match.group(1) in _TEXT_MACROS:
            lines.append(match.group(2).replace('"', ""))
        if match is not None and match.group(1) in {"PP", "P", "SH", "SS", "TP", "IP", "LP", "sp"}:
            paragraphs.append(" ".join(lines))
            lines = []
    paragraphs.append(" ".join(lines))
    return "\n\n".join(_unescape(text) for text in paragraphs if text.strip())


class Leftovers:
    """Tells what a translation left in English, without any language detector.

    A sentence is a leftover when three tenths of its runs of three words stand in the English
    pages of this machine, or when it has no fewer English function words than its own.
    """

    def __init__(self, limit: int = 4000) -> None:
        """Read the English pages."""
        self._runs: set[int] = set()
        for text in pages("en", limit):
            self._runs.update(map(hash, _runs(text)))

    def has(self, sentence: str, language: str) -> bool:
        """Whether a sentence from a page in `language` is English."""
        runs = _runs(sentence)
        if sum(hash(run) in self._runs for run in runs) > 0.3 * len(runs):
            return True
        words = tuple(_WORD.findall(sentence))
        own, english = (function_words(words, tag) for tag in (language[:2], "en"))
        return own is not None and bool(english) and (english or 0) >= own


def is_character_table(text: str) -> bool:
    """Pages about character sets contain foreign letters by right."""
    return len(_CELL.findall(text)) > 40


def _runs(text: str) -> list[tuple[str, str, str]]:
    words = [word.casefold() for word in _WORD.findall(text)]
    return list(zip(words, words[1:], words[2:], strict=False))


def _unescape(text: str) -> str:
    text = _ESCAPE.sub("", text)
    for escape, char in _SPECIAL.items():
        text = text.replace(escape, char)
    return text
