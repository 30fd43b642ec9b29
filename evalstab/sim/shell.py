"""The file tools by way of a shell, for agents that offer their model nothing else.

The simulated model decides in terms of listing, reading and writing files. Where a request offers
a shell and none of these tools, its calls become commands, and the commands of its own that stand
in the history are read back.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, replace

from evalstab.chat import Json
from evalstab.sim.turn import Call, Turn

NAMES = ("bash", "shell", "Bash", "exec_command", "shell_command")
FILE_TOOLS = ("list_files", "read_file", "write_file")
FINISH = "COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"
"""What mini-swe-agent's model must print in order to end."""

_LIST = "find . -type f -not -path '*/.*' | sed 's|^\\./||' | sort"
_MARK = "END_OF_FILE"
_READ = re.compile(r"cat -- (.{1,300})")
_HEAD = re.compile(
    r"(?:Chunk ID: \w{1,20}\n)?Wall time: [\d.]{1,20} seconds\nProcess exited with code (\d{1,3})\n"
    r"(?:Original token count: \d{1,12}\n)?Output:\n"
)
"""What Codex puts before the output of a command."""
_WRITE = re.compile(r"mkdir -p .{1,300} && cat > (.{1,300}) <<'END_OF_FILE'\n")


@dataclass(frozen=True, slots=True)
class Shell:
    """A shell tool: its name, the parameter that takes the command, whether that is a list of
    words, further required parameters, and whether a command ends the work."""

    name: str
    key: str
    words: bool = False
    others: tuple[str, ...] = ()
    finish: bool = False

    def call(self, command: str) -> Call:
        """The call that runs a command."""
        value: object = ["bash", "-lc", command] if self.words else command
        return Call(self.name, {self.key: value} | dict.fromkeys(self.others, "work on the task"))


def shell_of(schemas: Mapping[str, Json], text: str) -> Shell | None:
    """The shell of a request that offers no file tools of ours; ``text`` is all that was said."""
    if any(tool in schemas for tool in (*FILE_TOOLS, "submit_ranking")):
        return None
    name = next((name for name in NAMES if name in schemas), None)
    if name is None:
        return None
    properties = schemas[name].get("properties")
    properties = properties if isinstance(properties, dict) else {}
    key = next((key for key in ("command", "cmd") if key in properties), "command")
    about = properties.get(key)
    words = isinstance(about, dict) and about.get("type") == "array"
    required = schemas[name].get("required")
    others = tuple(str(r) for r in required if r != key) if isinstance(required, list) else ()
    return Shell(name, key, words, others, FINISH in text)


def in_shell(turn: Turn, shell: Shell | None) -> Turn:
    """The answer with its calls as commands; what is broken on purpose stays broken."""
    if shell is None:
        return turn
    if not turn.calls:
        return replace(turn, calls=(shell.call(f"echo {FINISH}"),)) if shell.finish else turn
    return replace(turn, calls=tuple(_command(call, shell) for call in turn.calls))


def _command(call: Call, shell: Shell) -> Call:
    tool = next((tool for tool in FILE_TOOLS if call.name.startswith(tool)), None)
    if tool is None:
        return call
    if call.name != tool:
        made = _command(replace(call, name=tool), shell)
        return replace(made, name=made.name + call.name.removeprefix(tool))
    if call.raw is not None:
        return Call(shell.name, call.arguments, call.raw)
    path = shlex.quote(str(call.arguments.get("path", "")))
    if call.name == "list_files":
        return shell.call(_LIST)
    if call.name == "read_file":
        return shell.call(f"cat -- {path}")
    text = str(call.arguments.get("content", ""))
    ended = text if text.endswith("\n") else f"{text}\n"
    return shell.call(
        f"mkdir -p \"$(dirname {path})\" && cat > {path} <<'{_MARK}'\n{ended}{_MARK}\n"
    )


def file_call(arguments: Json, shell: Shell) -> tuple[str, Json] | None:
    """Which file tool a command stands for, with its arguments; None for any other command."""
    value = arguments.get(shell.key)
    command = value[-1] if isinstance(value, list) and value else value
    if not isinstance(command, str):
        return None
    if command == _LIST:
        return "list_files", {}
    if found := _READ.fullmatch(command):
        return "read_file", {"path": _path(found[1])}
    if found := _WRITE.match(command):
        return "write_file", {"path": _path(found[1])}
    return None


def output_of(answer: str) -> str:
    """What a command printed, out of what an agent makes of it; an error where it failed."""
    if head := _HEAD.match(answer):
        text = answer[head.end() :]
        return text if int(head[1]) == 0 else f"Error: {text}"
    try:
        value = json.loads(answer) if answer.startswith("{") else None
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict) or "output" not in value:
        return answer
    text = str(value["output"])
    return f"Error: {text}" if value.get("returncode") else text


def _path(quoted: str) -> str:
    try:
        return shlex.split(quoted)[0]
    except (ValueError, IndexError):
        return quoted
