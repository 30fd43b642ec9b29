"""Foreign letters that honest authors write: glosses, quoted titles, emoticons."""

import regex

_ROMAN_CHINESE = (
    r"(?:zh|ch|sh|ts|hs|[bpmfdtnlgkhjqxzcsryw])?'?"
    r"(?:iang|iong|uang|ueng|ang|eng|ing|ong|ung|iao|ian|uai|uan|ai|ei|ao|ou|an|en|in|un|ün|er"
    r"|ia|ie|ih|iu|ua|uo|ui|üe|a|o|e|i|u|ü)"
)
_ROMAN_JAPANESE = r"(?:sh|ch|ts|[kgnhbpmr]y|[kgsztdnhbpmyrwfj])?[aiueoāīūēō]{1,2}n?"
_ROMAN = rf"(?:(?:{_ROMAN_CHINESE}){{1,4}}|(?:{_ROMAN_JAPANESE}){{1,6}})"
_GLOSSED = regex.compile(rf"(?i)(?<![\p{{L}}]){_ROMAN}(?:[- ]{_ROMAN}){{0,2}}[  ]?[(（\[]$")
_CAPITAL = regex.compile(r"\p{Lu}")
_VALUE = regex.compile(r"[:,{\[]\s?\"$")
_MAX_GLOSS = 12
_MAX_LOOKBACK = 40
_QUOTES = {"„": "“”", "“": "”“", "«": "»", "»": "«", "‚": "‘’", "‹": "›", "›": "‹", '"': '"'}
_BRACKETS = {"(": ")", "（": "）", "[": "]"}
_EMOTICONS = ("_(ツ)_", "ಠ_ಠ", "ಥ_ಥ")


def mitigation(text: str, start: int, end: int, group: str) -> str | None:
    """Why a foreign span may be meant: "gloss", "title", or None.

    gloss: the original in brackets after its romanisation, as in "Tai-Chi (太極拳)".
    title: a quoted title, which begins with a capital, or stands in 《》. The values of JSON
    are no quotations.
    """
    before = text[start - 1] if start else ""
    after = text[end] if end < len(text) else ""
    if group == "Hani":
        if text[start] == "《" and text[end - 1] == "》":
            return "title"
        closed = bool(before) and _BRACKETS.get(before) == after
        if closed and end - start <= _MAX_GLOSS:
            lead = text[max(0, start - _MAX_LOOKBACK) : start]
            if (match := _GLOSSED.search(lead)) and match.group()[0].isupper():
                return "gloss"
        return None
    quoted = bool(after) and after in _QUOTES.get(before, "")
    if not quoted or not _CAPITAL.match(text[start]):
        return None
    is_value = before == '"' and bool(_VALUE.search(text[max(0, start - 4) : start]))
    return None if is_value else "title"


def is_emoticon(text: str, start: int, end: int) -> bool:
    """True for the few emoticons that are drawn with foreign letters."""
    around = text[max(0, start - 2) : end + 2]
    return end - start <= 3 and any(face in around for face in _EMOTICONS)
