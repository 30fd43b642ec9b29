"""Finds sentences and clauses of another language, and tells the language of a whole channel.

A sentence is judged only if it is decidable: long enough, and more than names and terms. Two
detectors must both see another language than the expected one. `docs/measures/language.md`
has the false alarms and misses of this and of other pairs.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from .characters import CASED, JAPANESE, long_name, script_of
from .clauses import inline_clauses
from .detectors import detectable, first_detector, second_detector
from .expected import Expectation
from .function_words import function_words
from .han import han_sentence_language
from .inputs import InputIndex
from .prose import Sentence, sentences
from .scripts import count_graphemes
from .spans import Span, Tier

MIN_LETTERS = 20
SURE_LETTERS = 40
SHORT_MARGIN = 0.3
CLEAR_MARGIN = 0.9
MIN_WORDS = 4
MIN_LOWER_WORDS = 3
MIN_LOWER_SHARE = 0.4
_MIN_UNCASED_WORDS = 3
_UNKNOWN_MARGIN = 0.9
_SETTLED = 3
_WORDS_PER_FUNCTION_WORD = 12
_QUOTE_RUN = 5
_QUOTE_SHARE = 0.7
_SAMPLE = 400
_MIN_CHANNEL_LETTERS = 200


def scan_languages(
    text: str, expectation: Expectation, inputs: InputIndex | None = None
) -> list[Span]:
    """Sentences and clauses in another language than the expected one, in order.

    Kind "language". Sure: at least 40 letters, both detectors agree, and it is running text, not
    a list of terms. Probable: 20 to 39 letters with a wide margin, lists of terms, clauses
    inside a sentence, and languages that only one detector knows. Neighbouring sentences of one
    language on one line are one span, sure if short ones have 40 letters together. Sentences in
    a script that is not allowed are left to `scan_scripts`. What stood in an input, up to a few
    words, is marked as copied. Expected languages unknown to the detectors give no spans.
    """
    if _detector_tag(expectation.primary) not in detectable():
        return []
    found: list[_Verdict] = []
    sure: Counter[str] = Counter()
    for sentence in sentences(text):
        settled = frozenset(tag for tag, count in sure.items() if count >= _SETTLED)
        verdicts = list(_judge(sentence, expectation, settled))
        sure.update(verdict.language for verdict in verdicts if verdict.tier == "sure")
        found += verdicts
    return [_span(text, verdict, inputs) for verdict in _joined(text, found)]


def decidable(words: tuple[str, ...]) -> bool:
    """Whether words with upper and lower case are enough to tell their language.

    At least 20 letters, four words, three words in lower case, and two fifths of all words in
    lower case: what fails is names, terms and headings.
    """
    lower = sum(word[0].islower() for word in words)
    return (
        sum(map(len, words)) >= MIN_LETTERS
        and len(words) >= MIN_WORDS
        and lower >= MIN_LOWER_WORDS
        and lower >= MIN_LOWER_SHARE * len(words)
    )


@dataclass(frozen=True, slots=True)
class ChannelLanguage:
    """The language in which most of a channel is written.

    `language` is None, with a `reason`, when there is too little to tell. `shares` gives each
    language's part of the judged letters, 0 to 1, largest first. `switched` is True when the
    channel's language is not the expected one, None when there is no language.
    """

    language: str | None
    switched: bool | None
    shares: dict[str, float]
    letters: int
    reason: str | None = None


def channel_language(text: str, expectation: Expectation) -> ChannelLanguage:
    """Which language a whole channel is in, judged on up to 400 of its sentences.

    For the switch of a channel as a whole ("thinks in Chinese, answers in German"), apart from
    slips inside it. Needs 200 letters in decidable sentences; a Han character counts as three,
    a kana or Hangul syllable as two, about what they say in Latin letters.
    """
    everything = list(sentences(text))
    step = max(1, len(everything) // _SAMPLE)
    letters: Counter[str] = Counter()
    for sentence in islice(everything, 0, None, step):
        tag, weight = _rough_language(sentence, expectation)
        if tag is not None:
            letters[tag] += weight
    total = sum(letters.values())
    if total * step < _MIN_CHANNEL_LETTERS:
        return ChannelLanguage(None, None, {}, total, "too little decidable text")
    shares = {tag: count / total for tag, count in letters.most_common()}
    language = next(iter(shares))
    return ChannelLanguage(language, language != expectation.primary, shares, total)


@dataclass(frozen=True, slots=True)
class _Verdict:
    start: int
    end: int
    language: str
    tier: Tier
    words: tuple[str, ...]
    votes: int
    clause: bool = False

    @property
    def short(self) -> bool:
        """Whether nothing but its length keeps it from being sure, or it is made of such."""
        return self.votes == 2 and not self.clause and _letters(self.words) < SURE_LETTERS


def _judge(
    sentence: Sentence, expectation: Expectation, settled: frozenset[str]
) -> Iterator[_Verdict]:
    script, words = _dominant(sentence)
    if script in JAPANESE or script == "Hang":
        found = han_sentence_language("".join(words), expectation.language)
        if found is not None:
            language, tier = found
            yield _Verdict(sentence.start, sentence.end, language, tier, words, 1)
        return
    if script not in expectation.scripts:
        return
    enough = decidable(words) if script in CASED else _decidable_uncased(words)
    if not enough:
        return
    verdict = _votes(words, expectation, settled)
    if verdict is not None:
        rank = _tier(words, verdict)
        if rank is not None:
            language = verdict.language
            yield _Verdict(sentence.start, sentence.end, language, rank, words, verdict.votes)
        return
    for start, end, language, clause in inline_clauses(sentence, expectation):
        yield _Verdict(start, end, language, "probable", clause, 2, clause=True)


@dataclass(frozen=True, slots=True)
class _Vote:
    language: str
    votes: int
    margin: float


def _votes(
    words: tuple[str, ...], expectation: Expectation, settled: frozenset[str]
) -> _Vote | None:
    """The other language that the detectors see, or None.

    Where the first detector is clear about 40 letters and more, the small words of running text
    are the second vote; so they are in a language that was sure three times in this text.
    langdetect, which is slow, decides the rest.
    """
    prose, expected = " ".join(words), _detector_tag(expectation.primary)
    candidates = tuple(_detector_tag(tag) for tag in expectation.candidates)
    first = first_detector(candidates)
    language = first.best(prose)
    if language == expected:
        return None
    scores = first.scores(prose)
    margin = scores[language] - scores.get(expected, 0.0)
    clear = margin > CLEAR_MARGIN and _letters(words) >= SURE_LETTERS
    settled_here = language in settled and margin > SHORT_MARGIN
    if (clear or settled_here) and _is_running(words, language):
        return _Vote(language, 2, margin)
    second = second_detector(candidates)
    confirmed = second.scores(prose)
    top = max(confirmed, key=lambda tag: confirmed[tag], default=expected)
    if expected in second.languages:
        return _Vote(language, 2, margin) if top != expected else None
    certain = top == language and margin >= _UNKNOWN_MARGIN
    return _Vote(language, 1, margin) if certain else None


def _tier(words: tuple[str, ...], vote: _Vote) -> Tier | None:
    """How sure a vote is; None for a short one without a wide margin or a function word."""
    running = _is_running(words, vote.language) is not False
    if _letters(words) >= SURE_LETTERS:
        return "sure" if running and vote.votes == 2 else "probable"
    return "probable" if running and vote.margin > SHORT_MARGIN else None


def _is_running(words: tuple[str, ...], language: str) -> bool | None:
    """Whether words are running text of a language; None where its small words are unknown."""
    small = function_words(words, language)
    return None if small is None else small >= max(1, len(words) // _WORDS_PER_FUNCTION_WORD)


def _letters(words: tuple[str, ...]) -> int:
    return sum(map(len, words))


def _dominant(sentence: Sentence) -> tuple[str, tuple[str, ...]]:
    """The script of most letters, and the words that begin in it."""
    counts: Counter[str] = Counter()
    for word in sentence.words:
        counts[script_of(word[0])] += len(word)
    script = counts.most_common(1)[0][0]
    group = JAPANESE if script in JAPANESE else {script}
    return script, tuple(word for word in sentence.words if script_of(word[0]) in group)


def _decidable_uncased(words: tuple[str, ...]) -> bool:
    return sum(map(len, words)) >= MIN_LETTERS and len(words) >= _MIN_UNCASED_WORDS


def _rough_language(sentence: Sentence, expectation: Expectation) -> tuple[str | None, int]:
    script, words = _dominant(sentence)
    size = sum(map(len, words))
    if script in JAPANESE:
        kana = sum(script_of(char) in ("Hira", "Kana") for word in words for char in word)
        return ("ja" if 5 * kana > size else "zh"), 3 * (size - kana) + 2 * kana
    if script == "Hang":
        return "ko", 2 * size
    enough = decidable(words) if script in CASED else _decidable_uncased(words)
    if not enough:
        return None, 0
    candidates = tuple(_detector_tag(tag) for tag in expectation.candidates)
    tag = first_detector(candidates).best(" ".join(words))
    return (expectation.primary if tag == _detector_tag(expectation.primary) else tag), size


def _detector_tag(tag: str) -> str:
    return "no" if tag == "nb" else tag


def _joined(text: str, verdicts: list[_Verdict]) -> Iterator[_Verdict]:
    waiting: _Verdict | None = None
    for verdict in verdicts:
        if waiting is not None and _neighbours(text, waiting, verdict):
            tier: Tier = "sure" if "sure" in (waiting.tier, verdict.tier) else "probable"
            words = (*waiting.words, *verdict.words)
            votes = max(waiting.votes, verdict.votes)
            if waiting.short and verdict.short and _letters(words) >= SURE_LETTERS:
                tier = "sure"
            start, language = waiting.start, verdict.language
            waiting = _Verdict(start, verdict.end, language, tier, words, votes, verdict.clause)
            continue
        if waiting is not None:
            yield waiting
        waiting = verdict
    if waiting is not None:
        yield waiting


def _neighbours(text: str, first: _Verdict, second: _Verdict) -> bool:
    gap = text[first.end : second.start]
    same = first.language == second.language and first.clause == second.clause
    return same and len(gap) <= 3 and not gap.strip() and "\n" not in gap


def _span(text: str, verdict: _Verdict, inputs: InputIndex | None) -> Span:
    piece = text[verdict.start : verdict.end]
    return Span(
        kind="language",
        start=verdict.start,
        end=verdict.end,
        script=long_name(script_of(verdict.words[0][0])),
        graphemes=count_graphemes(piece),
        copied=inputs is not None and _is_copied(piece, verdict.words, inputs),
        tier=verdict.tier,
        detail={
            "language": verdict.language,
            "votes": verdict.votes,
            "letters": sum(map(len, verdict.words)),
            "clause": verdict.clause,
        },
    )


def _is_copied(piece: str, words: tuple[str, ...], inputs: InputIndex) -> bool:
    """True when the piece stood in an input, or seven tenths of its runs of five words did."""
    if inputs.has_prose(piece):
        return True
    runs = [" ".join(words[i : i + _QUOTE_RUN]) for i in range(len(words) - _QUOTE_RUN + 1)]
    seen = sum(inputs.has_prose(run) for run in runs)
    return bool(runs) and seen >= _QUOTE_SHARE * len(runs)
