"""What the simulated model does next: list, read, judge, write, close."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from evalstab.sim import documents, prose, tokens
from evalstab.sim.conversation import Conversation
from evalstab.sim.desk import Desk, look, subjects
from evalstab.sim.mind import Mind
from evalstab.sim.shape import SUBMIT, Shape, batch, next_writes
from evalstab.sim.submission import submission
from evalstab.sim.summary import summary
from evalstab.sim.turn import Call, Turn
from evalstab.task.brief_reading import Brief

_GERMAN = frozenset({"und", "der", "die", "das", "ist", "ein", "eine", "nicht"})


@dataclass(frozen=True, slots=True)
class _Scene:
    """Everything one step is decided from."""

    mind: Mind
    conversation: Conversation
    brief: Brief
    desk: Desk

    @property
    def step(self) -> int:
        return self.conversation.step

    def offers(self, tool: str) -> bool:
        return tool in self.conversation.offer.schemas

    def writer(self, *purpose: object) -> prose.Writer:
        return prose.Writer(self.brief.language, self.mind.dice(*purpose))

    def view(self) -> prose.View:
        return prose.View(
            subjects(self.brief, self.desk.texts),
            self.mind.opinion(self.brief),
            self.brief.criteria,
        )

    def thoughts(self, sentences: Iterator[str], kind: str) -> str:
        """The reasoning of a step that is not the judging one."""
        if not self.conversation.thinking:
            return ""
        offer = self.conversation.offer
        shape = Shape.of(self.brief, set(offer.schemas), parallel=offer.parallel)
        total, block = self.mind.thinking(self.brief)
        budget = shape.budget(kind, total - block, self.mind.dice("weight", self.step))
        return prose.take(sentences, budget)


def decide(mind: Mind, conversation: Conversation) -> Turn:
    """The next answer: a pure function of the mind and the conversation."""
    brief = conversation.brief
    if brief is None:
        return _chat(mind, conversation)
    scene = _Scene(mind, conversation, brief, look(conversation))
    if conversation.summing_up:
        return Turn(content=summary(conversation.prompt, scene.desk.progress(), mind.trial))
    if turn := _gather(scene):
        return turn
    if scene.offers("write_file"):
        waiting = scene.desk.unwritten(brief, submitted=scene.offers(SUBMIT))
        if waiting:
            return _write(scene, waiting)
    if scene.offers(SUBMIT):
        return _submit(scene)
    return _close(scene) if scene.offers("write_file") else _answer(scene)


def _chat(mind: Mind, conversation: Conversation) -> Turn:
    """A sensible answer to a prompt that is no task of ours."""
    words = conversation.prompt.lower().split()
    german = sum(
        word in {"und", "der", "die", "das", "ist", "ein", "eine", "nicht"} for word in words
    )
    writer = prose.Writer("de" if german * 12 > len(words) else "en", mind.dice("chat"))
    return Turn(content=prose.take((writer.say("plain") for _ in range(3)), 120))


def _gather(scene: _Scene) -> Turn | None:
    """Listing and reading, ``None`` when everything was read that can be read."""
    desk = scene.desk
    if not scene.offers("read_file"):
        return None
    if scene.offers("list_files") and not desk.listed:
        thoughts = prose.opening(scene.writer("open"), len(scene.brief.candidates))
        return _act(scene, scene.thoughts(thoughts, "open"), [Call("list_files", {})])
    pages = [p for p, _ in desk.following.items() if desk.tries.get(p, 0) < 60]
    if pages:
        calls = [Call("read_file", {"path": p, "offset": desk.following[p]}) for p in pages]
    else:
        unread = desk.unread()
        calls = [Call("read_file", {"path": path}) for path in unread[: batch(len(desk.sources))]]
    if not calls:
        return None
    if not scene.conversation.offer.parallel:
        calls = calls[:1]
    before = scene.conversation.steps[-1] if scene.conversation.steps else ()
    kind = "read" if any(call.name == "read_file" for call in before) else "start"
    return _act(scene, scene.thoughts(_while_reading(scene, calls), kind), calls)


def _while_reading(scene: _Scene, calls: list[Call]) -> Iterator[str]:
    just = {
        call.arguments.get("path")
        for call in (scene.conversation.steps or ((),))[-1]
        if call.answer
    }
    texts = {path: text for path, text in scene.desk.texts.items() if path in just}
    known = [s for s in subjects(scene.brief, texts) if s.facts]
    following = str(calls[0].arguments["path"])
    left = len(scene.desk.unread())
    return prose.reading(scene.writer("read", scene.step), known, following, left)


def _write(scene: _Scene, waiting: list[str]) -> Turn:
    """Write the next deliverables; the first of them comes out of the long thought."""
    wanted = {d.path: d for d in scene.brief.deliverables}
    view = scene.view()
    first = not scene.desk.attempts
    together = next_writes(
        wanted, waiting, parallel=scene.conversation.offer.parallel and not first
    )
    calls = []
    for path in together:
        writer = scene.writer("document", path)
        text = documents.document(scene.brief, view, wanted[path], writer)
        calls.append(Call("write_file", {"path": path, "content": text}))
    if first:
        return _act(scene, _judging(scene, view), calls, view)
    writing = prose.writing(scene.writer("write", scene.step), view, together[0])
    return _act(scene, scene.thoughts(writing, "write"), calls, view)


def _submit(scene: _Scene) -> Turn:
    view = scene.view()
    place = documents.places(view)
    rows = documents.entries(view, place, bool(scene.brief.criteria or scene.brief.points))
    schema = scene.conversation.offer.schemas[SUBMIT]
    if scene.desk.attempts:
        thoughts = scene.thoughts(prose.finishing(scene.writer("finish"), view), "close")
    else:
        thoughts = _judging(scene, view)
    return _act(scene, thoughts, [Call(SUBMIT, submission(schema, rows))], view)


def _answer(scene: _Scene) -> Turn:
    """Everything in one answer: there is no tool to write with."""
    view = scene.view()
    form = scene.brief.ranking.format or "json"
    text = documents.ranking(scene.brief, view, form)
    if form == "json":
        text = f"```json\n{text}```\n"
    return Turn(_judging(scene, view), text, (), view.opinion)


def _close(scene: _Scene) -> Turn:
    view = scene.view()
    writer = scene.writer("close")
    reasoning = scene.thoughts(prose.finishing(writer, view), "close")
    if scene.conversation.offer.required:
        tool = (
            "list_files"
            if scene.offers("list_files")
            else next(iter(scene.conversation.offer.schemas))
        )
        return Turn(reasoning, "", (Call(tool, {}),), view.opinion)
    best = view.ranked()[0]
    words = writer.say("close", best, total=prose.number(view.opinion.totals[best.id]))
    return Turn(reasoning, words, (), view.opinion)


def _act(scene: _Scene, reasoning: str, calls: list[Call], view: prose.View | None = None) -> Turn:
    """A turn with calls, now and then announced in a short sentence."""
    writer = scene.writer("announce", scene.step)
    purpose = "announce_write" if view else "announce_read"
    content = writer.say(purpose) if writer.dice.chance(0.25) else ""
    return Turn(reasoning, content, tuple(calls), view.opinion if view else None)


def _judging(scene: _Scene, view: prose.View) -> str:
    if not scene.conversation.thinking:
        return ""
    _, block = scene.mind.thinking(scene.brief)
    sources = sum(tokens.count(text) for text in scene.desk.texts.values())
    most = 200 + round(scene.mind.persona.reasoning.per_source_token * sources)
    return prose.judging(scene.writer("judge"), view, min(block, most))
