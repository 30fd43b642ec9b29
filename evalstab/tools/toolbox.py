"""The tools of one trial: a call goes in, a text for the model comes out.

Errors of a call are answers that the model can read and act on. The texts hold no times and no
absolute paths, so that equal calls on equal workspaces give equal bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

import msgspec

from evalstab.chat import Json, ToolSpec
from evalstab.findings import Finding, finding
from evalstab.task.model import Task
from evalstab.task.paths import Refused, inside
from evalstab.tools.arguments import mistakes_in_arguments
from evalstab.tools.offers import PAGE_CHARACTERS, offered_tools
from evalstab.tools.reading import as_text, listing, page, search
from evalstab.tools.workspace import Workspace

__all__ = ["ToolOutcome", "Toolbox", "offered_tools"]


@dataclass(frozen=True, slots=True)
class ToolOutcome:
    """What became of a call.

    ``text`` is what the model is told, the error included. ``path`` is the workspace path
    concerned, ``wrote`` whether a file changed, ``error`` the message alone, ``None`` where the
    tool succeeded. ``terminal`` is true when the call ends the trial. ``findings`` are without
    step: ``trial.path_escape``.
    """

    text: str
    path: str | None = None
    wrote: bool = False
    error: str | None = None
    terminal: bool = False
    findings: tuple[Finding, ...] = ()


class Toolbox:
    """Executes the calls of one trial in its workspace."""

    def __init__(self, task: Task, workspace: Workspace) -> None:
        self.offered: tuple[ToolSpec, ...] = offered_tools(task)
        self._task = task
        self._workspace = workspace
        self._specs = {tool.name: tool for tool in self.offered}
        self._tools: dict[str, Callable[[Json], ToolOutcome]] = {
            "list_files": self._list_files,
            "read_file": self._read_file,
            "search_files": self._search_files,
            "write_file": self._write_file,
            "edit_file": self._edit_file,
            "submit_ranking": self._submit_ranking,
        }

    def call(self, name: str, arguments: Json) -> ToolOutcome:
        """Execute one call.

        Whatever the model asks for is answered; OSError is raised only where the disk itself
        refuses (full, read-only).
        """
        spec = self._specs.get(name)
        if spec is None:
            offered = ", ".join(self._specs) or "none"
            return _failed(f"there is no tool named {name[:80]!a}. Offered are: {offered}")
        path, findings = self._named_path(name, arguments)
        if (mistakes := mistakes_in_arguments(spec, arguments)) is not None:
            text = f"the arguments of {name} are wrong: {mistakes}. Call it again"
            return replace(_failed(text, path), findings=findings)
        try:
            return self._tools[name](arguments)
        except Refused as refusal:
            if refusal.escape:
                findings = (_escape(name, arguments),)
            return replace(_failed(str(refusal), path), findings=findings)

    def replay(self, calls: Iterable[tuple[str, Json]]) -> None:
        """Execute recorded calls again, so that the workspace stands where they left it."""
        for name, arguments in calls:
            self.call(name, arguments)

    def keep_answer(self, path: str, text: str) -> None:
        """Keep what the model answered as a file of the workspace, as if it had written it."""
        self._workspace.write(path, text.encode(errors="replace"))

    def _named_path(self, name: str, arguments: Json) -> tuple[str | None, tuple[Finding, ...]]:
        path = arguments.get("path")
        if not isinstance(path, str):
            return None, ()
        try:
            return "/".join(inside(path, self._workspace.limits.depth)), ()
        except Refused as refusal:
            return None, (_escape(name, arguments),) if refusal.escape else ()

    def _list_files(self, _: Json) -> ToolOutcome:
        sizes = self._workspace.files()
        order = [path for path in self._task.inputs if path in sizes]
        return ToolOutcome(listing({path: sizes[path] for path in [*order, *sizes]}))

    def _read_file(self, arguments: Json) -> ToolOutcome:
        path = arguments["path"]
        text = as_text(self._workspace.read(path), path)
        offset, limit = (_whole(arguments.get(key)) for key in ("offset", "limit"))
        shown, _ = self._named_path("read_file", arguments)
        return ToolOutcome(page(text, offset, limit, PAGE_CHARACTERS), shown)

    def _search_files(self, arguments: Json) -> ToolOutcome:
        texts = {
            path: data.decode("utf-8-sig", errors="replace")
            for path, data in self._workspace.snapshot().items()
        }
        return ToolOutcome(search(texts, arguments["pattern"]))

    def _write_file(self, arguments: Json) -> ToolOutcome:
        return self._written(arguments, arguments["content"], "wrote")

    def _edit_file(self, arguments: Json) -> ToolOutcome:
        path, old, new = arguments["path"], arguments["old"], arguments["new"]
        text = as_text(self._workspace.read(path), path)
        if not old:
            raise Refused("'old' is empty. Give the passage that is to be replaced")
        at = text.find(old)
        if at < 0:
            raise Refused(
                "'old' does not occur in the file. Copy it exactly, as read_file shows it"
            )
        if text.find(old, at + 1) >= 0:
            raise Refused("'old' occurs more than once. Give more of the text around it")
        return self._written(arguments, text[:at] + new + text[at + len(old) :], "edited")

    def _submit_ranking(self, arguments: Json) -> ToolOutcome:
        data = msgspec.json.format(msgspec.json.encode(arguments), indent=2) + b"\n"
        path = self._task.ranking.path
        wrote = self._workspace.write(path, data)
        return ToolOutcome("The ranking was submitted.", path, wrote, terminal=True)

    def _written(self, arguments: Json, content: str, verb: str) -> ToolOutcome:
        try:
            data = content.encode()
        except UnicodeEncodeError:
            raise Refused(
                "the content holds half a character (a surrogate). Write it whole"
            ) from None
        wrote = self._workspace.write(arguments["path"], data)
        path, _ = self._named_path("write_file", arguments)
        return ToolOutcome(f"{verb} {path} ({len(data)} bytes)", path, wrote)


def _failed(message: str, path: str | None = None) -> ToolOutcome:
    return ToolOutcome(f"Error: {message}.", path, error=message)


def _escape(name: str, arguments: Json) -> Finding:
    excerpt = arguments["path"].encode(errors="replace").decode()
    return finding("trial.path_escape", channel="arguments", excerpt=excerpt, detail={"tool": name})


def _whole(value: float | None) -> int | None:
    return None if value is None else int(value)
