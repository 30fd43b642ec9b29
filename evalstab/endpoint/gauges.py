"""Gauges and information labels of a Prometheus page: what is so at this moment."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping

_LINE = re.compile(r"^([a-zA-Z_:][\w:]{0,200})(?:\{([^}\n]{0,2000})\})?[ \t]+(\S{1,40})", re.M)
_LABEL = re.compile(r'(\w{1,100})="([^"\n]{0,200})"')
_RANK = re.compile(r'(?:tp|pp|moe_ep)_rank="[1-9]')


def read_gauges(text: str, names: Mapping[str, tuple[str, ...]]) -> dict[str, float]:
    """Gauges under our names, added up over engines; copies of further ranks are left out."""
    theirs = {name: ours for ours, known in names.items() for name in known}
    found: dict[str, float] = {}
    for line in _LINE.finditer(text):
        ours = theirs.get(line[1])
        if ours is None or _RANK.search(line[2] or ""):
            continue
        try:
            value = float(line[3])
        except ValueError:
            continue
        if math.isfinite(value):
            found[ours] = found.get(ours, 0.0) + value
    return found


def labels_of(text: str, name: str) -> dict[str, str]:
    """The labels of the first line of this name; empty where there is none."""
    for line in _LINE.finditer(text):
        if line[1] == name:
            return dict(_LABEL.findall(line[2] or ""))
    return {}
