"""Short, safe pieces of hostile text, with the place in question marked."""

import html

import regex

MARK_OPEN, MARK_CLOSE = "⟦", "⟧"
_ELLIPSIS = "…"
_MAX_MARKS = 3
_FLOOD = regex.compile(rf"(\p{{M}}{{{_MAX_MARKS}}})\p{{M}}++")
_UNSAFE = regex.compile(
    r"(?V1)[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Cn}\u2028\u2029\u115f\u1160\u3164\uffa0\u034f\ufffd"
    r"\U000e0000-\U000e0fff]"
)
_PICTURES = {"\n": "⏎", "\r": "␍", "\t": "⇥"}
_EMOJI_JOINER = regex.compile(
    r"(?<=\p{Extended_Pictographic}\p{Emoji_Modifier}?\ufe0f?)\u200d(?=\p{Extended_Pictographic})"
)
_MARKDOWN = regex.compile(r"[\\`*_{}\[\]()#+\-.!|<>&~$^:@=\"']")


def excerpt(text: str, start: int, end: int, context: int = 20, limit: int = 200) -> str:
    """The piece `text[start:end]` between ⟦ and ⟧ with `context` characters on each side.

    At most `limit` characters long; a long span keeps its beginning and its end. Control,
    format, private and broken characters are written as "<U+202E>", line breaks as "⏎", and of
    a flood of combining marks three are kept. The result is plain text on one line: pass it
    through `for_markdown`, `for_html` or `for_terminal` to show it. Offsets outside the text
    are moved to its ends; raises ValueError for a limit under 20.
    """
    if limit < 20:
        raise ValueError("an excerpt needs a limit of at least 20 characters")
    start = min(max(0, start), len(text))
    end = min(max(start, end), len(text))
    before = visible(text[max(0, start - context) : start])
    after = visible(text[end : end + context])
    before = _ELLIPSIS + before if start > context else before
    after = after + _ELLIPSIS if end + context < len(text) else after
    room = limit - 2
    side = min(context + 1, room // 4)
    before, after = before[-side:], after[:side]
    room -= len(before) + len(after)
    return f"{before}{MARK_OPEN}{_shorten(text, start, end, room)}{MARK_CLOSE}{after}"


def visible(text: str) -> str:
    """The text with every character that hides, reorders or breaks others written out.

    Linear in the text; emoji sequences stay whole.
    """
    text = _FLOOD.sub(r"\1<+marks>", text)
    joiners = {match.start() for match in _EMOJI_JOINER.finditer(text)}
    parts: list[str] = []
    last = 0
    for match in _UNSAFE.finditer(text):
        if match.start() in joiners:
            continue
        char = match.group()
        parts += (text[last : match.start()], _PICTURES.get(char, f"<U+{ord(char):04X}>"))
        last = match.end()
    shown = "".join([*parts, text[last:]])
    return "◌" + shown if shown and regex.match(r"\p{M}", shown) else shown


def for_markdown(shown: str) -> str:
    """Escape a shown text so that Markdown, tables included, prints it as it is."""
    return _MARKDOWN.sub(lambda match: "\\" + match.group(), visible(shown)).replace("\\<", "&lt;")


def for_html(shown: str) -> str:
    """Escape a shown text for HTML, isolated so that its direction affects nothing else."""
    return f"<bdi>{html.escape(visible(shown))}</bdi>"


def for_terminal(shown: str) -> str:
    """A shown text for a terminal: no escape sequence can be left in it."""
    return visible(shown)


def _shorten(text: str, start: int, end: int, room: int) -> str:
    """The span made visible, its middle left out when it is longer than the room."""
    if end - start <= room:
        whole = visible(text[start:end])
        if len(whole) <= room:
            return whole
    half = max(1, (room - 1) // 2)
    head = visible(text[start : start + half])
    tail = visible(text[max(start, end - half) : end])
    return f"{head[:half]}{_ELLIPSIS}{tail[-half:]}"
