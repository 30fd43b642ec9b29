"""The head of a call that leaked as text and stops before its name is whole (B21)."""

from __future__ import annotations

import re
from collections.abc import Collection

LONGEST = 400
"""Characters behind a marker within which a head can stand."""

_FORMS = (
    '{"name":"N"', '[{"name":"N"', '{"function":"N"', '{"tool_name":"N"', '"name":"N"',
    "<function=N>", '<functionname="N">', '<invokename="N">', "<tool_call><function=N>", "call:N{",
    'name="N">', "[N(", "N(", "N{", "N[ARGS]{", "N<arg_key>", "N<tool_sep>",
    "to=functions.N<|constrain|>json<|message|>{", "to=functions.Njson<|message|>{",
    "to=functions.N<|message|>{",
    "functions.N:0<|tool_call_argument_begin|>{", "N:0<|tool_call_argument_begin|>{",
    "<|tool_call_begin|>functions.N:0<|tool_call_argument_begin|>{",
    "function<|tool_sep|>N", "<|tool_call_begin|>function<|tool_sep|>N", '<|open|>calltool="N"',
)  # fmt: skip
_NOISE = re.compile(
    r"\s+|[|｜‖]{1,2}DSML[|｜‖]{1,2}|[|｜‖]{1,2}(?:D(?:S(?:ML?)?)?)?\Z|\]<\]minimax\[>\[|:opensource"
)
_SAME = str.maketrans({"'": '"', "｜": "|", "▁": "_"})
_NUMBER = re.compile(r":\d+")


def begins_call(tail: str, offered: Collection[str]) -> bool:
    """Whether a text that ends here is the unfinished head of a call to an offered tool.

    ``tail`` is what stands behind the opening marker. Prose behind a marker is none, however short.
    """
    if len(tail) > LONGEST:
        return False
    bare = _NUMBER.sub(":0", _NOISE.sub("", tail).translate(_SAME))
    return any(
        form.replace("N", name).startswith(bare) for name in offered if name for form in _FORMS
    )
