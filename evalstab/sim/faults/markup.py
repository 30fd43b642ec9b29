"""A call written out as text, in the markup of several model families."""

from __future__ import annotations

import json
from collections.abc import Callable

from evalstab.sim.turn import Call


def _minimax(call: Call) -> str:
    inner = "\n".join(f'<parameter name="{k}">{v}</parameter>' for k, v in call.arguments.items())
    invoke = f'<invoke name="{call.name}">\n{inner}\n</invoke>'
    return f"<minimax:tool_call>\n{invoke}\n</minimax:tool_call>"


def _kimi(call: Call) -> str:
    return (
        "<|tool_calls_section_begin|><|tool_call_begin|>functions."
        f"{call.name}:0<|tool_call_argument_begin|>{call.text}<|tool_call_end|>"
        "<|tool_calls_section_end|>"
    )


def _qwen(call: Call) -> str:
    inner = "\n".join(f"<parameter={k}>\n{v}\n</parameter>" for k, v in call.arguments.items())
    return f"<tool_call>\n<function={call.name}>\n{inner}\n</function>\n</tool_call>"


def _hermes(call: Call) -> str:
    body = json.dumps({"name": call.name, "arguments": call.arguments}, ensure_ascii=False)
    return f"<tool_call>\n{body}\n</tool_call>"


def _glm(call: Call) -> str:
    inner = "\n".join(
        f"<arg_key>{k}</arg_key>\n<arg_value>{v}</arg_value>" for k, v in call.arguments.items()
    )
    return f"<tool_call>{call.name}\n{inner}\n</tool_call>"


def _mistral(call: Call) -> str:
    return f"[TOOL_CALLS]{call.name}[ARGS]{call.text}"


def _deepseek(call: Call) -> str:
    inner = "\n".join(
        f'<｜DSML｜parameter name="{k}" string="true">{v}</｜DSML｜parameter>'
        for k, v in call.arguments.items()
    )
    return (
        f'<｜DSML｜function_calls>\n<｜DSML｜invoke name="{call.name}">\n{inner}\n'
        "</｜DSML｜invoke>\n</｜DSML｜function_calls>"
    )


FAMILIES: dict[str, Callable[[Call], str]] = {
    "minimax": _minimax,
    "kimi": _kimi,
    "qwen": _qwen,
    "hermes": _hermes,
    "glm": _glm,
    "mistral": _mistral,
    "deepseek": _deepseek,
}
