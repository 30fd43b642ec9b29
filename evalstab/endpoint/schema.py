"""Whether arguments fit the schema of the tool that they call.

A sound subset of JSON Schema: what is reported is a violation; keywords that are not known here
(``pattern`` among them: patterns of strangers are not run) and nesting beyond MAX_DEPTH allow
everything.
"""

from __future__ import annotations

import math
from typing import Any

MAX_DEPTH = 16
MAX_ITEMS = 10_000

_TYPES: dict[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "boolean": (bool,),
    "null": (type(None),),
    "number": (int, float),
    "integer": (int, float),
}


def violation(value: Any, schema: Any, path: str = "", depth: int = 0) -> str | None:
    """The first violation in plain words with the place of it, ``None`` where there is none."""
    if not isinstance(schema, dict) or depth > MAX_DEPTH:
        return None
    problem = _type(value, schema) or _choice(value, schema) or _size(value, schema)
    if problem:
        return f"{path or 'arguments'}: {problem}"
    if isinstance(value, dict):
        problem = _object(value, schema, path, depth)
    elif isinstance(value, list):
        problem = _items(value, schema, path, depth)
    return problem or _combined(value, schema, path, depth)


def _type(value: Any, schema: dict[str, Any]) -> str | None:
    wanted = schema.get("type")
    names = [wanted] if isinstance(wanted, str) else wanted
    if not isinstance(names, list) or not all(isinstance(n, str) and n in _TYPES for n in names):
        return None
    if schema.get("nullable") is True and value is None:
        return None
    if any(_is(value, name) for name in names):
        return None
    return f"is no {' or '.join(names)}"


def _is(value: Any, name: str) -> bool:
    if isinstance(value, bool):
        return name == "boolean"
    if name == "integer" and isinstance(value, float):
        return math.isfinite(value) and value.is_integer()
    return isinstance(value, _TYPES[name])


def _choice(value: Any, schema: dict[str, Any]) -> str | None:
    allowed = schema.get("enum")
    if isinstance(allowed, list) and not any(_equal(value, a) for a in allowed):
        return "is none of the allowed values"
    if "const" in schema and not _equal(value, schema["const"]):
        return "is not the one allowed value"
    return None


def _equal(a: Any, b: Any) -> bool:
    return bool(a == b) and isinstance(a, bool) == isinstance(b, bool)


def _size(value: Any, schema: dict[str, Any]) -> str | None:
    if isinstance(value, (str, list)):
        kind = "Length" if isinstance(value, str) else "Items"
        size: float = len(value)
        low, high = schema.get("min" + kind), schema.get("max" + kind)
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        size, low, high = value, schema.get("minimum"), schema.get("maximum")
    else:
        return None
    if isinstance(low, (int, float)) and size < low:
        return f"is below the minimum of {low}"
    if isinstance(high, (int, float)) and size > high:
        return f"is above the maximum of {high}"
    return None


def _object(value: dict[str, Any], schema: dict[str, Any], path: str, depth: int) -> str | None:
    required = schema.get("required")
    for name in required if isinstance(required, list) else ():
        if isinstance(name, str) and name not in value:
            return f"{_join(path, name)}: is missing"
    properties = schema.get("properties")
    properties = properties if isinstance(properties, dict) else {}
    extra = schema.get("additionalProperties", True)
    if schema.get("patternProperties"):
        extra = True
    for name, item in value.items():
        if name in properties:
            problem = violation(item, properties[name], _join(path, name), depth + 1)
        elif extra is False:
            problem = f"{_join(path, name)}: is not known"
        else:
            problem = violation(item, extra, _join(path, name), depth + 1)
        if problem:
            return problem
    return None


def _items(value: list[Any], schema: dict[str, Any], path: str, depth: int) -> str | None:
    rule = schema.get("items")
    if not isinstance(rule, dict) or "prefixItems" in schema:
        return None
    for number, item in enumerate(value[:MAX_ITEMS]):
        problem = violation(item, rule, f"{path}[{number}]", depth + 1)
        if problem:
            return problem
    return None


def _combined(value: Any, schema: dict[str, Any], path: str, depth: int) -> str | None:
    for rule in _list(schema, "allOf"):
        problem = violation(value, rule, path, depth + 1)
        if problem:
            return problem
    for key in ("anyOf", "oneOf"):
        rules = _list(schema, key)
        if rules and all(violation(value, rule, path, depth + 1) for rule in rules):
            return f"{path or 'arguments'}: fits none of the alternatives"
    return None


def _list(schema: dict[str, Any], key: str) -> list[Any]:
    found = schema.get(key)
    return found if isinstance(found, list) else []


def _join(path: str, name: str) -> str:
    return f"{path}.{name[:80]}" if path else name[:80]
