"""A series without any text of its task or of a model, candidates under pseudonyms.

Only what is named here goes out: numbers, codes, states, and the model's own name. Everything else
that is text (prompts, answers, excerpts, reasons, paths, addresses, names of candidates, tasks,
files, endpoints and folders) stays at home, also where a later version adds a key.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import msgspec

from evalstab.chat import Json
from evalstab.errors import FolderError
from evalstab.findings import CODES
from evalstab.measures.ladder import ladder_result
from evalstab.redact import config_folder
from evalstab.report.facts import block, facts_of
from evalstab.report.page import Block, Report, Table
from evalstab.report.share_gate import shared_gate, shared_rules
from evalstab.series.files import make_folder, write_whole
from evalstab.series.folder import SeriesFile, SeriesFolder, open_series
from evalstab.series.ladder import LadderFile, Rung, ladder_above

KEY_FILE = "share.key"
NAME = "shared-series"
LADDER_NAME = "shared-ladder"
_WORDS: dict[str, frozenset[str]] = {
    "outcome": frozenset({"completed", "failed", "aborted", "invalid"}),
    "status": frozenset({"pass", "fail", "undecided", "invalid", "none"}),
    "kind": frozenset({"metric", "count", "rate", "value"}),
    "side": frozenset({"model", "endpoint", "rig", "harness"}),
    "channel": frozenset({"reasoning", "content", "arguments", "file", "transport", "series"}),
    "tokens_source": frozenset({"server", "tokenizer", "estimate"}),
    "code": frozenset(CODES),
    "source": frozenset({"client clock", "server timings", "server /metrics"}),
}
"""Texts that may go out, by their key: members of our own vocabularies."""
_NAMED = frozenset({"totals", "candidates", "counts"})
"""Blocks whose keys are candidates."""
_MODEL_NAME = re.compile(r"[\w.:@+~/\\ -]{1,200}", re.ASCII)
_RUNG = re.compile(r"(?=.)(?:natural|\d{1,8}(?:\.\d{1,3})?k?)?(?:(?:^|-)c\d{1,4})?")
_TAG = re.compile(r"[a-z]{2,3}(?:-[A-Z][a-z]{3})?(?:-[A-Z]{2})?")
_VERSION = re.compile(r"\d+(?:\.(?:\d+|dev\d+)){0,4}(?:(?:a|b|rc)\d+)?")
_OURS = re.compile("[a-z][a-z0-9_]*")
_HELD_BACK = frozenset({"criteria", "excerpt", "detail", "missing", "invalid", "scripts", "kept"})


_TITLES_AT_HOME = frozenset({"Settings", "How to reproduce"})
_ROWS_AT_HOME = frozenset({"endpoint", "launch", "hardware"})


def share_key() -> bytes:
    """This user's secret: the same pseudonyms in every report that is shared, guessed by nobody.

    It is made when it is first needed. FolderError where it cannot be written.
    """
    path = config_folder() / KEY_FILE
    try:
        key = path.read_bytes()
    except OSError:
        key = b""
    if len(key) >= 32:
        return key
    make_folder(path.parent)
    write_whole(path, os.urandom(32).hex())
    return path.read_bytes()


@dataclass(frozen=True, slots=True)
class Pseudonyms:
    """What each name is called outside."""

    names: Mapping[str, str]

    def of(self, name: object) -> str | None:
        """The pseudonym, None for a name that is not known."""
        return self.names.get(str(name))


def pseudonyms(
    names: Iterable[str], work: str, key: bytes, beside: Iterable[str] = ()
) -> Pseudonyms:
    """Letters for candidates, in an order that depends on the secret and the work alone.

    Nothing of a ranking, a file order or an alphabet can be read from the letters. Names that stand
    ``beside`` the task's own take the letters after them.
    """

    def drawn(name: str) -> bytes:
        return hmac.digest(key, f"{work}\0{name}".encode(errors="replace"), hashlib.sha256)

    ordered = [*sorted(set(names), key=drawn), *sorted(set(beside) - set(names), key=drawn)]
    return Pseudonyms({name: f"candidate {_letters(i)}" for i, name in enumerate(ordered)})


def shared(
    folder: SeriesFolder, scores: Json, key: bytes, called: Pseudonyms | None = None
) -> tuple[SeriesFolder, Json]:
    """The series and its scores as they may be shown to others; nothing is written.

    ``called`` are the pseudonyms of a ladder, None for those of the series alone.
    """
    file = folder.file
    called = called or pseudonyms_of([(folder, scores)], key)
    told: Json = {
        part: _clean(scores.get(part), part, called)
        for part in ("schema_version", "trials", "findings", "stability", "speed", "verdict")
    }
    series = block(scores, "series")
    attrition = {c: n for c, n in block(series, "attrition").items() if c in CODES}
    told["series"] = {
        key: value for key, value in _clean(series, "series", called).items() if key != "attrition"
    } | {"attrition": attrition, "model": _model(series.get("model")), "task": "ranking task"}
    told["series"]["endpoint"] = "an endpoint"
    if told["verdict"]:
        verdict = block(scores, "verdict")
        told["verdict"] |= {"gate": shared_gate(verdict), "next": [], "notes": [], "reason": ""}
        rules = zip(told["verdict"].get("rules") or (), shared_rules(verdict), strict=True)
        told["verdict"]["rules"] = [rule | public for rule, public in rules]
    return SeriesFolder(Path(NAME), _file(file)), told


def pseudonyms_of(series: Sequence[tuple[SeriesFolder, Json]], key: bytes) -> Pseudonyms:
    """What the candidates of a series, or of all rungs of a ladder, are called outside.

    The task's own candidates come first, so that what a model invents moves no letter. A rung bears
    the digest of its ladder's control, since a task that is sized has another digest at each size.
    """
    first, _ = series[0]
    listed = {str(who) for one, _ in series for who in one.file.task.get("candidates") or ()}
    named: set[str] = set()
    for _, scores in series:
        named |= set(facts_of(scores).candidates)
        for trial in scores.get("trials") or ():
            named |= set(block(trial, "totals"))
            named |= {str(who) for group in trial.get("ranking") or () for who in group}
    return pseudonyms(listed, _work(first), key, beside=named - listed)


def _work(folder: SeriesFolder) -> str:
    ladder = ladder_above(folder.root)
    control = next((rung.name for rung in ladder.rungs if rung.control), None) if ladder else None
    file = folder.file
    if control is not None and control != folder.root.name:
        try:
            file = open_series(folder.root.absolute().parent / control).file
        except FolderError:
            file = folder.file
    return str(file.work.get("task_digest") or "")


def shared_ladder(file: LadderFile, rungs: Sequence[Rung], told: Sequence[Json]) -> LadderFile:
    """A ladder as it may be shown to others, its result computed from what its rungs show.

    ``told`` are the shared scores of ``rungs``, those of the ladder's that have scores.
    """
    called = {rung.name: _rung_name(rung, number) for number, rung in enumerate(file.rungs, 1)}
    bare = {
        rung.name: msgspec.structs.replace(rung, name=called[rung.name], problem=None)
        for rung in file.rungs
    }
    known = [(bare[rung.name], scores) for rung, scores in zip(rungs, told, strict=True)]
    missing = [bare[name] for name in bare if name not in {rung.name for rung in rungs}]
    return msgspec.structs.replace(
        file,
        id=LADDER_NAME,
        created=file.created[:10],
        task="ranking task",
        endpoint="an endpoint",
        request={},
        rungs=tuple(bare.values()),
        expected={},
        notes=(),
        result=ladder_result(known, missing),
    )


def _rung_name(rung: Rung, number: int) -> str:
    """The name that sizes and levels give to a rung, or its number where it bears another."""
    return rung.name if _RUNG.fullmatch(rung.name) else f"rung {number}"


def trimmed(report: Report) -> Report:
    """The report of a shared series without what only its owner can act on."""
    sections = tuple(
        replace(one, blocks=tuple(map(_public, one.blocks)))
        for one in report.sections
        if one.title not in _TITLES_AT_HOME
    )
    told = tuple(notice for notice in report.notices if "evalstab " not in notice)
    note = "Shared report: texts of task and model are left out, candidates bear pseudonyms."
    return replace(report, notices=(*told, note), sections=sections)


def _public(block: Block) -> Block:
    if not isinstance(block, Table) or block.header != ("condition", "value"):
        return block
    return replace(block, rows=tuple(row for row in block.rows if row[0] not in _ROWS_AT_HOME))


def _clean(value: Any, key: str, called: Pseudonyms) -> Any:
    """Numbers stay, candidates are renamed, words stay where they are ours, all else is null."""
    if isinstance(value, str):
        return value if value in _WORDS.get(key, ()) else called.of(value)
    if isinstance(value, dict):
        pairs = ((inner, one) for inner, one in value.items() if inner not in _HELD_BACK)
        if key in _NAMED:
            known = ((called.of(who), one) for who, one in pairs)
            return {who: _clean(one, "", called) for who, one in known if who is not None}
        if key == "finding_counts":
            return {code: n for code, n in pairs if code in CODES}
        return {
            called.of(inner) or inner: _clean(one, inner, called)
            for inner, one in pairs
            if not inner.endswith("_reason") and (_OURS.fullmatch(inner) or inner in CODES)
        }
    if isinstance(value, list | tuple):
        return [_clean(one, key, called) for one in value]
    return value


def _file(file: SeriesFile) -> SeriesFile:
    conditions = {
        "model": _model(file.conditions.get("model")),
        "quant": _word(file.conditions.get("quant")),
        "engine": _word(file.conditions.get("engine")),
    }
    for name in ("context", "concurrency", "groups", "shuffle"):
        if isinstance(file.conditions.get(name), int | float | bool):
            conditions[name] = file.conditions[name]
    if file.conditions.get("cache") in ("warm", "cold"):
        conditions["cache"] = file.conditions["cache"]
    settings = {part: _figures(file.settings.get(part)) for part in ("sampling", "extra_body")}
    return msgspec.structs.replace(
        file,
        id=NAME,
        created=file.created[:10],
        task={"name": "ranking task", "language": _fitting(_TAG, file.task.get("language"))},
        endpoint={"name": "an endpoint"}
        | {key: bool(file.endpoint.get(key)) for key in ("simulated", "simulator")},
        stopped=None,
        work={},
        conditions=conditions,
        settings=settings,
        gate=None,
        versions={"evalstab": _fitting(_VERSION, file.versions.get("evalstab"))},
    )


def _figures(value: object) -> Json:
    known = {"temperature", "top_p", "top_k", "min_p", "frequency_penalty", "presence_penalty"}
    known |= {"repetition_penalty", "max_tokens", "seed"}
    if not isinstance(value, dict):
        return {}
    told = {k: v for k, v in value.items() if k in known and isinstance(v, int | float)}
    return told | ({"seed": "per-trial"} if value.get("seed") == "per-trial" else {})


def _model(value: object) -> str | None:
    """A model's name without the folders that it lies in; an owner before one slash stays."""
    if not isinstance(value, str) or not _MODEL_NAME.fullmatch(value):
        return None
    path = value.startswith(("/", "~", ".", "\\")) or value.count("/") > 1 or "\\" in value
    return value.replace("\\", "/").rstrip("/").rpartition("/")[2] if path else value


def _fitting(pattern: re.Pattern[str], value: object) -> str | None:
    return value if isinstance(value, str) and pattern.fullmatch(value) else None


def _word(value: object) -> str | None:
    """A short name such as a quantisation or an engine with its version; no path, no address."""
    if not isinstance(value, str) or len(value) > 60 or "/" in value or "\\" in value:
        return None
    return value


def _letters(number: int) -> str:
    letters = ""
    number += 1
    while number:
        number, rest = divmod(number - 1, 26)
        letters = chr(65 + rest) + letters
    return letters
