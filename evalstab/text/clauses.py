"""Clauses of another language inside a sentence of the expected one."""

from collections import Counter
from collections.abc import Iterator
from itertools import groupby

from .detectors import FirstDetector, first_detector, second_detector
from .expected import Expectation
from .function_words import function_words
from .prose import Sentence

WINDOW = 7
STEP = 2
MARGIN = 0.8
_MIN_LETTERS = 24
_MIN_LOWER = 5
_MIN_CLAUSE = 5
_MIN_FUNCTION_WORDS = 2
_MAX_WORDS = 400

Clause = tuple[int, int, str, tuple[str, ...]]


def inline_clauses(sentence: Sentence, expectation: Expectation) -> Iterator[Clause]:
    """Clauses of at least about seven words: start, end, language, words.

    A window of seven words moves over the sentence by two. A word belongs to a clause when at
    least a third of the windows over it are given to one other language by a wide margin. The
    second detector must name the same language for the whole clause, which must have at least
    two of its function words.
    """
    words = sentence.words[:_MAX_WORDS]
    if len(words) < WINDOW:
        return
    candidates = expectation.candidates
    detector = first_detector(candidates)
    votes: list[list[str | None]] = [[] for _ in words]
    last = len(words) - WINDOW
    for first in {*range(0, last + 1, STEP), last}:
        language = _other(words[first : first + WINDOW], expectation.primary, detector)
        for index in range(first, first + WINDOW):
            votes[index].append(language)
    if not any(any(vote) for vote in votes):
        return
    begin = 0
    for winner, group in groupby(_majority(vote) for vote in votes):
        size = len(list(group))
        if winner is not None and size >= _MIN_CLAUSE:
            yield from _confirmed(sentence, (begin, begin + size, winner), candidates)
        begin += size


def _majority(votes: list[str | None]) -> str | None:
    named = Counter(vote for vote in votes if vote is not None).most_common(1)
    return named[0][0] if named and 3 * named[0][1] >= len(votes) else None


def _other(words: tuple[str, ...], expected: str, detector: FirstDetector) -> str | None:
    lower = sum(word[0].islower() for word in words)
    if lower < _MIN_LOWER or sum(map(len, words)) < _MIN_LETTERS:
        return None
    text = " ".join(words)
    language = detector.best(text)
    if language == expected:
        return None
    scores = detector.scores(text)
    far = scores[language] - scores.get(expected, 0.0) > MARGIN
    return language if far else None


def _confirmed(
    sentence: Sentence, run: tuple[int, int, str], candidates: tuple[str, ...]
) -> Iterator[Clause]:
    first, last, language = run
    words = sentence.words[first:last]
    scores = second_detector(candidates).scores(" ".join(words))
    small = function_words(words, language)
    running = small is None or small >= _MIN_FUNCTION_WORDS
    if running and scores and max(scores, key=lambda tag: scores[tag]) == language:
        yield sentence.places[first][0], sentence.places[last - 1][1], language, words
