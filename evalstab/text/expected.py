"""What a text may contain, from the language it is expected to be written in."""

import difflib
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from fontTools.unicodedata import script_code, script_name

Gate = Literal["words", "han", "kana", "hangul", "letters"]

_BY_SCRIPT: dict[tuple[str, ...], str] = {
    ("Latn",): (
        "af an az br bs ca cs cy da de en eo es et eu fi fo fr ga gl ha hr ht hu id is it jv ku"
        " la lb lt lv mg ms mt nb nl nn no oc pl pt qu ro rw sk sl so sq sv sw tk tl tr uz vi"
        " vo wa xh yo zu"
    ),
    ("Cyrl",): "be bg kk ky mk mn ru tg tt uk",
    ("Latn", "Cyrl"): "sr",
    ("Grek",): "el",
    ("Arab",): "ar fa ps sd ug ur",
    ("Hebr",): "he yi",
    ("Armn",): "hy",
    ("Geor",): "ka",
    ("Ethi",): "am ti",
    ("Deva",): "hi mr ne sa",
    ("Beng",): "as bn",
    ("Guru",): "pa",
    ("Gujr",): "gu",
    ("Orya",): "or",
    ("Taml",): "ta",
    ("Telu",): "te",
    ("Knda",): "kn",
    ("Mlym",): "ml",
    ("Sinh",): "si",
    ("Thai",): "th",
    ("Laoo",): "lo",
    ("Khmr",): "km",
    ("Mymr",): "my",
    ("Tibt",): "bo dz",
    ("Hang",): "ko",
    ("Hani", "Hira", "Kana"): "ja",
    ("Hani", "Bopo"): "zh",
}
_SCRIPTS = {tag: scripts for scripts, tags in _BY_SCRIPT.items() for tag in tags.split()}
_ALIASES = {"iw": "he", "in": "id", "cmn": "zh", "yue": "zh", "fil": "tl", "hbs": "sr", "sh": "sr"}
_NAMES = {
    "german": "de",
    "deutsch": "de",
    "english": "en",
    "french": "fr",
    "spanish": "es",
    "italian": "it",
    "portuguese": "pt",
    "dutch": "nl",
    "polish": "pl",
    "czech": "cs",
    "turkish": "tr",
    "russian": "ru",
    "ukrainian": "uk",
    "serbian": "sr",
    "greek": "el",
    "arabic": "ar",
    "hebrew": "he",
    "hindi": "hi",
    "thai": "th",
    "vietnamese": "vi",
    "chinese": "zh",
    "japanese": "ja",
    "korean": "ko",
}
_CASED_WRITING = frozenset({("Latn",), ("Cyrl",), ("Latn", "Cyrl"), ("Grek",), ("Armn",)})
_GROUPS = {"Hans": ("Hani", "Bopo"), "Hant": ("Hani", "Bopo"), "Jpan": ("Hani", "Hira", "Kana")}
_GROUPS |= {"Kore": ("Hang",)}

COMMON_CANDIDATES = (
    *("cs", "de", "en", "es", "fr", "it", "ja"),
    *("ko", "pl", "pt", "ru", "tr", "uk", "zh"),
)
"""Languages that any text is checked against, beside its own. Dutch and other close relatives
are left out on purpose: short German is most often mistaken for Dutch."""

_RELATIVES = {
    "da": "nb nn no sv",
    "nb": "da nn no sv",
    "nn": "da nb no sv",
    "no": "da nb nn sv",
    "sk": "cs",
    "hr": "bs sr sl",
    "bs": "hr sr sl",
    "gl": "pt es",
    "oc": "es fr ca",
    "an": "es ca",
    "ca": "es",
    "az": "tr",
    "tk": "tr",
    "be": "ru uk",
    "lb": "de",
    "wa": "fr",
    "eo": "it es",
    "ht": "fr",
    "br": "fr",
}
"""Candidates that are too close to the expected language to be told apart reliably."""


@dataclass(frozen=True)
class Expectation:
    """The language that a text should be in, and further scripts that it may use.

    `language` is a BCP 47 tag ("de", "pt-BR", "sr-Cyrl", "zh-Hant"); region and unknown
    subtags are ignored, a script subtag replaces the language's own scripts. `allow_scripts`
    names scripts by ISO 15924 code or long name ("Grek", "Greek"). Latin is always allowed:
    names, code and technical terms are Latin everywhere.

    Raises ValueError for an unknown language or script, naming the nearest known one.
    """

    language: str
    allow_scripts: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Refuse an unknown tag when the object is made, not at its first use."""
        _ = self.scripts

    @cached_property
    def primary(self) -> str:
        """The primary language subtag, aliases resolved: "de" for "de-AT"."""
        return _primary(self.language)

    @cached_property
    def scripts(self) -> frozenset[str]:
        """ISO 15924 codes of the allowed scripts, without Common and Inherited."""
        allowed = {"Latn", *_SCRIPTS[self.primary]}
        for part in self.language.replace("_", "-").split("-")[1:]:
            code = part.title()
            if len(part) == 4 and part.isalpha():
                allowed = {"Latn", *_script_group(code)}
        for name in self.allow_scripts:
            allowed.update(_script_group(name))
        return frozenset(allowed)

    @cached_property
    def candidates(self) -> tuple[str, ...]:
        """Languages that the detectors choose from: the common ones and the expected one."""
        close = set(_RELATIVES.get(self.primary, "").split())
        return tuple(sorted(({*COMMON_CANDIDATES} - close) | {self.primary}))

    @property
    def gate(self) -> Gate:
        """Which decidability rule sentences of the expected language must meet."""
        match self.primary:
            case "zh":
                return "han"
            case "ja":
                return "kana"
            case "ko":
                return "hangul"
        return "words" if _SCRIPTS[self.primary] in _CASED_WRITING else "letters"

    @property
    def east_asian(self) -> bool:
        """True where full-width forms and ideographic punctuation are at home."""
        return not self.scripts.isdisjoint({"Hani", "Hira", "Kana", "Bopo", "Hang", "Yiii"})

    @property
    def korean(self) -> bool:
        """True where Hangul is allowed."""
        return "Hang" in self.scripts

    @property
    def right_to_left(self) -> bool:
        """True where directional marks are part of honest text."""
        return not self.scripts.isdisjoint({"Arab", "Hebr", "Syrc", "Thaa", "Nkoo"})


def known_languages() -> tuple[str, ...]:
    """All language tags that an Expectation takes, sorted."""
    return tuple(sorted(_SCRIPTS))


def _primary(tag: str) -> str:
    first = tag.replace("_", "-").split("-")[0].lower()
    first = _ALIASES.get(first, first)
    if first in _SCRIPTS:
        return first
    near = difflib.get_close_matches(first, [*_NAMES, *_SCRIPTS], n=1, cutoff=0.5)
    nearest = _NAMES.get(near[0], near[0]) if near else "en"
    raise ValueError(f"unknown language {tag!r}; the nearest known one is {nearest!r}")


def _script_group(name: str) -> tuple[str, ...]:
    """ISO codes for a script's code or long name; "Jpan" and its like stand for several."""
    short = name.title()
    if short in _GROUPS:
        return _GROUPS[short]
    try:
        script_name(short)
    except KeyError:
        pass
    else:
        return (short,)
    try:
        return (str(script_code(name)),)
    except KeyError:
        known = {script_name(code) for codes in _BY_SCRIPT for code in codes}
        near = difflib.get_close_matches(short, sorted(known), n=1, cutoff=0.0)[0]
        raise ValueError(f"unknown script {name!r}; the nearest known one is {near!r}") from None
