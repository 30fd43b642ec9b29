"""What counts as copied from an input."""

from evalstab.text.inputs import InputIndex, foreign_key


def test_foreign_letters_match_whatever_the_layout() -> None:
    index = InputIndex(["Name: 李 明\nStadt: ＳＨ, САНКТ-Петербург"])
    assert index.has_foreign("李明")
    assert index.has_foreign("Санкт-Петербург")
    assert not index.has_foreign("明李")
    assert not index.has_foreign("")


def test_parts_of_a_name_may_change_places_but_a_sentence_may_not() -> None:
    index = InputIndex(["Иванова Мария работала в отделе продаж вместе с командой"])
    assert index.has_foreign("Мария Иванова")
    assert not index.has_foreign("Мария вместе с командой продаж в отделе")


def test_letters_of_different_lines_do_not_join() -> None:
    index = InputIndex(["李\n明", "推 荐"])
    assert not index.has_foreign("李明")
    assert index.has_foreign("推荐")


def test_inputs_may_come_later() -> None:
    index = InputIndex()
    assert not index.has_foreign("李明")
    index.add("李明")
    assert index.has_foreign("李明")
    for number in range(100):
        index.add(f"Datei {number}: Zeile {chr(0x4E00 + number)}")
    assert index.has_foreign("李明")
    assert index.has_foreign(chr(0x4E00 + 99))


def test_prose_ignores_marks_and_case() -> None:
    index = InputIndex(["- Responsible for the **migration** of all services\n  to the cloud."])
    assert index.has_prose("responsible for the migration of all services to the cloud")
    assert not index.has_prose("responsible for the cloud")


def test_verbatim_keeps_width_and_marks() -> None:
    index = InputIndex(["Summe: １２ Punkte"])
    assert index.has_verbatim("Summe:１２")
    assert not index.has_verbatim("Summe:12")


def test_escaped_inputs_count() -> None:
    index = InputIndex(['{"name": "\\u674e\\u660e"}', "<b>&#31526;&#x5408;</b>"])
    assert index.has_foreign("李明")
    assert index.has_foreign("符合")


def test_foreign_key() -> None:
    assert foreign_key("Der Ёж und ｶﾀｶﾅ") == "ёж\0カタカナ"
