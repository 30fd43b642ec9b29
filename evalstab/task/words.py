"""Turns what pydantic finds wrong with ``task.toml`` into words for people."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from evalstab.errors import Mistake, nearest
from evalstab.task import model

Location = tuple[int | str, ...]

_PARTS: dict[str, type[BaseModel]] = {
    "candidates": model.Candidate,
    "criteria": model.Criterion,
    "deliverables": model.Deliverable,
    "limits": model.Limits,
    "points": model.Points,
}


def mistakes_of(error: ValidationError, file: str, top: type[BaseModel]) -> list[Mistake]:
    """Each thing that pydantic refused, with the key as it stands in the file and the mend."""
    details = error.errors(include_url=False)
    return [_mistake(one, file, top) for one in details if not _follows(one, details)]


def _follows(detail: ErrorDetails, all_of_them: list[ErrorDetails]) -> bool:
    """Whether a list only seems too short since its entries are wrong themselves."""
    place = detail["loc"]
    return detail["type"] == "too_short" and any(
        len(other["loc"]) > len(place) and other["loc"][: len(place)] == place
        for other in all_of_them
    )


def key_of(location: Location) -> str:
    """A key in people's counting: ``candidates[3].file`` is that of the third candidate."""
    key = ""
    for part in location:
        if isinstance(part, int):
            key += f"[{part + 1}]"
        else:
            key += f".{part}" if key else part
    return key


def _mistake(detail: ErrorDetails, file: str, top: type[BaseModel]) -> Mistake:
    location, kind = detail["loc"], detail["type"]
    key = key_of(location)
    if kind == "extra_forbidden":
        part = _PARTS.get(str(location[0]), top) if len(location) > 1 else top
        return Mistake(file, key, "unknown key", nearest(str(location[-1]), part.model_fields))
    explain = _EXPLANATIONS.get(kind)
    if explain is None:
        return Mistake(file, key, detail["msg"].lower(), "Correct the value")
    problem, mend = explain(detail.get("ctx", {}), detail["input"])
    return Mistake(file, key, problem, mend)


Explanation = Callable[[dict[str, Any], Any], tuple[str, str]]


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "…"


def _wrong_type(wanted: str) -> Explanation:
    return lambda _, value: (f"{_shown(value)} is no {wanted}", f"Write a {wanted}")


_EXPLANATIONS: dict[str, Explanation] = {
    "missing": lambda _c, _v: ("this key is missing", "Add it"),
    "literal_error": lambda c, v: (f"{_shown(v)} is not allowed", f"Allowed: {c['expected']}"),
    "string_pattern_mismatch": lambda _, v: (
        f"{_shown(v)} holds characters that are not allowed here",
        "Identifiers are letters, digits, '_', '-' and '.', starting with a letter or digit; "
        "other texts are one line without backticks or spaces at the ends",
    ),
    "string_too_short": lambda _c, _v: ("the text is empty", "Fill it in"),
    "string_too_long": lambda c, _: (
        f"the text is longer than {c['max_length']} characters",
        "Shorten it",
    ),
    "too_short": lambda c, _: (
        f"at least {c['min_length']} needed, {c['actual_length']} given",
        "Add the missing ones",
    ),
    "too_long": lambda c, _: (f"at most {c['max_length']} are allowed", "Remove some"),
    "greater_than": lambda c, v: (f"{_shown(v)} is too small", f"More than {c['gt']}"),
    "greater_than_equal": lambda c, v: (f"{_shown(v)} is too small", f"At least {c['ge']}"),
    "less_than_equal": lambda c, v: (f"{_shown(v)} is too large", f"At most {c['le']}"),
    "finite_number": lambda _, v: (f"{_shown(v)} is no finite number", "Write a number"),
    "string_type": _wrong_type("text in quotes"),
    "int_type": _wrong_type("whole number"),
    "int_parsing": _wrong_type("whole number"),
    "int_from_float": _wrong_type("whole number"),
    "float_type": _wrong_type("number"),
    "float_parsing": _wrong_type("number"),
    "tuple_type": _wrong_type("list in [ ]"),
    "model_type": _wrong_type("table of keys"),
    "dict_type": _wrong_type("table of keys"),
}
