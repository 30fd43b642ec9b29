"""Runs an agent's own program on a task: how it is called, how long it may take, how it ends."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import re
import secrets
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePath

from evalstab.errors import UsageError, nearest
from evalstab.intake.process_group import MARK, end_all
from evalstab.redact import redactor, scrub

PLACES = ("prompt", "prompt_file", "base_url", "model", "workspace")
PROMPT_FILE = "prompt.md"
LOG_LIMIT = 8 << 20
LOG_TAIL = 64 << 10
PATIENCE = 5.0
"""Seconds for which output is still read after a program's end."""

LONGEST_WORD = (128 << 10) - 1
"""Bytes that Linux takes for one word of a command line."""

_PLACE = re.compile(r"\{([a-z_]{1,40})\}")

_COMPLETED = {
    "opencode": ("-m", "evalstab/{model}", "{prompt}"),
    "codex": (
        "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox",
        "-c", "model_provider=evalstab",
        "-c", 'model_providers.evalstab.name="evalstab"',
        "-c", 'model_providers.evalstab.base_url="{base_url}"',
        "-c", 'model_providers.evalstab.env_key="OPENAI_API_KEY"',
        "-c", 'model_providers.evalstab.wire_api="responses"',
        "-c", "analytics.enabled=false",
        "-m", "{model}", "{prompt}",
    ),
    # Not by bypassing all permissions: as root, Claude Code refuses to start so.
    "claude": (
        "--model", "{model}", "--allowedTools=Bash,Edit,Glob,Grep,Read,Write", "{prompt}",
    ),
    "mini": (
        "-m", "openai/{model}", "-y", "--exit-immediately", "-l", "0",
        "-c", "mini.yaml", "-c", "model.model_kwargs.api_base={base_url}",
        "-o", "{workspace}/../trajectory.json", "-t", "{prompt}",
    ),
}  # fmt: skip
_NOT_HANDED_ON = frozenset({"OLDPWD", "ANTHROPIC_API_KEY"})
"""Claude Code would send the user's own key beside the endpoint's."""
_HOW = {"opencode": "opencode run", "codex": "codex exec", "claude": "claude -p", "mini": "mini"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Errand:
    """One trial's errand for an agent; ``base_url`` ends where the API's paths begin (``/v1``).

    ``stop`` ends it before its time.
    """

    prompt: str
    base_url: str
    model: str
    workspace: Path
    api_key: str = "none"
    seconds: float = 14_400.0
    stop: asyncio.Event | None = None

    @property
    def prompt_file(self) -> Path:
        """Where the prompt stands for programs that read it from a file: beside the workspace."""
        return self.workspace.parent / PROMPT_FILE


@dataclass(frozen=True, slots=True)
class AgentEnd:
    """How a program ended: its exit code (negative: a signal), or by us, at the time limit or
    because it was to stop."""

    code: int | None
    timed_out: bool
    last_words: str
    stopped: bool = False


def template(command: str) -> tuple[str, ...]:
    """The words of an agent's command line, completed where the program is a known one.

    UsageError where the prompt has no place in it, or a place is not known.
    """
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise UsageError(f"--agent {command!r}: {error}; close the quotes") from error
    if not words:
        raise UsageError("--agent: write a command, such as 'opencode run'")
    if os.sep in words[0]:
        # It runs in the workspace, and was named from here.
        words[0] = str(Path(words[0]).expanduser().absolute())
    for word in words:
        for place in _places(word):
            if place not in PLACES:
                raise UsageError(f"--agent: there is no {{{place}}}. {nearest(place, PLACES)}")
    if any({"prompt", "prompt_file"} & set(_places(word)) for word in words):
        return tuple(words)
    program = PurePath(words[0]).name
    if program not in _COMPLETED:
        known = ", ".join(_HOW.values())
        raise UsageError(
            f"--agent {command!r}: say where the prompt goes with {{prompt}} (or {{prompt_file}}, "
            f"a file that holds it), and the address with {{base_url}} (if the program does not "
            f"read OPENAI_BASE_URL); completed by itself are: {known}"
        )
    return (*words, *_COMPLETED[program])


def _places(word: str) -> list[str]:
    return _PLACE.findall(word)


def filled(words: tuple[str, ...], errand: Errand) -> list[str]:
    """The command line for one errand; each word stays one word whatever stands in it."""
    values = {
        "prompt": errand.prompt,
        "prompt_file": str(errand.prompt_file),
        "base_url": errand.base_url,
        "model": errand.model,
        "workspace": str(errand.workspace),
    }
    return [_PLACE.sub(lambda place: values[place[1]], word) for word in words]


def environment(errand: Errand, base: Mapping[str, str]) -> dict[str, str]:
    """The program's environment: the usual variables of agents point to the proxy."""
    root = errand.base_url.removesuffix("/v1")
    own = {
        "PWD": str(errand.workspace),
        "OPENAI_BASE_URL": errand.base_url,
        "OPENAI_API_BASE": errand.base_url,
        "OPENAI_API_KEY": errand.api_key,
        "ANTHROPIC_BASE_URL": root,
        "ANTHROPIC_AUTH_TOKEN": errand.api_key,
        "ANTHROPIC_DEFAULT_HAIKU_MODEL": errand.model,
        "CLAUDE_CODE_SUBAGENT_MODEL": errand.model,
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "OPENCODE_CONFIG_CONTENT": json.dumps(_opencode(errand)),
        "OPENCODE_DISABLE_AUTOUPDATE": "1",
        "OPENCODE_DISABLE_MODELS_FETCH": "1",
        "MSWEA_CONFIGURED": "true",
        "MSWEA_COST_TRACKING": "ignore_errors",
        "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    }
    kept = {name: value for name, value in base.items() if name not in _NOT_HANDED_ON}
    return kept | own


def _opencode(errand: Errand) -> dict[str, object]:
    provider = {
        "npm": "@ai-sdk/openai-compatible",
        "name": "evalstab",
        "options": {"baseURL": errand.base_url, "apiKey": errand.api_key},
        "models": {errand.model: {"name": errand.model, "tool_call": True}},
    }
    return {
        "provider": {"evalstab": provider},
        "model": f"evalstab/{errand.model}",
        "small_model": f"evalstab/{errand.model}",
        "permission": {"edit": "allow", "bash": "allow"},
        "share": "disabled",
    }


async def carry_out(words: tuple[str, ...], errand: Errand, log: Path) -> AgentEnd:
    """Run the program to its end or to the time limit; all that it started is ended with it.

    What it prints goes to ``log`` (up to LOG_LIMIT bytes, and its end). UsageError where the
    program cannot be started.
    """
    mark = secrets.token_hex(16)
    process, pipe = await _started(words, errand, mark)
    output = _Output()
    reading = asyncio.create_task(output.read(pipe))
    ended = None
    try:
        ended = await _ended(process, errand)
    finally:
        await asyncio.shield(asyncio.create_task(end_all(process, mark)))
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(reading, PATIENCE)
        output.write(log)
    return AgentEnd(
        process.returncode,
        timed_out=ended == "time",
        last_words=output.last_words(),
        stopped=ended == "stop",
    )


async def _started(
    words: tuple[str, ...], errand: Errand, mark: str
) -> tuple[asyncio.subprocess.Process, int]:
    """The program, and the pipe that it prints to.

    The pipe is our own: asyncio's would keep ``wait`` waiting for every daemon that holds it.
    """
    errand.prompt_file.write_text(errand.prompt, encoding="utf-8")
    ours, theirs = os.pipe()
    try:
        process = await asyncio.create_subprocess_exec(
            *filled(words, errand),
            cwd=errand.workspace,
            env=environment(errand, os.environ) | {MARK: mark},
            stdin=asyncio.subprocess.DEVNULL,
            stdout=theirs,
            stderr=asyncio.subprocess.STDOUT,
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        os.close(ours)
        raise UsageError(_not_started(words, errand, error)) from error
    finally:
        os.close(theirs)
    return process, ours


async def _ended(process: asyncio.subprocess.Process, errand: Errand) -> str:
    """What ends a program: itself, the time limit, or that it is to stop."""
    waits = {asyncio.create_task(process.wait(), name="itself")}
    if errand.stop is not None:
        waits.add(asyncio.create_task(errand.stop.wait(), name="stop"))
    try:
        done, _ = await asyncio.wait(
            waits, timeout=errand.seconds, return_when=asyncio.FIRST_COMPLETED
        )
    finally:
        for wait in waits:
            wait.cancel()
    names = {task.get_name() for task in done}
    return "itself" if "itself" in names else "stop" if names else "time"


def _not_started(words: tuple[str, ...], errand: Errand, error: Exception) -> str:
    longest = max(len(word.encode("utf-8", "replace")) for word in filled(words, errand))
    if longest > LONGEST_WORD:
        return (
            f"--agent: a word of the command line has {longest:,} bytes, and the system takes "
            f"{LONGEST_WORD:,}: hand the prompt over as a file, with {{prompt_file}}"
        )
    why = error.strerror if isinstance(error, OSError) else str(error)
    return f"--agent: {words[0]} cannot be started: {why}"


class _Output:
    """What a program prints: its beginning and its end."""

    def __init__(self) -> None:
        self._kept = bytearray()
        self._tail = b""
        self._size = 0

    async def read(self, pipe: int) -> None:
        """Read to the end; what nobody keeps is read too, so that the program never waits."""
        reader = asyncio.StreamReader()
        transport, _ = await asyncio.get_running_loop().connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(pipe, "rb", buffering=0)
        )
        try:
            while data := await reader.read(65536):
                self._kept += data[: max(LOG_LIMIT - len(self._kept), 0)]
                self._tail = (self._tail + data)[-LOG_TAIL:]
                self._size += len(data)
        finally:
            transport.close()

    def last_words(self) -> str:
        """The last line, without secrets, as far as it can be shown."""
        lines = self._tail[-4000:].decode("utf-8", "replace").strip().splitlines()
        line = "".join(c if c.isprintable() else " " for c in lines[-1]) if lines else ""
        return redactor().shapes(line)[:300]

    def write(self, log: Path) -> None:
        """Write it down without secrets."""
        data = bytes(self._kept)
        if (left_out := self._size - len(data) - len(self._tail)) > 0:
            data += f"\n… {left_out:,} bytes left out …\n".encode() + self._tail
        elif self._size > len(data):
            data += self._tail[len(data) - self._size :]
        text = redactor().shapes(data.decode("utf-8", "replace"))
        handle = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(handle, "wb") as file:
            file.write(scrub(text.encode("utf-8", "replace")))
