"""What all commands share: option panels, where text goes, and errors as exit codes."""

from __future__ import annotations

import errno
import functools
import io
import os
import re
import signal
import sys
import threading
from collections.abc import Callable, Iterable
from types import TracebackType
from typing import Any, TypeVar

import typer

BASIC = "Basic"
CONDITIONS = "Conditions"
LIMITS = "Limits"
OUTPUT = "Output"

_DISK_REFUSES = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS})
_STEERING = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
"""Control characters, save tab and line feed, and those that turn the direction of writing."""

_Command = TypeVar("_Command", bound=Callable[..., Any])


def say(line: str) -> None:
    """One line of prose for people, on stderr, without secrets that are known.

    Servers' own words may stand in it: whatever would steer a terminal becomes visible.
    """
    from evalstab.redact import scrub_text

    told = _STEERING.sub("\ufffd", scrub_text(line))
    print(_for_runner(told), file=sys.stderr, flush=True)


def silent(_line: str) -> None:
    """Says nothing (``--quiet``)."""


def answer(text: str) -> None:
    """The answer itself, on stdout in UTF-8 whatever the locale, without secrets that are known.

    FolderError where stdout is closed or its disk is full.
    """
    from evalstab.errors import FolderError
    from evalstab.redact import scrub_text

    if sys.stdout is None:
        raise FolderError("stdout is closed: there is no place for the answer")
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8", errors="backslashreplace")
    try:
        whole = text if text.endswith("\n") else f"{text}\n"
        sys.stdout.write(_for_runner(scrub_text(whole)))
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        with open(os.devnull, "wb") as nowhere:
            os.dup2(nowhere.fileno(), sys.stdout.fileno())
        raise FolderError(f"stdout cannot be written: {error.strerror}") from error


def answer_json(value: Any) -> None:
    """The answer as exactly one JSON document on stdout."""
    import msgspec

    text = msgspec.json.format(msgspec.json.encode(value), indent=2).decode()
    if on_github():
        from evalstab.text.github import harmless_json

        text = harmless_json(text)
    answer(text)


def on_github() -> bool:
    """Whether a runner of GitHub Actions reads what is printed."""
    return os.environ.get("GITHUB_ACTIONS") == "true"


def annotate(lines: Iterable[str]) -> None:
    """Annotations of a GitHub job, on stderr; nothing where no runner reads along."""
    from evalstab.redact import scrub_text

    if on_github():
        for line in lines:
            print(scrub_text(line), file=sys.stderr, flush=True)


def _for_runner(text: str) -> str:
    """Text of others must give no command to the runner that reads it."""
    if not on_github():
        return text
    from evalstab.text.github import harmless

    return harmless(text)


def crashed(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """Write the traceback of a bug, without whatever looks like a secret."""
    import traceback

    from evalstab.redact import redactor

    text = "".join(traceback.format_exception(kind, error, trace))
    sys.stderr.write(_for_runner(redactor().text(text)))


def verb(command: _Command) -> _Command:
    """Turn the house's errors into one clear message and the contract's exit code."""

    @functools.wraps(command)
    def wrapped(*args: Any, **kwargs: Any) -> None:
        from evalstab.errors import EvalstabError

        _interruptible()
        try:
            command(*args, **kwargs)
        except EvalstabError as error:
            say(f"error: {error}")
            _annotate_error(str(error))
            raise typer.Exit(error.exit_code) from None
        except KeyboardInterrupt:
            say("interrupted")
            raise typer.Exit(130) from None
        except BrokenPipeError:
            sys.stderr.close()
            raise typer.Exit(0) from None
        except OSError as error:
            if error.errno not in _DISK_REFUSES:
                raise
            where = f" ({error.filename})" if error.filename else ""
            say(f"error: the disk refused a write: {error.strerror}{where}")
            raise typer.Exit(3) from None

    return wrapped  # type: ignore[return-value]


def _annotate_error(message: str) -> None:
    if on_github():
        from evalstab.text.github import annotation

        annotate([annotation("error", "evalstab", message)])


def _interruptible() -> None:
    """SIGTERM, and a lost terminal, end a command as Ctrl-C does, in every phase of it."""
    if threading.current_thread() is not threading.main_thread():
        return
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, signal.default_int_handler)
