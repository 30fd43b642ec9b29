"""Runs an agent's own program on a task: how it is called, how long it may take, how it ends."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import shlex
import signal
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePath
from string import Formatter

from evalstab.errors import UsageError, nearest
from evalstab.redact import redactor, scrub

PLACES = ("prompt", "base_url", "model", "workspace")
LOG_LIMIT = 8 << 20
PATIENCE = 5.0
"""Seconds between asking a program to end and ending it."""

_COMPLETED = {
    "opencode": ("-m", "evalstab/{model}", "{prompt}"),
    "codex": (
        "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox",
        "-c", "model_provider=evalstab",
        "-c", 'model_providers.evalstab.name="evalstab"',
        "-c", 'model_providers.evalstab.base_url="{base_url}"',
        "-c", 'model_providers.evalstab.env_key="OPENAI_API_KEY"',
        "-c", 'model_providers.evalstab.wire_api="responses"',
        "-m", "{model}", "{prompt}",
    ),
    "claude": ("--model", "{model}", "--permission-mode", "bypassPermissions", "{prompt}"),
    "mini": (
        "-m", "openai/{model}", "-y", "--exit-immediately", "-l", "0",
        "-c", "mini.yaml", "-c", "model.model_kwargs.api_base={base_url}",
        "-o", "{workspace}/../trajectory.json", "-t", "{prompt}",
    ),
}  # fmt: skip
_HOW = {"opencode": "opencode run", "codex": "codex exec", "claude": "claude -p", "mini": "mini"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Errand:
    """One trial's errand for an agent; ``base_url`` ends where the API's paths begin (``/v1``)."""

    prompt: str
    base_url: str
    model: str
    workspace: Path
    api_key: str = "none"
    seconds: float = 14_400.0


@dataclass(frozen=True, slots=True)
class AgentEnd:
    """How a program ended: its exit code (negative: a signal), or by our time limit."""

    code: int | None
    timed_out: bool
    last_words: str


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
    if any("prompt" in _places(word) for word in words):
        return tuple(words)
    program = PurePath(words[0]).name
    if program not in _COMPLETED:
        known = ", ".join(_HOW.values())
        raise UsageError(
            f"--agent {command!r}: say where the prompt goes with {{prompt}} (and the address with "
            f"{{base_url}}, if the program does not read OPENAI_BASE_URL); completed by itself "
            f"are: {known}"
        )
    return (*words, *_COMPLETED[program])


def _places(word: str) -> list[str]:
    try:
        return [name for _, name, _, _ in Formatter().parse(word) if name]
    except ValueError:
        return []


def filled(words: tuple[str, ...], errand: Errand) -> list[str]:
    """The command line for one errand; each word stays one word whatever stands in it."""
    values = {
        "prompt": errand.prompt,
        "base_url": errand.base_url,
        "model": errand.model,
        "workspace": str(errand.workspace),
    }
    done = []
    for word in words:
        for place in dict.fromkeys(_places(word)):
            word = values[place].join(word.split(f"{{{place}}}"))  # noqa: PLW2901
        done.append(word)
    return done


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
        "OPENCODE_CONFIG_CONTENT": json.dumps(_opencode(errand)),
        "OPENCODE_DISABLE_AUTOUPDATE": "1",
        "OPENCODE_DISABLE_MODELS_FETCH": "1",
        "MSWEA_CONFIGURED": "true",
        "MSWEA_COST_TRACKING": "ignore_errors",
        "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    }
    kept = {name: value for name, value in base.items() if name != "OLDPWD"}
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

    What it prints goes to ``log`` (up to LOG_LIMIT bytes). FileNotFoundError and PermissionError
    where the program cannot be started.
    """
    process = await asyncio.create_subprocess_exec(
        *filled(words, errand),
        cwd=errand.workspace,
        env=environment(errand, os.environ),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        start_new_session=True,
    )
    kept = bytearray()
    reading = asyncio.create_task(_read(process, kept))
    timed_out = False
    try:
        async with asyncio.timeout(errand.seconds):
            await process.wait()
    except TimeoutError:
        timed_out = True
    finally:
        await asyncio.shield(asyncio.create_task(_end(process)))
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(reading, PATIENCE)
        _write(log, bytes(kept))
    words_left = bytes(kept[-2000:]).decode("utf-8", "replace").strip().splitlines()
    return AgentEnd(process.returncode, timed_out, words_left[-1][:300] if words_left else "")


async def _read(process: asyncio.subprocess.Process, kept: bytearray) -> None:
    assert process.stdout is not None
    while data := await process.stdout.read(65536):
        kept += data[: max(LOG_LIMIT - len(kept), 0)]


async def _end(process: asyncio.subprocess.Process) -> None:
    """End the whole group of processes: first asked, then not."""
    if process.returncode is None:
        _signal(process.pid, signal.SIGTERM)
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(process.wait(), PATIENCE)
    _signal(process.pid, signal.SIGKILL)
    await process.wait()


def _signal(group: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)


def _write(log: Path, data: bytes) -> None:
    text = redactor().shapes(data.decode("utf-8", "replace"))
    handle = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(handle, "wb") as file:
        file.write(scrub(text.encode("utf-8", "replace")))
