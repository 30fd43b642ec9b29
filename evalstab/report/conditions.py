"""What ran, with which settings, and how to do it again."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from evalstab.chat import Json
from evalstab.redact import MARK
from evalstab.report import imported, labels, numbers
from evalstab.report.facts import Facts, block, number
from evalstab.report.page import Block, Command, Paragraph, Section, Table
from evalstab.series.folder import SeriesFile, SeriesFolder
from evalstab.series.ladder import CONTROL, LadderFile, ladder_above
from evalstab.settings import SIMULATED, assignment

NOT_SET = "not set"
NOT_CAPTURED = "not captured"
SAMPLING = ("temperature", "top_p", "frequency_penalty", "presence_penalty", "max_tokens", "seed")
EXTRA = ("top_k", "min_p", "repetition_penalty")


def what_ran(folder: SeriesFolder, facts: Facts) -> Section:
    """The table of conditions on the first screen."""
    file = folder.file
    conditions = file.conditions
    rows = [
        ("task", _task(file, facts)),
        ("model", _stated(facts.series.get("model"), conditions.get("model"))),
        ("quantisation", _stated(conditions.get("quant"))),
        ("endpoint", _endpoint(file, facts)),
        ("engine", _engine(file)),
        ("active context", _context(facts)),
        ("sampling", _sampling(file)),
        ("trials", _protocol(file, facts)),
        ("launch", _launch(folder, facts)),
        ("hardware", _hardware(folder)),
        ("started", labels.name(file.created)),
    ]
    return Section("What ran", (_pairs("condition", rows),), brief=True)


def settings(folder: SeriesFolder) -> Section:
    """Every resolved setting, one a line; a value that is not set is said to be so."""
    rows = [(key, _value(value)) for key, value in _flat(folder.file.settings)]
    blocks: list[Block] = [_pairs("setting", rows)] if rows else []
    note = 'A value that is "not set" was not sent: the server used its own.'
    return Section("Settings", (Paragraph(note), *blocks))


def again(folder: SeriesFolder, named: str) -> Section:
    """The exact commands, and the versions that made these numbers."""
    begun = msgspec.structs.replace(folder.file, repeats=folder.planned)
    ladder = ladder_above(folder.root)
    lines = (run_command(begun, ladder), f"evalstab score {named}", f"evalstab report {named}")
    versions = [(key, _value(value)) for key, value in _flat(folder.file.versions)]
    work = [(key, _value(value)) for key, value in _flat(folder.file.work)]
    return Section(
        "How to reproduce",
        (
            Paragraph(
                f"{_first_line(begun, ladder)} under the settings above; the others "
                "compute measures and report again from the records, without the endpoint."
            ),
            Command(lines),
            Paragraph("Two series can be compared where the following is equal."),
            _pairs("work", work),
            _pairs("version of", versions),
        ),
    )


def _first_line(file: SeriesFile, ladder: LadderFile | None) -> str:
    """What the command asks: sizes above the control's are asked together with it."""
    if ladder is not None:
        return "This series is a rung of a ladder. The first line asks the whole ladder again"
    if max(_sizes(file.conditions.get("context")), default=0) > CONTROL:
        return "The first line asks the same task again, with a control rung before it,"
    return "The first line asks the same task again"


def _sizes(value: object) -> list[float]:
    found = value if isinstance(value, list) else [value]
    return [size for size in found if isinstance(size, int | float)]


def run_command(file: SeriesFile, ladder: LadderFile | None = None) -> str:
    """The command line that starts a series like this one, or the ``ladder`` that it belongs to."""
    if (how := imported.imported(file)) is not None:
        words = ["evalstab", "import", str(how.get("source")), "STORE", "--out", "FOLDER"]
        if file.task.get("digest"):
            words += ["--task", str(file.task.get("name"))]
        return " ".join(shlex.quote(labels.visible(word)) for word in words)
    whole = ladder.request if ladder is not None else {}
    words = ["evalstab", "run", str(whole.get("task") or file.task.get("name") or "TASK")]
    endpoint = str(file.endpoint.get("name") or "")
    configured = file.endpoint.get("configured", True)
    if endpoint.startswith(SIMULATED) or (endpoint and configured):
        words += ["--endpoint", endpoint]
    else:
        base, model = file.endpoint.get("base_url"), file.endpoint.get("model")
        words += ["--base-url", str(base or "URL"), "--model", str(model or "ID")]
    for said in given(file):
        words += ["--set", said]
    words += ["--repeats", str(file.repeats), "--seed", str(file.seed)]
    conditions = file.conditions | {
        key: whole[name]
        for key, name in (("context", "contexts"), ("concurrency", "levels"))
        if whole.get(name)
    }
    for key, usual in (("context", None), ("concurrency", 1), ("cache", "warm"), ("groups", 1)):
        value = conditions.get(key)
        if value not in (None, usual, [], [usual]):
            text = ",".join(map(str, value)) if isinstance(value, list) else str(value)
            words += [f"--{key}", text]
    if conditions.get("shuffle"):
        words.append("--shuffle")
    if agent := conditions.get("agent"):
        words += ["--agent", str(agent)]
    if file.gate and file.gate.get("name"):
        words += ["--gate", str(file.gate["name"])]
    return " ".join(shlex.quote(labels.visible(word)) for word in words)


def given(file: SeriesFile) -> list[str]:
    """What the command line said of task and endpoint beyond evalstab.toml, as ``--set`` takes it.

    Where a simulated endpoint listened, and the model's name, are said otherwise; secrets are not.
    """
    pairs = list(_flat(file.task.get("overrides") or {}))
    if (configured := file.endpoint.get("configured")) is not None:
        known = dict(_flat(configured))
        other = {"base_url", "model"}
        if file.endpoint.get("simulated"):
            other.add("trial_header")
        pairs += [(k, v) for k, v in _flat(file.settings) if k not in other and known.get(k) != v]
    said = [assignment(key, value) for key, value in pairs if value is not None]
    return [text for text in said if MARK not in text]


def _task(file: SeriesFile, facts: Facts) -> str:
    name = labels.name(file.task.get("name") or facts.series.get("task") or numbers.UNKNOWN)
    parts = [name]
    if facts.candidates:
        parts.append(numbers.plural(len(facts.candidates), "candidate"))
    if language := file.task.get("language"):
        parts.append(f"language {labels.name(language)}")
    if digest := file.work.get("task_digest") or file.task.get("digest"):
        parts.append(f"digest {_digest(digest)}")
    return ", ".join(parts)


def _endpoint(file: SeriesFile, facts: Facts) -> str:
    name = _stated(file.endpoint.get("name"), facts.series.get("endpoint"))
    if facts.series.get("simulated"):
        return f"{name}, simulated: no model was judged"
    if (how := imported.imported(file)) is not None:
        return f"imported from {imported.by_what(how)}"
    base = file.endpoint.get("base_url") or file.settings.get("base_url")
    where = f"{name}, {labels.name(base, 80)}" if base and str(base) != name else name
    return f"{where}, simulated: no model was judged" if file.endpoint.get("simulator") else where


def _engine(file: SeriesFile) -> str:
    known = _stated(file.conditions.get("engine"))
    return f"{known}, simulated" if file.endpoint.get("simulator") else known


def _context(facts: Facts) -> str:
    target = number(facts.series, "context_target")
    aim = f"target {numbers.tokens(target)}" if target is not None else "the task's natural size"
    if facts.context is None:
        return f"{numbers.UNKNOWN} ({aim})"
    by = f"counted by: {facts.context_source}" if facts.context_source else "source not stated"
    return f"median {numbers.tokens(facts.context)} ({aim}; {by})"


def _sampling(file: SeriesFile) -> str:
    settings = file.settings
    if imported.imported(file) is not None or file.conditions.get("agent"):
        return "as the agent sent it; this tool sets none"
    sampling, extra = block(settings, "sampling"), block(settings, "extra_body")
    known = [(key, sampling.get(key)) for key in SAMPLING]
    known += [(key, extra.get(key)) for key in EXTRA]
    parts = [f"{key} {_value(value)}" for key, value in known if value is not None]
    if missing := [key for key, value in known if value is None]:
        parts.append(f"{NOT_SET}: {', '.join(missing)}")
    return "; ".join(parts)


def _protocol(file: SeriesFile, facts: Facts) -> str:
    conditions = file.conditions
    concurrency = conditions.get("concurrency")
    parts = [f"{numbers.count(facts.planned)} planned, {numbers.count(len(facts.valid))} valid"]
    if concurrency not in (None, 1):
        parts.append(f"{_value(concurrency)} at a time")
    else:
        parts.append("one at a time")
    if cache := conditions.get("cache"):
        parts.append(f"{_value(cache)} cache")
    if conditions.get("shuffle"):
        parts.append("input order shuffled")
    if (groups := conditions.get("groups")) not in (None, 1):
        parts.append(f"{_value(groups)} groups")
    return ", ".join(parts)


def _launch(folder: SeriesFolder, facts: Facts) -> str:
    """How the server was started, in a line: fingerprint and way of knowing, or why not."""
    path = folder.root / "launch.json"
    try:
        launch: Json = msgspec.json.decode(path.read_bytes(), type=dict)
    except (OSError, msgspec.MsgspecError, RecursionError):
        return NOT_CAPTURED
    if facts.series.get("simulated"):
        return f"{NOT_CAPTURED}: a simulated endpoint"
    if not launch.get("captured"):
        reason = labels.sentence(launch.get("reason") or "reason not stated")
        return reason if NOT_CAPTURED in reason else f"{NOT_CAPTURED}: {reason}"
    parts = [f"fingerprint {labels.name(launch.get('fingerprint'))}"]
    parts.append(f"from {labels.name(launch.get('method'))}, see {path.name}")
    if count := len(launch.get("contradictions") or ()):
        parts.append(f"{numbers.plural(count, 'contradiction')} between sources")
    return "; ".join(parts)


def _hardware(folder: SeriesFolder) -> str:
    known = folder.file.conditions.get("hardware")
    watched = (folder.root / "hardware.jsonl").is_file()
    if known in (None, "unknown") and not watched:
        return NOT_CAPTURED
    told = labels.sentence(known) if known not in (None, "unknown") else "cards not named"
    return f"{told}; watched, see hardware.jsonl" if watched else f"{told}; not watched"


def _stated(*values: object) -> str:
    known = (value for value in values if value and value != "unknown")
    return next((labels.name(value, 80) for value in known), "not stated")


def _digest(value: object) -> str:
    text = labels.visible(value)
    head, colon, tail = text.partition(":")
    return f"{head}:{tail[:12]}" if colon else head[:12]


def _pairs(title: str, rows: list[tuple[str, str]]) -> Table:
    return Table((title, "value"), tuple(rows), ("left", "left"))


def _flat(values: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in values.items():
        path = prefix + labels.name(key, 60)
        if isinstance(value, Mapping) and value and prefix.count(".") < 4:
            yield from _flat(value, f"{path}.")
        else:
            yield path, value


def _value(value: object) -> str:
    if value is None:
        return NOT_SET
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list | tuple):
        return ", ".join(_value(item) for item in value) or "none"
    return labels.sentence(value) or "empty" if value != {} else "none"
