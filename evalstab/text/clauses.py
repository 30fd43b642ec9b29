"""Clauses of another language inside a sentence of the expected one."""

from collections.abc import Iterator

from .detectors import Detector, first_detector, second_detector
from .expected import Expectation
from .prose import Sentence

WINDOW = 7
STEP = 2
MARGIN = 0.9
_MIN_LETTERS = 24
_MIN_LOWER = 5
_MAX_WORDS = 400

Clause = tuple[int, int, str, tuple[str, ...]]


def inline_clauses(sentence: Sentence, expectation: Expectation) -> Iterator[Clause]:
    """Clauses of at least about seven words: start, end, language, words.

    A window of seven words moves over the sentence by two; windows that the first detector
    gives to one other language by a wide margin are joined, and the second detector must name
    the same language for the whole.
    """
    words = sentence.words[:_MAX_WORDS]
    candidates = expectation.candidates
    detector = first_detector(candidates)
    run: tuple[int, int, str] | None = None
    for first in range(0, len(words) - WINDOW + 1, STEP):
        language = _other(words[first : first + WINDOW], expectation.primary, detector)
        if language is None:
            continue
        if run is not None and run[2] == language and first <= run[1]:
            run = (run[0], first + WINDOW, language)
            continue
        if run is not None:
            yield from _confirmed(sentence, run, candidates)
        run = (first, first + WINDOW, language)
    if run is not None:
        yield from _confirmed(sentence, run, candidates)


def _other(words: tuple[str, ...], expected: str, detector: Detector) -> str | None:
    lower = sum(word[0].islower() for word in words)
    if lower < _MIN_LOWER or sum(map(len, words)) < _MIN_LETTERS:
        return None
    scores = detector.scores(" ".join(words))
    language = max(scores, key=lambda tag: scores[tag])
    far = scores[language] - scores.get(expected, 0.0) > MARGIN
    return language if language != expected and far else None


def _confirmed(
    sentence: Sentence, run: tuple[int, int, str], candidates: tuple[str, ...]
) -> Iterator[Clause]:
    first, last, language = run
    words = sentence.words[first:last]
    scores = second_detector(candidates).scores(" ".join(words))
    if scores and max(scores, key=lambda tag: scores[tag]) == language:
        yield sentence.places[first][0], sentence.places[last - 1][1], language, words
