"""The genres of sections: letters, reports, minutes, interviews, logs, tables, mails, lists."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date

from evalstab.task.generate.grammar import Grammar, Scene
from evalstab.task.generate.lexicon import Person
from evalstab.task.generate.prose import Fact, Narrator, tidy


@dataclass(slots=True)
class Desk:
    """Where one section is written: its narrator and scene, and how far it has got.

    ``sheet``: facts are rows of a table with two columns. ``author`` signs letters.
    """

    narrator: Narrator
    scene: Scene
    sheet: bool
    author: Person | None = None
    item: int = 0
    minute: int = 0

    @property
    def grammar(self) -> Grammar:
        """The grammar behind the narrator."""
        return self.narrator.grammar

    def say(self, name: str) -> str:
        """One wording of a list, filled."""
        return tidy(self.name(name))

    def name(self, name: str) -> str:
        """One wording of a list, filled, in lower case where it begins so."""
        wording = self.grammar.decks.deal(name, self.grammar.lexicon.lists[name])
        self.scene.begin_sentence()
        return self.grammar.fill(wording, self.scene)

    def label(self, name: str) -> str:
        """A single text of the language."""
        return self.grammar.lexicon.texts[name]

    def title(self) -> str:
        """The title of the next topic."""
        topic = self.narrator.topic()
        return self.grammar.decks.deal(f"title {topic}", self.grammar.lexicon.titles[topic])

    def today(self) -> str:
        """The section's day without the year."""
        return self.grammar.day(self.scene.when, year=False)


Unit = Callable[[Desk, Sequence[Fact], int], str]
Opening = Callable[[Desk], str]


@dataclass(frozen=True, slots=True)
class Genre:
    """How a section begins, one unit after the other goes on, and ends.

    A unit gets the facts that it must hold and the characters that are left. ``sheet``: facts
    stand as rows of a two-column table; ``size`` is about how long a unit is.
    """

    unit: Unit
    size: int
    opening: Opening | None = None
    closing: Opening | None = None
    joint: str = "\n\n"
    sheet: bool = False
    most: int = 1_000_000


def _report(desk: Desk, facts: Sequence[Fact], room: int) -> str:
    many = desk.grammar.chance.number(3, 6)
    return desk.narrator.paragraph(desk.scene, many, facts, room)


def _letter_opening(desk: Desk) -> str:
    return desk.say("letter_start")


def _letter_closing(desk: Desk) -> str:
    person = desk.author or desk.grammar.person(desk.scene)
    return f"{desk.say('letter_end')}\n{person.first} {person.surname}"


def _minutes_opening(desk: Desk) -> str:
    titled = [desk.grammar.language.person(p, ("nom",)) for p in desk.scene.people]
    return f"{desk.label('present_label')}: {', '.join(titled)}, {desk.name('role_name')}"


def _minutes(desk: Desk, facts: Sequence[Fact], room: int) -> str:
    desk.item += 1
    text = desk.narrator.paragraph(desk.scene, desk.grammar.chance.number(2, 4), facts, room)
    item = f"**{desk.item}. {desk.title()}.** {text}"
    if len(item) < room - 80:
        item += f"\n*{desk.label('resolution_label')}:* {desk.say('resolution')}"
    return item


def _interview(desk: Desk, facts: Sequence[Fact], room: int) -> str:
    topic = desk.narrator.topic()
    answers = [fact() for fact in facts]
    for _ in range(desk.grammar.chance.number(2, 4)):
        if sum(map(len, answers)) > room - 140:
            break
        spoken = desk.narrator.sentence("spoken", topic, desk.scene)
        answers.insert(desk.grammar.chance.number(0, len(answers)), spoken)
    if not answers:
        answers.append(desk.narrator.sentence("spoken", topic, desk.scene))
    question, answer = desk.label("question_label"), desk.label("answer_label")
    return f"**{question}:** {desk.say('question')}\n**{answer}:** {' '.join(answers)}"


def _log(desk: Desk, facts: Sequence[Fact], room: int) -> str:
    del room
    chance = desk.grammar.chance
    if not desk.minute or desk.minute > 1150:
        desk.minute = 5 * chance.number(72, 110)
        desk.scene.when = (
            _later(desk.scene.when, chance.number(1, 3)) if desk.item else desk.scene.when
        )
    desk.minute += chance.number(3, 55)
    desk.item += 1
    entry = " ".join([fact() for fact in facts]) if facts else _short(desk, "entry")
    return f"- {desk.today()}, {desk.grammar.clock(desk.minute)}: {entry}"


def _sheet(desk: Desk, facts: Sequence[Fact], room: int) -> str:
    del room
    if facts:
        return "\n".join(fact() for fact in facts)
    label, _, value = desk.say("field").partition(" | ")
    return f"| {label} | {value[0].upper()}{value[1:]} |"


def _table(desk: Desk, facts: Sequence[Fact], room: int) -> str:
    del room
    desk.scene.when = _later(desk.scene.when, desk.grammar.chance.number(0, 4))
    cells = [fact() for fact in facts] or [_short(desk, "item")]
    return "\n".join(f"| {desk.today()} | {cell} | {desk.say('remark')} |" for cell in cells)


def _list(desk: Desk, facts: Sequence[Fact], room: int) -> str:
    del room
    items = [fact() for fact in facts] or [_short(desk, "item")]
    return "\n".join(f"- {item}" for item in items)


def _mails(desk: Desk, facts: Sequence[Fact], room: int) -> str:
    grammar, scene = desk.grammar, desk.scene
    scene.begin_sentence()
    sender, receiver = grammar.person(scene), grammar.person(scene)
    nominative = [grammar.language.person(p, ("nom",)) for p in (sender, receiver)]
    head = desk.label("mail_head").format(
        sender=f"{sender.first} {sender.surname}",
        receiver=f"{receiver.first} {receiver.surname}",
        subject=desk.say("subject"),
    )
    scene.bound["name"] = nominative[1]
    start = desk.say("mail_start")
    topic = desk.narrator.topic()
    lines = [fact() for fact in facts]
    for _ in range(grammar.chance.number(1, 4)):
        if lines and sum(map(len, lines)) > room - len(head) - 140:
            break
        lines.append(desk.narrator.sentence("mail", topic, scene))
    return f"{head}\n{start}\n{' '.join(lines)}\n{sender.first} {sender.surname}"


def _short(desk: Desk, kind: str) -> str:
    return desk.narrator.sentence(kind, desk.narrator.topic(), desk.scene)


def _later(when: date, days: int) -> date:
    return date.fromordinal(when.toordinal() + days)


def _head(name: str, columns: int) -> Opening:
    return lambda desk: f"{desk.label(name)}\n|{'---|' * columns}"


REPORT = Genre(_report, 520)
GENRES: dict[str, Genre] = {
    "report": REPORT,
    "letter": Genre(_report, 520, _letter_opening, _letter_closing),
    "minutes": Genre(_minutes, 520, _minutes_opening),
    "interview": Genre(_interview, 420),
    "log": Genre(_log, 120, joint="\n", most=45),
    "sheet": Genre(_sheet, 45, _head("sheet_head", 2), joint="\n", sheet=True, most=14),
    "table": Genre(_table, 130, _head("table_head", 3), joint="\n", most=30),
    "list": Genre(_list, 100, joint="\n", most=24),
    "mails": Genre(_mails, 480),
}
