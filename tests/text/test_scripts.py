"""What the script scan finds, and where."""

import pytest

from evalstab.text.expected import Expectation
from evalstab.text.inputs import InputIndex
from evalstab.text.scripts import count_graphemes, scan_scripts
from evalstab.text.spans import Span

DE = Expectation("de")


def pieces(text: str, language: str = "de", channel: str = "content") -> list[tuple[str, str]]:
    """Kind and text of each span."""
    found = scan_scripts(text, Expectation(language), channel=channel)
    return [(span.kind, text[span.start : span.end]) for span in found]


def only(text: str, language: str = "de") -> Span:
    """The single span of a text."""
    (span,) = scan_scripts(text, Expectation(language))
    return span


@pytest.mark.parametrize(
    ("text", "script"),
    [
        ("Er sagt привет dazu.", "Cyrillic"),
        ("Er sagt 안녕하세요 dazu.", "Hangul"),
        ("Er sagt ありがとう dazu.", "Hiragana"),
        ("Er sagt マネージャー dazu.", "Katakana"),
        ("Er sagt 经理 dazu.", "Han"),
        ("Er sagt καλημέρα dazu.", "Greek"),
        ("Er sagt שלום dazu.", "Hebrew"),
        ("Er sagt სალამი dazu.", "Georgian"),
        ("Er sagt வணக்கம் dazu.", "Tamil"),
        ("Er sagt 𐌲𐌿𐍄 dazu.", "Gothic"),
    ],
)
def test_long_script_names(text: str, script: str) -> None:
    span = only(text)
    assert (span.kind, span.script, span.tier, span.zone) == ("script", script, "sure", None)
    assert text[span.start : span.end] == text[8:-6]


@pytest.mark.parametrize(
    ("language", "own", "foreign"),
    [
        ("sr", "Добар дан, zdravo svima.", "中文"),
        ("ru", "Отчёт о SQL готов.", "报告"),
        ("el", "Η αναφορά είναι έτοιμη στο Excel.", "отчёт"),
        ("ar", "التقرير جاهز الآن، شكرا لكم.", "报告"),
        ("he", "הדוח מוכן עכשיו.", "привет"),
        ("hi", "रिपोर्ट तैयार है।", "报告"),
        ("th", "รายงานพร้อมแล้ว", "报告"),
        ("ja", "報告書は「完成」しました。", "보고서"),
        ("ko", "보고서가 준비되었습니다.", "报告"),
        ("zh", "报告已经完成，请查收。", "レポート"),
        ("vi", "Báo cáo đã sẵn sàng cho Nguyễn Thị Hạnh.", "报告"),
        ("pl", "Zażółć gęślą jaźń.", "отчёт"),
    ],
)
def test_every_expected_language_allows_its_own(language: str, own: str, foreign: str) -> None:
    assert pieces(own, language) == []
    assert pieces(f"{own} {foreign}", language) == [("script", foreign)]


def test_allowed_scripts_can_be_added() -> None:
    text = "Das Wort λόγος und das Wort слово."
    both = Expectation("de", ("Greek", "Cyrl"))
    assert len(scan_scripts(text, DE)) == 2
    assert scan_scripts(text, both) == []


def test_gaps_are_bridged_but_not_over_sentence_or_line() -> None:
    assert pieces("Das 推荐, 优先级 - 高 ist so") == [("script", "推荐, 优先级 - 高")]
    assert len(pieces("推荐. 优先级")) == 2
    assert len(pieces("推荐\n优先级")) == 2
    assert len(pieces("推荐 | 优先级")) == 2
    assert len(pieces('推荐", "优先级')) == 2
    assert len(pieces("推荐" + " " * 13 + "优先级")) == 2


def test_punctuation_joins_its_run() -> None:
    assert pieces("So「符合要求」，ja") == [("script", "「符合要求」，")]
    assert pieces("So，ja。") == [("width", "，"), ("punct", "。")]


def test_japanese_is_one_run_and_chinese_is_guessed() -> None:
    mixed = only("Das ist 確認してください so")
    assert mixed.detail["group"] == "Jpan"
    assert mixed.detail["scripts"] == {"Han": 2, "Hiragana": 6}
    assert only("Das ist 优先级 so").detail["language_guess"] == "zh-Hans"
    assert "language_guess" not in only("Das ist 中 so").detail


def test_offsets_are_code_points_and_graphemes_are_clusters() -> None:
    text = "👍🏽 बहुत अच्छा"
    span = only(text)
    assert text[span.start : span.end] == "बहुत अच्छा"
    assert span.graphemes == count_graphemes("बहुत अच्छा") == 5
    assert count_graphemes("e\u0301 👨‍👩‍👧\n") == 2


def test_json_escapes_are_resolved_in_arguments_only() -> None:
    text = '{"text": "Sehr \\u7b26\\u5408 gut \\ud83d\\ude00"}'
    (span,) = scan_scripts(text, DE, channel="arguments")
    assert text[span.start : span.end] == "\\u7b26\\u5408"
    assert (span.script, span.graphemes) == ("Han", 2)
    assert scan_scripts(text, DE, channel="content") == []


def test_html_entities_are_resolved_outside_arguments() -> None:
    text = "Sehr &#31526;&#x5408; gut"
    (span,) = scan_scripts(text, DE)
    assert text[span.start : span.end] == "&#31526;&#x5408;"


@pytest.mark.parametrize(
    ("text", "zone"),
    [
        ("Siehe `re.sub('中')` dort", "code"),
        ("```\nx = '中文'\n```", "code"),
        ("Siehe https://example.org/维基 dort", "url"),
        ("Siehe ./daten/报告.md dort", "path"),
        ("Siehe 报告.json dort", "path"),
        ("Es gilt $x_{中}$ hier", "math"),
        ("Es gilt\n$$\nx = 中\n$$\n", "math"),
        ("Es gilt 中 / 文 oder so", None),
        ("Kosten von $5 für 中文 und $6", None),
    ],
)
def test_zones(text: str, zone: str | None) -> None:
    span = only(text)
    assert span.zone == zone
    assert span.counts is (zone is None)


@pytest.mark.parametrize(
    "code",
    ["# 计算", "x = 1  // 计算", "/* a\n计算 */", "<!-- 计算 -->", "-- 计算", '"""计算"""'],
)
def test_comments_in_code_count(code: str) -> None:
    span = only(f"```\n{code}\n```")
    assert (span.zone, span.detail["comment"]) == (None, True)


def test_strings_in_code_do_not_count() -> None:
    assert only("```\nx = '# 计算'\n```").zone == "code"


@pytest.mark.parametrize(
    ("word", "script"),
    [
        ("vоllständig", "Cyrillic"),
        ("Аnna", "Cyrillic"),
        ("Βerlin", "Greek"),
        ("Cοmputer", "Greek"),
        ("Ꭱeport", "Cherokee"),
    ],
)
def test_mixed_words(word: str, script: str) -> None:
    span = only(f"Der Text {word} hier")
    assert (span.kind, span.script, span.start, span.end) == ("homoglyph", script, 9, 9 + len(word))


def test_glued_words_are_a_foreign_script() -> None:
    assert pieces("Das istвсегда gut") == [("script", "всегда")]
    assert pieces("Die Erfahrungопыт zählt") == [("script", "опыт")]


def test_mixed_words_where_both_scripts_are_allowed() -> None:
    text = "USBшный HTTPсервер, UIDов, API-шка, спаcибо, Cпасибо."
    assert pieces(text, "ru") == [("homoglyph", "спаcибо"), ("homoglyph", "Cпасибо")]


@pytest.mark.parametrize(
    ("text", "kind", "cause"),
    [
        ("kap\ufffdtt", "garbage", "replacement"),
        ("kap\ud83dtt", "garbage", "surrogate"),
        ("kap\uffff", "garbage", "noncharacter"),
        ("kap\x1b[31m", "garbage", "control"),
        ("kap\ue0b0", "garbage", "private_use"),
        ("kap\u0378", "garbage", "unassigned"),
    ],
)
def test_broken_characters_are_no_script(text: str, kind: str, cause: str) -> None:
    span = only(text)
    assert (span.kind, span.detail["cause"]) == (kind, cause)
    assert (span.tier == "sure") == (cause in {"replacement", "surrogate", "noncharacter"})


@pytest.mark.parametrize(
    "text",
    [
        "a\u200bb",
        "a\u202eb",
        "a\u2066b",
        "a\ufeffb",
        "a\u200db",
        "a\ufe0fb",
        "a\U000e0041b",
        "a\u3164b",
    ],
)
def test_invisible(text: str) -> None:
    span = only(text)
    assert (span.kind, span.start, span.end, span.tier) == ("invisible", 1, 2, "probable")
    assert span.detail["names"] == [f"U+{ord(text[1]):04X}"]


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("\ufeffAnfang", "de"),
        ("Herz ❤️ und 👩‍💻", "de"),
        ("می\u200cخواهم", "fa"),
        ("שלום \u200fABC\u200e", "he"),
        ("ภาษา\u200bไทย", "th"),
        ("葛\U000e0100", "ja"),
    ],
)
def test_legitimate_invisible(text: str, language: str) -> None:
    assert pieces(text, language) == []


def test_only_what_stood_in_an_input_is_copied() -> None:
    inputs = InputIndex(["Profil: 李明, Шанхай. Firma ООО «Ромашка»."])
    text = "李明, 王芳 und Ромашка, 李明 / 张三"
    found = [(text[s.start : s.end], s.copied) for s in scan_scripts(text, DE, inputs)]
    assert found == [
        ("李明", True),
        ("王芳", False),
        ("Ромашка", True),
        ("李明", True),
        ("张三", False),
    ]


def test_punctuation_in_an_input_excuses_only_its_own_place() -> None:
    inputs = InputIndex(["会议很重要。明天见。"])
    (span,) = scan_scripts("Das ist wichtig。 Danach", DE, inputs)
    assert span.copied is False


def test_gloss_is_probable_but_a_translated_noun_is_sure() -> None:
    assert only("Tai-Chi (太極拳) ist ihr Hobby").tier == "probable"
    assert only("Die Anforderung (需求) ist klar").tier == "sure"


def test_truncated_escapes_are_survived() -> None:
    text = '{"text": "Sehr \\u7b26 gut \\u5'
    (span,) = scan_scripts(text, DE, channel="arguments")
    assert text[span.start : span.end] == "\\u7b26"
