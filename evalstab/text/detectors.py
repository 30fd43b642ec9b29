"""The language detectors, loaded at first use, one instance per set of candidates.

py3langid judges first, langdetect confirms. Both choose only from the candidates given;
langdetect draws random numbers and is seeded, so that a text always gets the same answer.
"""

import copy
import json
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

LANGDETECT_SEED = 0
"""Seed of every langdetect call; another seed changes about two answers in a hundred."""

_CACHED = 8
_MAX_CHARS = 4000


class Detector(Protocol):
    """Ranks languages for a text; `languages` are the ones that it can name."""

    languages: frozenset[str]

    def scores(self, text: str) -> dict[str, float]:
        """Probability of each candidate, 0 to 1; empty when the text gives no clue."""


class FirstDetector(Detector, Protocol):
    """A detector that names the most probable language without ranking all of them."""

    def best(self, text: str) -> str:
        """The first of ``scores``."""


class _LangId:
    """py3langid, probabilities normalised for length."""

    def __init__(self, candidates: tuple[str, ...]) -> None:
        self._model = copy.copy(_langid())
        known = set(self._model.labels)
        self._model.set_languages([tag for tag in candidates if tag in known])
        self.languages = frozenset(self._model.labels)

    def best(self, text: str) -> str:
        """The most probable candidate, without ranking the others."""
        return str(self._model.classify(text[:_MAX_CHARS])[0])

    def scores(self, text: str) -> dict[str, float]:
        """Probability of each candidate."""
        return {tag: float(value) for tag, value in self._model.rank(text[:_MAX_CHARS])}


class _LangDetect:
    """langdetect with a fixed seed."""

    def __init__(self, candidates: tuple[str, ...]) -> None:
        factory: Any = import_module("langdetect.detector_factory")
        self._no_clue = import_module("langdetect.lang_detect_exception").LangDetectException
        folder = Path(factory.__file__).parent / "profiles"
        names = [_profile_name(tag) for tag in candidates]
        profiles = [
            (folder / name).read_text(encoding="utf-8")
            for name in names
            if (folder / name).is_file()
        ]
        self._factory = factory.DetectorFactory()
        self._factory.seed = LANGDETECT_SEED
        self._factory.load_json_profile(profiles)
        loaded = (str(json.loads(profile)["name"]) for profile in profiles)
        self.languages = frozenset(name.split("-")[0] for name in loaded)

    def scores(self, text: str) -> dict[str, float]:
        """Probability of the candidates that are worth naming; empty without letters."""
        detector = self._factory.create()
        detector.append(text[:_MAX_CHARS])
        try:
            return {item.lang.split("-")[0]: item.prob for item in detector.get_probabilities()}
        except self._no_clue:
            return {}


@lru_cache(maxsize=_CACHED)
def first_detector(candidates: tuple[str, ...]) -> FirstDetector:
    """The detector that judges every sentence."""
    return _LangId(candidates)


@lru_cache(maxsize=_CACHED)
def second_detector(candidates: tuple[str, ...]) -> Detector:
    """The detector that confirms what the first one flagged."""
    return _LangDetect(candidates)


@lru_cache(maxsize=1)
def detectable() -> frozenset[str]:
    """Language tags that the first detector knows."""
    return frozenset(_langid().labels)


@lru_cache(maxsize=1)
def _langid() -> Any:
    """The model with all of its languages: loaded once, its large tables shared by all copies."""
    langid: Any = import_module("py3langid.langid")
    return langid.LanguageIdentifier.from_model_file(langid.MODEL_FILE, norm_probs=True)


def _profile_name(tag: str) -> str:
    return {"zh": "zh-cn", "nb": "no"}.get(tag, tag)
