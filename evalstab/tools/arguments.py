"""Whether the arguments of a call fit the schema of the tool, in words that a model can use."""

from __future__ import annotations

import json
from functools import lru_cache
from typing import Any

import jsonschema
import msgspec

from evalstab.chat import Json, ToolSpec

_SHOWN = 3
_VALUE_CHARACTERS = 80


def mistakes_in_arguments(tool: ToolSpec, arguments: Json) -> str | None:
    """What is wrong with the arguments and how to mend it, ``None`` where they fit."""
    validator = _validator(msgspec.json.encode(tool.parameters))
    found = []
    for error in validator.iter_errors(arguments):
        found.append(_worded(error))
        if len(found) == _SHOWN:
            break
    return "; ".join(found) or None


@lru_cache(maxsize=64)
def _validator(schema: bytes) -> jsonschema.Draft202012Validator:
    return jsonschema.Draft202012Validator(msgspec.json.decode(schema))


def _worded(error: jsonschema.ValidationError) -> str:
    place = "".join(f"[{p}]" if isinstance(p, int) else f".{p}" for p in error.absolute_path)
    where = f"{place.lstrip('.')}: " if place else ""
    value: Any = error.instance
    wanted: Any = error.validator_value
    schema: Any = error.schema
    match error.validator:
        case "required":
            text = f"missing {', '.join(name for name in wanted if name not in value)}"
        case "additionalProperties":
            text = f"unknown argument; known are: {', '.join(schema['properties']) or 'none'}"
        case "enum":
            text = f"{_shown(value)} is not one of: {', '.join(map(str, wanted))}"
        case "type":
            text = f"{_shown(value)} is no {wanted}"
        case "minItems" | "maxItems":
            text = f"{len(value)} entries given, {wanted} needed"
        case _:
            text = f"{_shown(value)} is not allowed ({error.validator} {wanted})"
    return where + text


def _shown(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= _VALUE_CHARACTERS else text[:_VALUE_CHARACTERS] + "…"
