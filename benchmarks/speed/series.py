"""A series as large as one likes, made of plain sentences: 16 steps a trial, 400 KB a record."""

from __future__ import annotations

import random
import shutil
from collections.abc import Iterator
from pathlib import Path

import msgspec

from evalstab.chat import ToolCall, Usage
from evalstab.endpoint.base import Attempt, Clock, Reply, encoded_gaps
from evalstab.series.files import write_json
from evalstab.series.folder import SeriesFile, SeriesFolder
from evalstab.task.load import find_task, load_task
from evalstab.trial.record import Step, ToolResult, TrialEnded, TrialStarted

AT = "2026-11-30T02:00:00.000+00:00"
READING, WRITING = 11, 5
GIVEN, THOUGHT, WRITTEN = 8_500, 3_500, 7_500
TASK = "eleven-profiles"
UMLAUTS = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "ß": "ss", "–": "-"})


def make(root: Path, trials: int, *, ascii_only: bool = False) -> SeriesFolder:
    """A finished series of a shipped task; every trial has other sentences.

    ``ascii_only`` spells the text without umlauts: a decoder copies such text, and must convert any
    other.
    """
    source = find_task(TASK)
    task = load_task(source)
    shutil.copytree(source, root / "task")
    file = SeriesFile(
        id="bench",
        created=AT,
        task={"name": TASK},
        endpoint={"name": "bench", "model": "bench"},
        work={},
        conditions={},
        repeats=trials,
        seed=0,
        settings={},
    )
    write_json(root / "series.json", msgspec.to_builtins(file))
    series = SeriesFolder(root, file)
    prose = prose_of_task(ascii_only=ascii_only)
    people = [candidate.id for candidate in task.spec.candidates]
    for index in range(1, trials + 1):
        prose.seed(index)
        _write(series, index, prose, people)
    return series


def prose_of_task(*, ascii_only: bool = False) -> Prose:
    """German prose from the inputs of the task."""
    text = "\n".join(text.decode() for text in load_task(find_task(TASK)).inputs.values())
    return Prose(text.translate(UMLAUTS).encode("ascii", "ignore").decode() if ascii_only else text)


class Prose:
    """Sentences of a text in a random order, some with their words shuffled."""

    def __init__(self, text: str) -> None:
        self._words = text.split()
        self._random = random.Random()

    def seed(self, number: int) -> None:
        """Begin another sequence."""
        self._random.seed(number)

    def gaps(self, count: int) -> tuple[int, ...]:
        """Microseconds between chunks."""
        return tuple(self._random.choices(range(15_000, 25_000), k=count))

    def order(self, names: list[str]) -> list[str]:
        """The names in a random order."""
        return self._random.sample(names, len(names))

    def write(self, size: int) -> str:
        """A text of so many characters."""
        pieces: list[str] = []
        length = 0
        while length < size:
            start = self._random.randrange(len(self._words) - 20)
            words = self._words[start : start + self._random.randint(8, 20)]
            if self._random.random() < 0.3:
                self._random.shuffle(words)
            pieces.append(" ".join(words) + ". ")
            length += len(pieces[-1])
        return "".join(pieces)[:size]


def _write(series: SeriesFolder, index: int, prose: Prose, people: list[str]) -> None:
    folder = series.root / "trials" / f"{index:03}"
    order = prose.order(people)
    ranking = [{"place": n, "candidate": p, "total": 150 - n} for n, p in enumerate(order, 1)]
    answer = msgspec.json.encode({"ranking": ranking})
    (folder / "workspace").mkdir(parents=True)
    (folder / "workspace" / "ranking.json").write_bytes(answer)
    lines = [_encoded(event) for event in _events(index, prose, answer.decode())]
    (folder / "events.jsonl").write_bytes(b"".join(lines))


def _encoded(event: object) -> bytes:
    return msgspec.json.encode(event) + b"\n"


def _events(index: int, prose: Prose, answer: str) -> Iterator[object]:
    opening = msgspec.Raw(msgspec.json.encode({"role": "user", "content": "Rank them."}))
    fields = {"model": "bench", "stream": True}
    yield TrialStarted(
        series="bench", trial=index, attempt=1, at=AT, fields=fields, messages=(opening,)
    )
    context = 3_000
    for number in range(1, READING + WRITING + 1):
        context += 2_500
        yield _step(number, context, prose, answer if number == READING + 1 else None)
    yield TrialEnded(
        at=AT, outcome="completed", ending="no_call", reason="done", seconds=number * 60.0
    )


def _step(number: int, context: int, prose: Prose, answer: str | None) -> Step:
    reading = number <= READING
    path = f"profiles/{number}.md" if reading else f"documents/{number}.md"
    arguments = {"path": "ranking.json" if answer else path}
    if not reading:
        arguments["content"] = answer or prose.write(WRITTEN)
    name = "read_file" if reading else "write_file"
    call = ToolCall(id="c1", name=name, arguments=msgspec.json.encode(arguments).decode())
    reply = Reply(
        reasoning=prose.write(THOUGHT),
        tool_calls=(call,),
        finish="tool_calls",
        usage=Usage(prompt_tokens=context, completion_tokens=1_500, cached_tokens=context - 2_500),
        reasoning_field="reasoning",
        model="bench",
    )
    clock = Clock(
        sent=number * 60.0,
        headers=0.1,
        first=0.5,
        last=30.5,
        end=30.6,
        chunks=1_500,
        gaps=encoded_gaps(prose.gaps(1_499)),
    )
    said = {"role": "assistant", "reasoning": reply.reasoning, "tool_calls": [{"id": "c1"}]}
    told = {
        "role": "tool",
        "tool_call_id": "c1",
        "content": prose.write(GIVEN) if reading else "Written.",
    }
    return Step(
        number=number,
        started=number * 60.0,
        seconds=31.0,
        attempts=(Attempt(number=1, at=AT, status=200, reply=reply, clock=clock),),
        results=(ToolResult(call_id="c1", name=name, path=arguments["path"], wrote=not reading),),
        append=tuple(msgspec.Raw(msgspec.json.encode(m)) for m in (said, told)),
    )
