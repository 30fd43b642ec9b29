"""A model file's identity without reading all of it: size, and a hash of its first megabyte."""

from __future__ import annotations

import hashlib
from pathlib import Path

from evalstab.launch.model import Fact, Json

HEAD = 1 << 20


def model_file(path: str, placement: Json) -> dict[str, Fact]:
    """Facts about the model's file on this machine; none where it is no readable file here."""
    if not path.startswith("/") or placement.get("container"):
        return {}
    try:
        with Path(path).open("rb") as file:
            head = hashlib.sha256(file.read(HEAD)).hexdigest()
            size = file.seek(0, 2)
    except OSError:
        return {}
    source = "the model's file"
    return {
        "model_bytes": Fact(value=size, rank="effective", source=source),
        "model_head_sha256": Fact(value=head, rank="effective", source=source),
    }
