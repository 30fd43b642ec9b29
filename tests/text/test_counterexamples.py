"""Honest texts that simple checks call leaks or loops."""

import random

import pytest

from evalstab.text.expected import Expectation
from evalstab.text.inputs import InputIndex
from evalstab.text.language import scan_languages
from evalstab.text.repetition import degenerate, low_entropy, verbatim_loops
from evalstab.text.scripts import scan_scripts
from evalstab.text.spans import Span

from .reasoning import honest_reasoning

DE = Expectation("de")


def leaks(text: str, *inputs: str, expectation: Expectation = DE) -> list[Span]:
    """Spans that a headline would count."""
    index = InputIndex(inputs)
    found = scan_scripts(text, expectation, index) + scan_languages(text, expectation, index)
    return [span for span in found if span.counts]


def test_name_of_an_applicant_in_the_input() -> None:
    profile = "Name: 李明 (Li Ming)\nWohnort: Hamburg"
    text = "李明 liegt vorn. Für 李 明 sprechen acht Jahre Erfahrung; Platz zwei geht an Berger."
    assert leaks(text, profile) == []
    assert len(leaks(text.replace("李明", "王芳"), profile)) == 1
    copied = scan_scripts(text, DE, InputIndex([profile]))
    assert [span.copied for span in copied] == [True, True]


def test_table_of_eleven_similar_profiles() -> None:
    rng = random.Random(4)
    rows = [
        f"| person_{i:02d} | {rng.randrange(60, 99)} | {rng.randrange(1, 9)} Jahre "
        f"| Java, SQL | ja | {rng.randrange(1, 11)} |"
        for i in range(1, 12)
    ]
    head = "| Profil | Punkte | Erfahrung | Kenntnisse | Zert. | Rang |\n|---|---|---|---|---|"
    table = "\n".join([head, *rows])
    assert leaks(table) == []
    assert verbatim_loops(table) == []
    assert low_entropy(table) is None
    assert degenerate(table) == []


@pytest.mark.parametrize(
    "text",
    [
        "Der Senior Developer hat das Legacy Backend per Feature Branch und Code Review in die"
        " Cloud migriert und das Monitoring mit Grafana Dashboards neu aufgesetzt.",
        "Im Sprint Review zeigt das Team den Burndown Chart, danach folgt das Refinement.",
        "Stack: Python, TypeScript, Node.js, Kubernetes, Terraform, CI/CD, REST, GraphQL.",
        "Ich rufe jetzt read_file mit path=profiles/person_03.md auf und lese den Inhalt.",
        "Okay, also weiter mit Profil fünf: Data Engineer, fünf Jahre Big Data, Apache Kafka.",
    ],
)
def test_german_full_of_english_terms(text: str) -> None:
    assert leaks(text) == []


def test_german_quoting_a_russian_title() -> None:
    text = "Sie übersetzte „Война и мир“ und „Преступление и наказание“ für einen Verlag."
    assert leaks(text, "Übersetzungen: Война и мир, Преступление и наказание") == []
    assert leaks(text) == []
    quoted = scan_scripts(text, DE)
    assert [(span.tier, span.detail["title"]) for span in quoted] == [("probable", True)] * 2


@pytest.mark.parametrize(
    "text",
    [
        "Der Filter hat 50 µm, der andere 50 μm; der Widerstand 4,7 kΩ oder 3 Ω.",
        "Die Abweichung Δt ist klein, ebenso Δx, σ und λ; der χ²-Test passt, α = 0,05.",
        "Gesucht ist argmax über θ mit ∑ᵢ wᵢ·xᵢ ≤ π² und ∂f/∂x ≠ ∞.",
        "Aussprache [ˈʃtʁaːsə], englisch [ˈθɪŋk], Silbe mit ŋ und β.",
        "Preis 20 € oder ₽ 1.500, № 7, ™ ® © ° ‰ ½ ² ªº, „so“ – genau … ✓ ✗ → ★",
        "Gut gemacht 👍🏽 👨‍👩‍👧 🇩🇪 ❤️ 1️⃣ 🏴󠁧󠁢󠁥󠁮󠁧󠁿 ¯\\_(ツ)_/¯",
        "Zerlegt geschrieben: Cafe\u0301 und Mu\u0308ller, Sil\u00adben\u00adtren\u00adnung.",
        "Dvořák, Łódź, Ærø, Þór, Nguyễn Thị Hạnh, São Tomé, İstanbul, Çelik.",
    ],
)
def test_units_mathematics_phonetics_emoji_names(text: str) -> None:
    assert scan_scripts(text, DE) == []
    assert leaks(text) == []


def test_code_block_with_chinese_comments_from_the_input() -> None:
    source = "# 计算总分\ntotal = sum(scores)  # 返回结果\n"
    text = f"Ich ändere nur eine Zeile:\n\n```python\n{source}print(total)\n```\nFertig."
    assert leaks(text, source) == []
    assert [span.copied for span in scan_scripts(text, DE, InputIndex([source]))] == [True, True]
    assert len(leaks(text)) == 2


@pytest.mark.parametrize("seed", [1, 2])
def test_honest_reasoning_of_forty_thousand_tokens(seed: int) -> None:
    text = honest_reasoning(seed, 180_000)
    assert len(text.split()) > 25_000
    assert verbatim_loops(text) == []
    assert low_entropy(text) is None
    assert degenerate(text) == []
    assert leaks(text[:60_000]) == []
