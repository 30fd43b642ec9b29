"""The process that writes exchanges down, seen from the proxy: handing over never waits.

Reading an answer, searching it for secrets and syncing it to the disk cost more than passing it
on. They are done in another process at low priority, so that no stream stands still meanwhile, and
so that an exchange is written even where the proxy itself is killed in the middle of it.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from evalstab.intake.handover import Asked, Frame, Known, Written, packed
from evalstab.redact import known

MOST_WAITING = 256 << 20
"""Bytes that may wait for the writer; beyond, bodies are passed on and not kept."""

SOON = 0.02
"""Seconds that frames wait for others to go with them, and are lost where the proxy is killed."""

PATIENCE = 60.0
"""Seconds without a written exchange after which the writer is taken for dead."""

_PACKAGE = Path(__file__).resolve().parent.parent


@dataclass(frozen=True, slots=True)
class StepLimit:
    """``reached`` is set when a session asks for more answers than ``most`` of its task's."""

    most: int
    reached: asyncio.Event = field(default_factory=asyncio.Event)


class NotWritten(OSError):
    """An exchange was passed on, and could not be written down."""


@dataclass(slots=True)
class Scribe:
    """Writes ``root/SESSION/exchanges.jsonl``; ``run`` names this start of the proxy.

    ``tell`` hears at once why something cannot be written: what comes after is tried all the same.
    ``sessions`` counts what was written. Use it within ``writing``.
    """

    root: Path
    run: str
    tell: Callable[[str], None] = lambda _: None
    sessions: Counter[str] = field(default_factory=Counter)
    _process: asyncio.subprocess.Process | None = None
    _steps: Counter[tuple[str, bool]] = field(default_factory=Counter)
    _limits: dict[str, StepLimit] = field(default_factory=dict)
    _frames: list[bytes] = field(default_factory=list)
    _open: dict[int, str] = field(default_factory=dict)
    _changed: asyncio.Event = field(default_factory=asyncio.Event)
    _known: dict[bytes, bytes] = field(default_factory=dict)
    _problem: str | None = None
    _dead: bool = False

    def folder(self, session: str) -> Path:
        """Where a session's log stands."""
        return self.root / session

    @property
    def behind(self) -> bool:
        """Whether so much is waiting that no more bodies can be taken."""
        pipe = self._pipe()
        return pipe is not None and pipe.transport.get_write_buffer_size() > MOST_WAITING

    def hand_over(self, frame: Frame, session: str = "") -> None:
        """Give the writer a frame, soon; ``session`` is what an exchange's address names."""
        if self._pipe() is None:
            return
        if isinstance(frame, Asked):
            self._open[frame.id] = session
            self._judge(session)
        if not self._frames:
            asyncio.get_running_loop().call_later(SOON, self._send)
        self._frames.append(packed(frame))

    def _send(self) -> None:
        frames, self._frames = self._frames, []
        pipe = self._pipe()
        if pipe is None or not frames:
            return
        if known() is not self._known:
            self._known = known()
            frames.insert(0, packed(Known(self._known)))
        pipe.write(b"".join(frames))

    def limit(self, session: str, most: int) -> StepLimit:
        """From now on a session gets ``most`` answers; the limit is reached by asking for another.

        Requests that offer no tools, where others of the session do (titles), count for nothing.
        """
        limit = self._limits[session] = StepLimit(most)
        return limit

    def _judge(self, session: str) -> None:
        limit = self._limits.get(session)
        if limit is None or session not in self._open.values():
            return
        steps = self._steps[session, True] or self._steps[session, False]
        if steps >= limit.most:
            limit.reached.set()

    async def quiet(self, session: str, seconds: float) -> None:
        """Wait until all of a session that was asked is written.

        Given up, and told, where so long nothing is written at all: a program that outlived its
        agent may hold an exchange open. A slow writer is waited for.
        """
        while session in self._open.values() and not self._dead:
            try:
                await asyncio.wait_for(self._change(), seconds)
            except TimeoutError:
                self.tell(
                    f"{session}: a request had no end after {seconds:g} s more; it is left out"
                )
                return

    async def written(self) -> None:
        """Wait until all that has been handed over is written; NotWritten where that failed."""
        while self._open and not self._dead:
            await self._change()
        self._check()

    def _check(self) -> None:
        if self._problem is not None:
            raise NotWritten(self._problem)

    @asynccontextmanager
    async def writing(self) -> AsyncIterator[None]:
        """The writer at work; at the end all that was handed over is written.

        NotWritten where something could not be.
        """
        places = [str(_PACKAGE.parent), *filter(None, [os.environ.get("PYTHONPATH")])]
        self._process = process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "evalstab.intake.scribing", str(self.root.absolute()), self.run,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            # Ctrl-C is for the proxy, which then ends the writer when all is written.
            start_new_session=True,
            # The child must find this very package, wherever we were imported from.
            env=os.environ | {"PYTHONPATH": os.pathsep.join(places)},
        )  # fmt: skip
        hearing = asyncio.create_task(self._hear(process))
        try:
            yield
        finally:
            assert process.stdin is not None
            self._send()
            process.stdin.close()
            while not hearing.done():
                before = len(self._open)
                await asyncio.wait({hearing}, timeout=PATIENCE)
                if not hearing.done() and len(self._open) == before:
                    process.kill()
            await process.wait()
        self._check()

    def _pipe(self) -> asyncio.StreamWriter | None:
        """The way to the writer, None where it has ended before its time."""
        pipe = self._process.stdin if self._process is not None else None
        return None if self._dead else pipe

    async def _change(self) -> None:
        self._changed.clear()
        await self._changed.wait()

    async def _hear(self, process: asyncio.subprocess.Process) -> None:
        """Take note of what the writer has written, until it ends."""
        assert process.stdout is not None
        decoder = msgspec.json.Decoder(Written)
        while line := await process.stdout.readline():
            told = decoder.decode(line)
            self._open.pop(told.id, None)
            if told.problem is None:
                self.sessions[told.session] += 1
                self._steps[told.session, told.tools] += told.answered
                self._judge(told.session)
            else:
                self._fail(f"exchanges cannot be written: {told.problem}")
            self._changed.set()
        self._dead = True
        if self._open:
            self._fail("the process that writes exchanges down has ended before its time")
        self._changed.set()

    def _fail(self, why: str) -> None:
        if self._problem is None:
            self._problem = why
            self.tell(why)
