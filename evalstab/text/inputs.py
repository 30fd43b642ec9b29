"""What the model was given, so that a copied name is not called a leak."""

import unicodedata
from collections.abc import Callable, Iterable, Iterator

import regex

from .escapes import decode_entities, decode_json

_FOREIGN_RUN = regex.compile(
    r"(?V1)(?:[\P{ASCII}--[\p{Latin}\p{Common}\p{Inherited}]][\p{M}ーｰ]*+)++"
)
_SPACE = regex.compile(r"[^\S\x0b\u3000]++")
"""White space that is no oddity itself."""
_NOT_WORD = regex.compile(r"[^\p{L}\p{N}]++")
_MAX_GAP = 12
_MAX_SEGMENTS = 32
_MAX_WORDS = 3


class _Haystack:
    """Normalised texts, brought up to date when somebody asks."""

    def __init__(self, normalise: Callable[[str], str]) -> None:
        self._normalise = normalise
        self._waiting: list[str] = []
        self._segments: list[str] = []

    def add(self, text: str) -> None:
        self._waiting.append(text)

    def contains(self, needle: str) -> bool:
        self._segments += [self._normalise(text) for text in self._waiting]
        self._waiting.clear()
        if len(self._segments) > _MAX_SEGMENTS:
            self._segments = ["\0".join(self._segments)]
        return bool(needle) and any(needle in segment for segment in self._segments)


class InputIndex:
    """Answers whether a piece of output stood in one of the inputs.

    Inputs are the prompt, files that were read and tool results; `add` takes more of them as a
    trial goes on. Normalisation happens once per text and only when the first question comes.
    A question costs one substring search, repeated questions nothing.
    """

    def __init__(self, texts: Iterable[str] = ()) -> None:
        """Index the given texts."""
        self._waiting: list[str] = []
        self._empty = True
        self._foreign = _Haystack(foreign_key)
        self._words = _Haystack(lambda text: "\0".join(["", *_words(text), ""]))
        self._plain = _Haystack(_squeeze)
        self._prose = _Haystack(_prose_key)
        self._known: dict[tuple[str, str], bool] = {}
        for text in texts:
            self.add(text)

    def add(self, text: str) -> None:
        """Add one input text; what it spells out as escapes or entities counts as well."""
        if text:
            self._empty = False
            self._waiting.append(text)

    def _take_waiting(self) -> None:
        self._known = {key: known for key, known in self._known.items() if known}
        for text in self._waiting:
            for decoded in (decode_entities(text), decode_json(text) if "\\u" in text else None):
                if decoded is not None:
                    self._take(decoded.text)
            self._take(text)
        self._waiting.clear()

    def _take(self, text: str) -> None:
        for haystack in (self._foreign, self._words, self._plain, self._prose):
            haystack.add(text)

    def has_foreign(self, piece: str) -> bool:
        """True when the non-Latin letters of `piece` stood in an input.

        White space, width and case make no difference. Up to three words may stand there
        apart from each other, as the parts of a name do.
        """
        return self._ask("foreign", piece, self._find_foreign)

    def has_verbatim(self, piece: str) -> bool:
        """True when `piece` stood in an input as it is, white space and case aside."""
        return self._ask("verbatim", piece, lambda key: self._plain.contains(_squeeze(key)))

    def has_prose(self, sentence: str) -> bool:
        """True when the words of `sentence` stood in an input in this order."""
        return self._ask("prose", sentence, lambda key: self._prose.contains(_prose_key(key)))

    def _ask(self, kind: str, piece: str, find: Callable[[str], bool]) -> bool:
        if self._empty:
            return False
        if self._waiting:
            self._take_waiting()
        key = (kind, piece)
        if key not in self._known:
            self._known[key] = find(piece)
        return self._known[key]

    def _find_foreign(self, piece: str) -> bool:
        if self._foreign.contains(foreign_key(piece).strip("\0")):
            return True
        words = list(_words(piece))
        if not 0 < len(words) <= _MAX_WORDS:
            return False
        return all(self._words.contains(f"\0{word}\0") for word in words)


def foreign_key(text: str) -> str:
    """The non-Latin letters of a text, one NUL wherever other text interrupts them."""
    parts: list[str] = []
    last = -1
    for match in _FOREIGN_RUN.finditer(text):
        gap = text[last : match.start()] if last >= 0 else ""
        broken = len(gap) > _MAX_GAP or "\n" in gap or any(map(str.isalnum, gap))
        parts.append("\0" + match.group() if broken else match.group())
        last = match.end()
    return _fold("".join(parts))


def _words(text: str) -> Iterator[str]:
    return (_fold(match.group()) for match in _FOREIGN_RUN.finditer(text))


def _fold(text: str) -> str:
    return unicodedata.normalize("NFKC", text).casefold()


def _squeeze(text: str) -> str:
    return _SPACE.sub("", text).casefold()


def _prose_key(text: str) -> str:
    return _NOT_WORD.sub("", _fold(text))
