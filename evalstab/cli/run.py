"""``evalstab run``: a series from start to report."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import typer

from evalstab.cli import options as opt
from evalstab.cli.common import say, silent, verb

if TYPE_CHECKING:
    from evalstab.workflow.request import RunRequest

EXAMPLES = """
Examples:

evalstab run eleven-profiles [dim]# simulated endpoint, nothing to set up[/dim]

evalstab run eleven-profiles --base-url http://localhost:8000/v1 --model my-model

evalstab run three-notes --endpoint small --set task.tools=typed --set tool_choice=required
"""

_SETTINGS = {
    "base_url": "base_url",
    "model": "model",
    "api_key_env": "api_key_env",
    "thinking": "thinking",
    "max_tokens": "sampling.max_tokens",
    "retries": "retries",
}
"""Flags that are endpoint settings, by their dotted key."""


@verb
def command(
    ctx: typer.Context,
    task: opt.TaskArgument,
    endpoint: opt.Endpoint = None,
    base_url: opt.BaseUrl = None,
    model: opt.Model = None,
    api_key_env: opt.ApiKeyEnv = None,
    repeats: opt.Repeats = None,
    gate: opt.Gate = None,
    no_early_stop: opt.NoEarlyStop = False,
    against: opt.Against = None,
    agent: opt.Agent = None,
    seed: opt.Seed = None,
    context: opt.Context = None,
    concurrency: opt.Concurrency = "1",
    shuffle: opt.Shuffle = False,
    cache: opt.Cache = "warm",
    groups: opt.Groups = 1,
    thinking: opt.Thinking = None,
    language: opt.Language = None,
    no_stream: opt.NoStream = False,
    settings: opt.Set = None,
    max_steps: opt.MaxSteps = None,
    max_tokens: opt.MaxTokens = None,
    retries: opt.Retries = None,
    idle_timeout: opt.IdleTimeout = None,
    out: opt.Out = None,
    as_json: opt.AsJson = False,
    quiet: opt.Quiet = False,
) -> None:
    """Run a task N times against an endpoint, score how stable it was, and report it."""
    from evalstab.cli.people import people_for, show
    from evalstab.workflow.start import start

    outcome = start(request_of(ctx.params), people_for(silent if quiet else say, quiet=quiet))
    show(outcome, as_json=as_json, quiet=quiet)


def request_of(params: dict[str, Any]) -> RunRequest:
    """The command line's options as one request."""
    from evalstab.workflow.request import (
        RunRequest,
        parse_cache,
        parse_groups,
        parse_levels,
        parse_sizes,
    )

    flags = {key: params[name] for name, key in _SETTINGS.items() if params[name] is not None}
    overrides = {
        key: str(params[name])
        for name, key in (("max_steps", "task.limits.max_steps"), ("language", "task.language"))
        if params[name] is not None
    }
    if params["no_stream"]:
        flags["stream"] = False
    if params["idle_timeout"] is not None:
        flags["timeouts.idle"] = flags["timeouts.first_token"] = params["idle_timeout"]
    _assign(params["settings"] or [], flags, overrides)
    return RunRequest(
        task=params["task"],
        endpoint=params["endpoint"],
        flags=flags,
        task_overrides=overrides,
        repeats=params["repeats"],
        gate=params["gate"],
        early_stop=not params["no_early_stop"],
        against=params["against"],
        agent=params["agent"],
        contexts=parse_sizes(params["context"] or []),
        levels=parse_levels(params["concurrency"]),
        shuffle=params["shuffle"],
        cache=parse_cache(params["cache"]),
        groups=parse_groups(params["groups"]),
        seed=params["seed"],
        out=params["out"],
    )


def _assign(pairs: list[str], flags: dict[str, Any], overrides: dict[str, str]) -> None:
    from evalstab.settings import parse_assignment

    for pair in pairs:
        if pair.startswith("task."):
            key, _, text = pair.partition("=")
            overrides[key.strip()] = text.strip()
        else:
            name, value = parse_assignment(pair)
            flags[name] = value
