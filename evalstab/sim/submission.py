"""Fills in the typed tool's parameters: whatever names its schema gives to the ranking's parts."""

from __future__ import annotations

from typing import Any

from evalstab.chat import Json

_MEANINGS = {
    "candidate": ("candidate", "id", "candidate_id", "name"),
    "place": ("place", "rank", "position"),
    "total": ("total", "score", "points", "total_points"),
    "criteria": ("criteria", "scores"),
}


def submission(schema: Json, rows: list[dict[str, Any]]) -> Json:
    """Arguments that fit the schema: each array is filled with the ranking, best first."""
    properties = schema.get("properties")
    filled: Json = {}
    for name, part in (properties if isinstance(properties, dict) else {}).items():
        if isinstance(part, dict) and part.get("type") == "array":
            items = part.get("items")
            filled[name] = [_entry(items if isinstance(items, dict) else {}, row) for row in rows]
    return filled or {"ranking": rows}


def _entry(items: Json, row: dict[str, Any]) -> Any:
    if items.get("type") == "string":
        return row["candidate"]
    properties = items.get("properties")
    if not isinstance(properties, dict):
        return row
    entry: Json = {}
    for name in properties:
        meaning = next((m for m, names in _MEANINGS.items() if name in names), name)
        if meaning in row:
            entry[name] = row[meaning]
        elif name in row.get("criteria", {}):
            entry[name] = row["criteria"][name]
    return entry
