"""A second opinion on the truth: reads rubric and documents, applies the ground rules.

It knows the German and English names of what is measured and nothing of how documents are made.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

TERMS = {
    "applicants-de": {
        "K01": r"Berufsjahre",
        "K02": r"unterstellten? Beschäftigten?",
        "K03": r"höchster? (nachgewiesener )?Abschluss|höchsten Abschluss",
        "K04": r"Budget",
        "K05": r"Anlagenverfügbarkeit",
        "K06": r"meldepflichtigen? Unfällen?",
        "K07": r"bis zur Prüfung geführten?",
        "K08": r"Kündigungsfrist",
        "K09": r"externen? Audits",
        "K10": r"Englisch",
    },
    "applicants-en": {
        "K01": r"work in maintenance",
        "K02": r"direct reports",
        "K03": r"highest qualification",
        "K04": r"budget",
        "K05": r"plant availability",
        "K06": r"reportable accidents",
        "K07": r"apprentices led",
        "K08": r"notice period",
        "K09": r"external audits",
        "K10": r"German",
    },
    "bids-de": {
        "K01": r"Angebotspreis",
        "K02": r"Lieferzeit",
        "K03": r"Gewährleistung",
        "K04": r"Reaktionszeit",
        "K05": r"Termintreue",
        "K06": r"Reklamationsquote",
        "K07": r"Energiebedarf",
        "K08": r"Referenzanlagen",
        "K09": r"Ersatzteilzusage",
    },
    "bids-en": {
        "K01": r"bid price",
        "K02": r"lead time",
        "K03": r"warranty",
        "K04": r"response time",
        "K05": r"on-time delivery",
        "K06": r"complaint rate",
        "K07": r"energy demand",
        "K08": r"reference plants",
        "K09": r"spare-part pledge",
    },
    "incidents-de": {
        "K01": r"Ausfalldauer",
        "K02": r"betroffenen? Anschlüsse",
        "K03": r"Sachschaden",
        "K04": r"Verletzten?\b",
        "K05": r"Erkennungszeit",
        "K06": r"Vorfällen? gleicher Art",
        "K07": r"offenen? Maßnahmen",
        "K08": r"Ursachenlage",
    },
    "incidents-en": {
        "K01": r"outage duration",
        "K02": r"connections affected",
        "K03": r"property damage",
        "K04": r"injured people",
        "K05": r"detection time",
        "K06": r"similar incidents",
        "K07": r"open measures",
        "K08": r"state of the cause",
    },
}
NO_EVIDENCE = {
    "de": r"\bZiel\b|Geplant|Angestrebt|Zum Vergleich|fremden Haus|Mitbewerber",
    "en": r"\bgoal\b|Planned but|For comparison|unconnected site|competitor",
}
MONTHS = {
    "de": "Januar Februar März April Mai Juni Juli August September Oktober November Dezember",
    "en": "January February March April May June July August September October November December",
}
_META = re.compile(r"\*(?:Herkunft|Origin): (.+?) · (?:Datum|Date): (\d+)\.? (\w+) (\d{4})\*")
_CRITERION = re.compile(r"^\*\*(K\d\d) .*?(?:Punkte|Points): (.+); (?:sonst|otherwise) 0\.$", re.M)
_NUMBER = re.compile(r"\d[\d.,]*\d|\d")
_LOG = re.compile(r"^- \d+\.? \w+, [\d.:]+(?: Uhr)?: ")


@dataclass(frozen=True)
class Claim:
    """What a document says about a criterion, where and when."""

    third_party: bool
    date: tuple[int, int, int]
    points: int


class Reader:
    """Scores documents by the rubric of their task."""

    def __init__(self, rubric: str, kind: str) -> None:
        self.language = kind.rpartition("-")[2]
        self.terms = {key: re.compile(term, re.I) for key, term in TERMS[kind].items()}
        self.no_evidence = re.compile(NO_EVIDENCE[self.language])
        self.anchors = {key: text.split(" · ") for key, text in _CRITERION.findall(rubric)}

    def points(self, document: str) -> dict[str, int]:
        """Points by criterion of one document."""
        return {key: _decided(said) for key, said in self.claims(document).items()}

    def claims(self, document: str) -> dict[str, list[Claim]]:
        """What a document says about each criterion, in reading order; no goals, no others."""
        claims: dict[str, list[Claim]] = {key: [] for key in self.anchors}
        months = MONTHS[self.language].split()
        for section in document.split("\n## ")[1:]:
            meta = _META.search(section)
            assert meta is not None, section[:200]
            third_party = meta[1] in ("Fremdbeleg", "third-party record")
            date = (int(meta[4]), months.index(meta[3]), int(meta[2]))
            for sentence in self._sentences(section[meta.end() :]):
                for key, term in self.terms.items():
                    if term.search(sentence) and not self.no_evidence.search(sentence):
                        worth = self._worth(key, sentence)
                        claims[key].append(Claim(third_party, date, worth))
        return claims

    def _sentences(self, body: str) -> list[str]:
        sentences: list[str] = []
        for line in body.split("\n"):
            cells = [cell.strip() for cell in line.strip("|").split("|")]
            if line.startswith("|") and len(cells) == 2:
                sentences.append(f"{cells[0]}: {cells[1]}")
            elif line.startswith("|"):
                sentences.append(cells[1])
            else:
                sentences += re.split(r"(?<=[.!?])\s+|(?<=[.!?][”“])\s+", _LOG.sub("", line))
        return sentences

    def _worth(self, key: str, sentence: str) -> int:
        by_word = {a.partition(" ")[2]: int(a.partition(" ")[0]) for a in self.anchors[key]}
        if not any(re.fullmatch(r"(?:ab|bis|from|up to) [\d.,]+", word) for word in by_word):
            found = [word for word in by_word if re.search(rf"\b{re.escape(word)}\b", sentence)]
            return by_word[max(found, key=len)] if found else 0
        numbers = _NUMBER.findall(sentence)
        assert len(numbers) == 1, sentence
        value = self._number(numbers[0])
        reached = [0]
        for words, points in by_word.items():
            bound = self._number(words.split()[-1])
            fewer = words.startswith(("bis", "up to"))
            if value <= bound if fewer else value >= bound:
                reached.append(points)
        return max(reached)

    def _number(self, text: str) -> float:
        if self.language == "de":
            text = text.translate(str.maketrans(".,", ",."))
        return float(text.replace(",", ""))


def _decided(claims: list[Claim]) -> int:
    """Third-party records first, then the later date; nothing said is worth nothing."""
    best = [c for c in claims if c.third_party] or claims
    return max(best, key=lambda c: c.date).points if best else 0
