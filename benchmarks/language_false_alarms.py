"""Measures the text room and writes its tables into docs/measures/language.md.

    python benchmarks/language_false_alarms.py            writes the tables
    python benchmarks/language_false_alarms.py --print    prints them

Labelled cases and sentences come from fixtures/text, honest text from the manual pages of this
machine (`apt-get install manpages-de manpages-fr manpages-es manpages-pl …`), loops from
benchmarks/reasoning_texts.py. Everything is seeded. Takes about three minutes.
"""

import importlib
import json
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from loop_tables import loop_table, rewording_table
from manual_pages import Leftovers, is_character_table, languages, pages
from tables import rate, table

from evalstab.text.detectors import first_detector, second_detector
from evalstab.text.expected import Expectation
from evalstab.text.inputs import InputIndex
from evalstab.text.language import SURE_LETTERS, decidable, scan_languages
from evalstab.text.prose import sentences
from evalstab.text.repetition import degenerate, low_entropy, verbatim_loops
from evalstab.text.scripts import scan_scripts

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "measures" / "language.md"
BEGIN, END = "<!-- begin generated -->", "<!-- end generated -->"
MAIN = ("de", "en", "fr", "es", "pl")
MORE = ("it", "nl", "pt_BR", "cs", "sv", "tr", "ru", "uk", "ja", "zh_CN")
SENTENCES = 3000
PAGES = 160
CHANNELS = {"tool_args": "arguments", "files": "file"}

Sample = tuple[str, tuple[str, ...]]


def labelled_cases() -> str:
    """Precision and recall per class on fixtures/text/leaks.json."""
    data = json.loads((ROOT / "fixtures/text/leaks.json").read_text(encoding="utf-8"))
    found: Counter[str] = Counter()
    labelled: Counter[str] = Counter()
    right: Counter[str] = Counter()
    for case in data["cases"]:
        spans = {_key(span) for span in _case_spans(case)}
        labels = {(x["start"], x["end"], x["cls"]) for x in case["expected"]}
        for name, members in (("f", spans), ("l", labels), ("r", spans & labels)):
            {"f": found, "l": labelled, "r": right}[name].update(kind for *_, kind in members)
    kinds = sorted(labelled)
    rows: list[list[object]] = [
        [k, labelled[k], found[k], rate(right[k], found[k]), rate(right[k], labelled[k])]
        for k in kinds
    ]
    total = [sum(counter.values()) for counter in (labelled, found, right)]
    rows.append(["all", *total[:2], rate(total[2], total[1]), rate(total[2], total[0])])
    head = ["class", "labelled spans", "found", "precision", "recall"]
    return (
        f"{len(data['cases'])} texts; a span counts only with exact bounds and class.\n\n"
        + table(head, rows)
    )


def _case_spans(case: dict[str, Any]) -> list[Any]:
    expectation = Expectation(case["expected_lang"])
    inputs = InputIndex([case["source_text"]])
    channel = CHANNELS.get(case["channel"], case["channel"])
    spans = scan_scripts(case["text"], expectation, inputs, channel)
    spans += scan_languages(case["text"], expectation, inputs)
    return [span for span in spans if not span.copied and span.zone is None]


def _key(span: Any) -> tuple[int, int, str]:
    return span.start, span.end, span.kind


def labelled_sentences() -> str:
    """False alarms and recall on fixtures/text/sentences.jsonl, expecting each Latin language."""
    lines = (ROOT / "fixtures/text/sentences.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    result: list[list[object]] = []
    for expected in MAIN:
        expectation = Expectation(expected)
        own = [r for r in rows if r["lang"] == expected]
        alarms = sum(bool(scan_languages(r["text"], expectation)) for r in own)
        line: list[object] = [expected, rate(alarms, len(own))]
        for size in "SML":
            others = [
                r
                for r in rows
                if r["lang"] in MAIN and r["lang"] != expected and r["len_class"] == size
            ]
            hits = sum(bool(scan_languages(r["text"], expectation)) for r in others)
            line.append(rate(hits, len(others)))
        result.append(line)
    head = ["expected", "false alarms", "found under 20", "found 20–60", "found over 60 characters"]
    return table(head, result)


def samples(language: str, leftovers: Leftovers) -> list[Sample]:
    """Decidable sentences of the manual pages, leftovers in English removed."""
    found: dict[str, tuple[str, ...]] = {}
    for text in _texts(language):
        for sentence in sentences(text):
            piece = text[sentence.start : sentence.end]
            if decidable(sentence.words) and not (
                language != "en" and leftovers.has(piece, language)
            ):
                found.setdefault(piece, sentence.words)
    step = max(1, len(found) // SENTENCES)
    return list(found.items())[::step][:SENTENCES]


def _texts(language: str) -> Iterator[str]:
    for text in pages(language, PAGES):
        if not is_character_table(text) and "gcloud" not in text:
            yield text


def detector_rules(expected: str) -> dict[str, Callable[[str], bool]]:
    """Rules that flag a decidable sentence, by name."""
    candidates = Expectation(expected).candidates
    primary = Expectation(expected).primary
    first, second = first_detector(candidates), second_detector(candidates)

    def other(scores: dict[str, float]) -> bool:
        return bool(scores) and max(scores, key=lambda tag: scores[tag]) != primary

    rules: dict[str, Callable[[str], bool]] = {
        "py3langid": lambda text: other(first.scores(text)),
        "langdetect": lambda text: other(second.scores(text)),
        "both": lambda text: other(first.scores(text)) and other(second.scores(text)),
    }
    if importlib.util.find_spec("eldc"):
        eldc: Any = importlib.import_module("eldc")
        eldc.init()
        third = eldc.instance()
        third.set_languages(list(candidates))
        rules["eldc"] = lambda text: third.detect(text) != primary
        rules["py3langid and eldc"] = lambda text: rules["py3langid"](text) and rules["eldc"](text)
    return rules


def detector_table(data: dict[str, list[Sample]]) -> str:
    """False alarms on own sentences and recall on English ones, per detector rule."""
    rows: dict[str, list[object]] = defaultdict(list)
    for expected in MAIN:
        foreign = data["en" if expected != "en" else "de"][:1000]
        for name, flags in detector_rules(expected).items():
            own = [" ".join(words) for _, words in data[expected]]
            alarms = sum(flags(text) for text in own)
            hits = sum(flags(" ".join(words)) for _, words in foreign)
            rows[name].append(f"{alarms} of {len(own)}; {100 * hits / len(foreign):.1f} %")
    return table(["rule", *MAIN], [[name, *cells] for name, cells in rows.items()])


def scan_table(data: dict[str, list[Sample]]) -> str:
    """False alarms of the scan itself, by tier and length, with the flagged sentences."""
    rows: list[list[object]] = []
    for language, own in data.items():
        expectation = Expectation(language)
        tiers: Counter[tuple[str, bool]] = Counter()
        sizes: Counter[bool] = Counter()
        for text, words in own:
            long = sum(map(len, words)) >= SURE_LETTERS
            sizes[long] += 1
            tiers.update({(span.tier, long) for span in scan_languages(text, expectation)})
        rows.append(
            [
                language,
                sizes[True],
                rate(tiers["sure", True], sizes[True]),
                rate(tiers["probable", True], sizes[True]),
                sizes[False],
                rate(tiers["probable", False] + tiers["sure", False], sizes[False]),
            ]
        )
    head = ["expected", "40 letters and more", "sure", "probable", "20–39 letters", "probable"]
    return table(head, rows)


def script_table() -> str:
    """False alarms of the script scan and the loop detectors on whole pages."""
    rows: list[list[object]] = []
    for language in (*MAIN, *MORE):
        expectation = Expectation(language)
        count = size = scripts = soft = loops = suspects = 0
        for text in _texts(language):
            count, size = count + 1, size + len(text)
            spans = scan_scripts(text, expectation)
            scripts += any(span.counts for span in spans)
            soft += any(span.tier == "probable" for span in spans)
            found = [*verbatim_loops(text), *degenerate(text)]
            entropy = low_entropy(text)
            found += [entropy] if entropy else []  # type: ignore[list-item]
            loops += any(item.tier == "sure" for item in found)
            suspects += any(item.tier == "probable" for item in found)
        rows.append([language, count, f"{size / 1e6:.1f}", scripts, soft, loops, suspects])
    head = ["expected", "pages", "million characters", "pages with a sure script span"]
    head += ["with a probable one", "with a sure loop", "with a probable one"]
    return table(head, rows)


def build() -> str:
    """All tables, Markdown."""
    installed = set(languages()) | {"en"}
    leftovers = Leftovers()
    chosen = [name for name in (*MAIN, *MORE[:7]) if name in installed]
    data = {name: samples(name, leftovers) for name in chosen}
    parts = [
        "Made by `python benchmarks/language_false_alarms.py`; intervals are Wilson's, 95 %.",
        "### Labelled leak cases",
        labelled_cases(),
        "### Labelled sentences",
        labelled_sentences(),
        "### Which detectors: false alarms on sentences of the manual pages; recall",
        "Decidable sentences only. Recall is on 1,000 English sentences (German ones where"
        " English is expected). Leftovers in English are removed by word runs and function words,"
        " not by a detector; some remain and count as false alarms.",
        detector_table({name: data[name] for name in MAIN}),
        "### False alarms of `scan_languages` on the same sentences",
        scan_table(data),
        "### False alarms on whole manual pages",
        script_table(),
        "### Loops",
        loop_table(),
        "### Reworded loops",
        rewording_table(),
    ]
    return "\n\n".join(parts)


def main() -> int:
    """Write or print the tables."""
    tables = build()
    if "--print" in sys.argv:
        sys.stdout.write(tables + "\n")
        return 0
    page = PAGE.read_text(encoding="utf-8")
    head, _, rest = page.partition(BEGIN)
    _, _, tail = rest.partition(END)
    PAGE.write_text(f"{head}{BEGIN}\n\n{tables}\n\n{END}{tail}", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
