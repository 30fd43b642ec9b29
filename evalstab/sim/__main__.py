"""``python -m evalstab.sim``: a simulated server of one persona."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from pydantic import ValidationError

from evalstab.errors import ConfigError, EvalstabError
from evalstab.sim.dialect import dialect, dialects
from evalstab.sim.faults.striking import check
from evalstab.sim.persona import load
from evalstab.sim.serve import serve
from evalstab.sim.world import Settings
from evalstab.task.model import Truth


def main(arguments: Sequence[str] | None = None) -> int:
    """Parse, serve until stopped, return the exit code."""
    asked = _parser().parse_args(arguments)
    try:
        serve(settings_from(asked), asked.port, with_parent=asked.with_parent)
    except EvalstabError as error:
        sys.stderr.write(f"{error}\n")
        return error.exit_code
    except (OSError, OverflowError) as error:
        sys.stderr.write(f"cannot serve on port {asked.port}: {error}\n")
        return 4
    return 0


def settings_from(asked: argparse.Namespace) -> Settings:
    """The settings that the options ask for; raises ConfigError for impossible ones."""
    persona = load(asked.persona)
    check(persona)
    if asked.time_scale <= 0 or (asked.rate is not None and asked.rate <= 0):
        raise ConfigError("--time-scale and --rate must be above 0")
    truth = asked.truth
    if truth is not None and (truth.is_dir() or truth.suffix != ".json"):
        truth = truth / "truth.json"
    return Settings(
        persona=persona,
        dialect=dialect(asked.dialect),
        seed=persona.default_seed if asked.seed is None else asked.seed,
        truth=truth,
        task_truth=_task_truth(asked.task_truth),
        time_scale=asked.time_scale,
        rate=asked.rate,
        first=asked.first,
        stamps=asked.stamps,
        context=asked.context,
        model=asked.model,
        api_key=os.environ.get(asked.api_key_env) if asked.api_key_env else None,
    )


def _task_truth(path: Path | None) -> Truth | None:
    if path is None:
        return None
    try:
        return Truth.model_validate_json(path.read_bytes())
    except (OSError, ValidationError) as error:
        raise ConfigError(f"{path}: {error}") from error


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("evalstab.sim", description=__doc__)
    add = parser.add_argument
    add("--persona", default="drifting", help="a persona that comes with evalstab, or a .toml file")
    add("--dialect", default="vllm", choices=sorted(dialects()), help="which server it seems to be")
    add("--seed", type=int, help="default: the persona's own")
    add("--port", type=int, default=0, help="default: any free port")
    add("--truth", type=Path, help="file (.json) or folder for what really happened")
    add("--task-truth", type=Path, help="the task's known truth, for personas that go by it")
    add("--time-scale", type=float, default=1.0, help="simulated seconds in one real second")
    add("--rate", type=float, help="constant tokens per real second in place of the persona's pace")
    add("--first", type=float, default=0.0, help="with --rate: seconds before the first token")
    add("--stamps", action="store_true", help="truth holds the time of each send")
    add("--context", type=int, default=262_144, help="context size in tokens")
    add("--model", default="", help="model id, default sim-PERSONA")
    add("--api-key-env", help="environment variable with the key that requests must carry")
    add("--with-parent", action="store_true", help="stop when standard input closes")
    return parser


if __name__ == "__main__":
    sys.exit(main())
