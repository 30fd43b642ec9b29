"""The fixed wording of the brief, one value for each language that it is written in."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class BriefTexts:
    """Wording of one language; ``parse_brief`` recognises a brief by the same words."""

    heading: str
    candidates: str
    rubric: str
    rubric_rule: str
    scale: str
    scale_rule: str
    points: str
    deliverables: str
    deliverables_rule: str
    forms: dict[str, str]
    with_ranking: str
    about: str
    headings: str
    fields: str
    words: str
    one_entry: str
    exactly: str
    submit: str
    answer: str
    table: tuple[str, str, str]
    value: str
    end_of: str


ENGLISH = BriefTexts(
    heading="# Candidates and deliverables",
    candidates="## Candidates",
    rubric="## Rubric",
    rubric_rule=(
        "Give every candidate points on every criterion. More points are better; the total is "
        "the sum of the points."
    ),
    scale="## Scale",
    scale_rule="Give every candidate a total within this range. More points are better.",
    points="{low} to {high} points",
    deliverables="## Deliverables",
    deliverables_rule="Write each of these files, in exactly the form given here.",
    forms={
        "json": "ranking as JSON",
        "markdown-table": "ranking as a Markdown table",
        "numbered-list": "ranking as a numbered list",
        "markdown": "Markdown text",
        "form": "form",
    },
    with_ranking="{form} with the {ranking}",
    about="Content:",
    headings="It has these headings:",
    fields="Fill in every field, each on a line of its own:",
    words="It has at least {count} words.",
    one_entry="One entry for every candidate, best first; equal places are ties.",
    exactly="The ranking in it has this form:",
    submit=(
        "Submit it with the tool `submit_ranking`, all candidates, best first. That ends the task."
    ),
    answer="Give it as your answer, in exactly this form and with nothing else.",
    table=("Rank", "Candidate", "Total"),
    value="<points>",
    end_of="end of",
)

GERMAN = BriefTexts(
    heading="# Kandidaten und Abgaben",
    candidates="## Kandidaten",
    rubric="## Bewertungsraster",
    rubric_rule=(
        "Jeder Kandidat bekommt Punkte in jedem Kriterium. Mehr Punkte sind besser; die "
        "Gesamtpunktzahl ist die Summe der Punkte."
    ),
    scale="## Skala",
    scale_rule=(
        "Jeder Kandidat bekommt eine Gesamtpunktzahl in diesem Bereich. Mehr Punkte sind besser."
    ),
    points="{low} bis {high} Punkte",
    deliverables="## Abgaben",
    deliverables_rule="Schreibe jede dieser Dateien, genau in der hier angegebenen Form.",
    forms={
        "json": "Rangliste als JSON",
        "markdown-table": "Rangliste als Markdown-Tabelle",
        "numbered-list": "Rangliste als nummerierte Liste",
        "markdown": "Markdown-Text",
        "form": "Formular",
    },
    with_ranking="{form} mit der {ranking}",
    about="Inhalt:",
    headings="Er hat diese Überschriften:",
    fields="Fülle jedes Feld aus, jedes in einer eigenen Zeile:",
    words="Er hat mindestens {count} Wörter.",
    one_entry=(
        "Ein Eintrag für jeden Kandidaten, der beste zuerst; gleiche Plätze sind Gleichstand."
    ),
    exactly="Die Rangliste darin hat diese Form:",
    submit=(
        "Gib sie mit dem Werkzeug `submit_ranking` ab, alle Kandidaten, der beste zuerst. Damit "
        "endet die Aufgabe."
    ),
    answer="Gib sie als Antwort, genau in dieser Form und ohne weiteren Text.",
    table=("Rang", "Kandidat", "Gesamt"),
    value="<Punkte>",
    end_of="Ende von",
)

LANGUAGES: tuple[BriefTexts, ...] = (ENGLISH, GERMAN)


def texts_for(language: str) -> BriefTexts:
    """The wording for a language tag: German for German, English for all others."""
    primary = language.replace("_", "-").split("-")[0].lower()
    return GERMAN if primary == "de" else ENGLISH
