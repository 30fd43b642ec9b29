"""Words the facts: sentences and table rows that state a value, asides, decoys."""

from __future__ import annotations

from evalstab.task.generate.grammar import LANGUAGES, Grammar, Scene
from evalstab.task.generate.lexicon import Lexicon, Measured
from evalstab.task.generate.plan import Statement
from evalstab.task.generate.prose import tidy


class Phrasing:
    """Says statements in the words of a lexicon, each time in another wording."""

    def __init__(self, lexicon: Lexicon, grammar: Grammar) -> None:
        self._lexicon = lexicon
        self._grammar = grammar
        self._measured = {m.id: m for m in lexicon.measured}

    def sentence(self, statement: Statement, scene: Scene) -> str:
        """The statement as one sentence."""
        lists, decks = self._lexicon.lists, self._grammar.decks
        criterion = statement.criterion
        if criterion is None or statement.value is None:
            wording = decks.deal("decoy", lists["decoy"])
        elif statement.role == "aside":
            title = self._lexicon.wording[criterion].title
            value = self.value(criterion, statement.value, unit=True)
            wording = decks.deal("aside", lists["aside"])
            wording = wording.replace("{label}", title).replace("{v}", value)
        else:
            wording = decks.deal(f"say {criterion}", self._lexicon.wording[criterion].say)
            wording = wording.replace("{v}", self.value(criterion, statement.value, unit=False))
        scene.begin_sentence()
        return tidy(self._grammar.fill(wording, scene))

    def row(self, statement: Statement, scene: Scene, *, plain: bool) -> str:
        """The statement as a row of a table with two columns; ``plain``: value beside label."""
        criterion = statement.criterion
        evidence = statement.role in {"counts", "overruled"} and plain
        if criterion is None or statement.value is None or not evidence:
            label = self._lexicon.texts["remark_label"]
            return f"| {label} | {self.sentence(statement, scene)} |"
        label = self._lexicon.wording[criterion].label
        return f"| {label} | {self.value(criterion, statement.value, unit=True)} |"

    def value(self, criterion: str, value: float, *, unit: bool) -> str:
        """A value as it is written, with its unit where asked for."""
        return shown(self._lexicon, self._measured[criterion], value, unit=unit)


def shown(lexicon: Lexicon, measured: Measured, value: float, *, unit: bool) -> str:
    """A criterion's value in the words and figures of a language."""
    wording = lexicon.wording[measured.id]
    if not measured.bands:
        return wording.words[int(value)]
    text: str = LANGUAGES[lexicon.language].number(value, measured.decimals)
    return f"{text} {wording.unit}" if unit and wording.unit else text
