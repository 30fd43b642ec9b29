"""Makes a task out of a user's own files."""

from __future__ import annotations

import json
import re
import shutil
import tempfile
import unicodedata
from collections.abc import Iterator, Sequence
from pathlib import Path

from evalstab.errors import Mistake, TaskError
from evalstab.task.brief_texts import GERMAN, texts_for
from evalstab.task.check import mistakes_in
from evalstab.task.folder import MAX_FILE_BYTES
from evalstab.task.model import MOST_CANDIDATES, Candidate, RankingFormat, ToolMode

_PATHS: dict[RankingFormat, str] = {
    "json": "ranking.json",
    "markdown-table": "ranking.md",
    "numbered-list": "ranking.md",
}
_PROMPTS = {
    "en": "Read everything there is about the candidates. Then rank all of them, best first.\n",
    "de": (
        "Lies alles, was es zu den Kandidaten gibt. Bringe dann alle in eine Rangfolge, der beste "
        "zuerst.\n"
    ),
}
_UMLAUTS = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "Ä": "Ae", "Ö": "Oe", "Ü": "Ue"})

_HEAD = """\
# A ranking task for evalstab. What each key means: docs/task-format.md
# Check it after every change with: evalstab task check {folder}
schema_version = 1
name = {name}
language = {language}          # the language that the answers must be in
# allow_scripts = ["Greek"]    # scripts that may occur beside those of the language
tools = {tools}                # "free", "typed" (submit_ranking), "none" (one turn, files inline)
prompt = "prompt.md"           # what is asked; candidates and form of the answer are added to it
{inputs}

# The range of the totals. Remove it if the answer shall be an order without points, or list
# [[criteria]] with id, title, min and max instead: the total is then their sum.
points = {{ min = 0, max = 100 }}
"""
_INPUTS = 'inputs = "inputs"              # what the agent may read'
_NO_INPUTS = '# inputs = "inputs"            # a folder with files that the agent may read'
_TAIL = """
[[deliverables]]
path = {path}
kind = "ranking"
format = {format}              # "json", "markdown-table" or "numbered-list"

[limits]
max_steps = 60
max_seconds = 14400
"""


def new_task(
    folder: Path,
    *,
    candidates_from: Path | Sequence[str],
    prompt: str | None = None,
    ranking: RankingFormat = "json",
    language: str = "en",
    tools: ToolMode = "free",
) -> Path:
    """Make a task and return its folder.

    ``candidates_from`` is a folder (every file in it is a candidate, and is copied), a text file
    with one name a line, or the names themselves. ``prompt`` is the text of the question; a plain
    one is written where there is none. The result has no mistakes. Raises TaskError where the
    sources cannot make a task, and where ``folder`` already holds something: nothing is ever
    overwritten.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise _error(folder, "something is there already", "Name a new or empty folder")
    candidates = _candidates(sources := _sources(candidates_from))
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".new-task-") as place:
        draft = Path(place, "task")
        draft.mkdir()
        _copy(candidates, sources, draft / "inputs")
        (draft / "prompt.md").write_bytes(_prompt(prompt, language))
        toml = _HEAD.format(
            folder=folder,
            name=_quoted(_slug(folder.resolve().name) or "task"),
            language=_quoted(language),
            tools=_quoted(tools),
            inputs=_INPUTS if (draft / "inputs").exists() else _NO_INPUTS,
        )
        toml += "".join(map(_candidate_toml, candidates))
        toml += _TAIL.format(path=_quoted(_PATHS[ranking]), format=_quoted(ranking))
        (draft / "task.toml").write_text(toml, encoding="utf-8")
        if mistakes := mistakes_in(draft):
            raise TaskError(mistakes)
        draft.rename(folder)
    return folder


def _copy(
    candidates: Sequence[Candidate], sources: Sequence[tuple[str, Path | None]], inputs: Path
) -> None:
    for candidate, (_, source) in zip(candidates, sources, strict=True):
        if source is not None and candidate.file is not None:
            inputs.mkdir(exist_ok=True)
            shutil.copyfile(source, inputs / candidate.file)


def _sources(candidates_from: Path | Sequence[str]) -> list[tuple[str, Path | None]]:
    if not isinstance(candidates_from, Path):
        return [(name.strip(), None) for name in candidates_from if name.strip()]
    if candidates_from.is_dir():
        files = sorted(_visible_files(candidates_from))
        if not 2 <= len(files) <= MOST_CANDIDATES:
            problem = f"{len(files)} files are there, 2 to {MOST_CANDIDATES} can be candidates"
            raise _error(candidates_from, problem, "Put one file for each candidate there")
        return [(path.stem, path) for path in files]
    try:
        if candidates_from.stat().st_size > MAX_FILE_BYTES:
            raise _error(candidates_from, "this is too large", "Write one name a line")
        lines = candidates_from.read_text(encoding="utf-8-sig").splitlines()
    except FileNotFoundError:
        raise _error(candidates_from, "there is no such file or folder", "Name another") from None
    except (OSError, UnicodeDecodeError) as error:
        raise _error(candidates_from, f"cannot be read: {error}", "Write one name a line") from None
    return [(line.strip(), None) for line in lines if line.strip()]


def _visible_files(folder: Path) -> Iterator[Path]:
    for path in folder.iterdir():
        if path.name.startswith("."):
            continue
        if path.is_symlink() or not path.is_file():
            problem = "only plain files can be candidates"
            raise _error(path, problem, "Copy the candidates' files into one folder")
        yield path


def _candidates(sources: Sequence[tuple[str, Path | None]]) -> list[Candidate]:
    candidates: list[Candidate] = []
    taken: set[str] = set()
    for number, (name, source) in enumerate(sources, start=1):
        base = _slug(name) or f"candidate_{number}"
        identifier, again = base, 2
        while identifier.casefold() in taken:
            identifier, again = f"{base}_{again}", again + 1
        taken.add(identifier.casefold())
        file = f"{identifier}{_slug_suffix(source)}" if source else None
        shown = None if name == identifier else " ".join(name.replace("`", "'").split())[:200]
        try:
            candidates.append(Candidate(id=identifier, name=shown, file=file))
        except ValueError:
            raise _error(
                source or Path("candidates"), f"{name[:80]!r} is no usable name", "Rename it"
            ) from None
    return candidates


def _slug(name: str) -> str:
    ascii_name = unicodedata.normalize("NFKD", name.translate(_UMLAUTS)).encode("ascii", "ignore")
    return re.sub(r"[^A-Za-z0-9_.-]+", "_", ascii_name.decode()).strip("_.-")[:70]


def _slug_suffix(source: Path | None) -> str:
    suffix = source.suffix if source else ""
    return suffix if re.fullmatch(r"\.[A-Za-z0-9]{1,10}", suffix) else ".txt"


def _candidate_toml(candidate: Candidate) -> str:
    name = f"name = {_quoted(candidate.name)}\n" if candidate.name else ""
    file = f"file = {_quoted(candidate.file)}\n" if candidate.file else ""
    return f"\n[[candidates]]\nid = {_quoted(candidate.id)}\n{name}{file}"


def _prompt(prompt: str | None, language: str) -> bytes:
    default = _PROMPTS["de" if texts_for(language) is GERMAN else "en"]
    return (default if prompt is None else prompt).encode(errors="replace")


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _error(path: Path, problem: str, mend: str) -> TaskError:
    return TaskError([Mistake(str(path), "", problem, mend)])
