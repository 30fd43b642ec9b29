"""The context was too small: every known wording of it, and the two sizes where they are stated.

Serves C17. Bare phrases such as "too long" or "max_tokens" are not matched, since they appear in
other errors; numbers may stand in parentheses or carry thousands separators.
"""

from __future__ import annotations

import re
from typing import Any

Sizes = tuple[int | None, int | None]

TYPES = frozenset(
    {"exceed_context_size_error", "context_length_exceeded", "context_window_exceeded"}
)

_WORDINGS = re.compile(
    r"""maximum\scontext\slength|maximum\smodel\slength|max(?:imum)?[\s_]model[\s_]len\b
    |available\scontext\ssize|context\ssize\shas\sbeen\sexceeded|context_length_exceeded
    |longer\sthan\sthe\s(?:model's\s)?(?:maximum\s)?context\slength|than\sthe\scontext\slength
    |when\scontext\sthe\soverflows|context\s(?:window|length)\s(?:exceed|is\stoo\ssmall|overflow)
    |exceed(?:s|ed|ing)?\s(?:the\s)?(?:model(?:'?s)?\s|this\smodel's\s|available\s|maximum\s|max\s)*context
    |exceeds?\s(?:the\s)?(?:context\swindow|context\slimit|max(?:imum)?\scontext)
    |(?:exceed\w*|over)\s(?:the\s)?model\stoken\slimit|context\swindow\sof\s\d
    |prompt\sis\stoo\slong:|maximum\sprompt\slength|range\sof\sinput\slength
    |input\stoken\scount.{0,40}exceeds|total\snumber\sof\stokens\sin\sthe\sprompt\scannot\sexceed
    |tokens\s\+\s`?max_new_tokens`?\smust\sbe|`inputs`\smust\shave\sless\sthan
    |reduce\sthe\slength\sof\sthe\s(?:messages|input|prompt)|input\sis\stoo\slong\sfor
    |max_tokens\smust\sbe\sat\sleast\s1,\sgot\s-|kv\scache\s(?:is\s)?full|context\sis\sfull
    |exceeds?\s(?:the\s)?max_(?:seq|model)_len|超长|长度超限|上下文长度超过
    |slot\scontext\s(?:is\s)?full|input\slength.{0,60}exceeds.{0,40}context""",
    re.VERBOSE | re.IGNORECASE,
)
# <P> is the prompt, <L> the limit; three dots stand for any 200 characters at most.
_STATED = (
    "context length is <L>...(<P> in the messages",
    "context length is <L>...(<P> of text input",
    "context length is <L>...prompt contains at least <P>",
    "context length is <L>...prompt contains <P>",
    "context length is <L>...your request has <P> input",
    "context length is <L>...messages resulted in <P>",
    "context length is <L>...requested about <P>",
    "context length of <L>...: <P> tokens from the input",
    "context length of <L>...requested <P>",
    "context length is <L>...requested <P>",
    "prompt length is <L>...contains <P>",
    "first <P> tokens...context length of only <L>",
    "first <P> tokens...context length of <L>",
    "<P> tokens) exceeds the available context size (<L>",
    "<P> tokens) is longer than the model's context length (<L>",
    "<P> tokens) is longer than the maximum context length (<L>",
    "prompt (length <P>)...maximum model length of <L>",
    "requested tokens (<P>) exceed context window of <L>",
    "input length (<P>)...context length (<L>",
    "input length <P>...context length <L>",
    "token limit: <L> (requested: <P>",
    "<P> tokens exceeds max_seq_len <L>",
    "<P> tokens exceeds max_model_len <L>",
    "token count <P> exceeds model max context <L>",
    "prompt contains <P> tokens...with <L> maximum context",
    "too long: <P> tokens > <L> maximum",
    "token count (<P>) exceeds...allowed (<L>",
    "token count <P> exceeds...allowed <L>",
    "length is <P> while limit is <L>",
    "must be <= <L>. given: <P> `inputs`",
    "less than <L> tokens. given: <P>",
    "<P> tokens...longer than...<L>",
    "<P> tokens...exceed...context...<L>",
)
_LIMIT_STATED = ("context length is <L>", "context length of <L>", "context length of only <L>",
                 "context window of <L>", "token limit: <L>", "context size (<L>")  # fmt: skip


def _compile(wording: str) -> re.Pattern[str]:
    pattern = re.escape(wording)
    for sign, group in (("P", "prompt"), ("L", "limit")):
        pattern = pattern.replace(f"<{sign}>", rf"[`'\"]?(?P<{group}>\d[\d,_]{{0,14}})")
    return re.compile(pattern.replace(r"\.\.\.", ".{0,200}?"), re.IGNORECASE | re.DOTALL)


_SIZES = tuple(_compile(wording) for wording in _STATED + _LIMIT_STATED)
_KEYS = (
    ("n_prompt_tokens", "n_ctx"),
    ("prompt_tokens", "max_model_len"),
    ("prompt_tokens", "context_length"),
    ("num_prompt_tokens", "max_context_length"),
)


def is_overflow(message: str, kind: str) -> bool:
    """Whether an error's text or type says that the context is too small."""
    return kind in TYPES or bool(_WORDINGS.search(message))


def sizes(message: str, body: dict[str, Any]) -> Sizes | None:
    """Prompt and limit in tokens as the body or the text states them; ``None`` where neither is."""
    for prompt_key, limit_key in _KEYS:
        prompt, limit = body.get(prompt_key), body.get(limit_key)
        if _whole(prompt) and _whole(limit):
            return prompt, limit
    for pattern in _SIZES:
        found = pattern.search(message)
        if found is not None:
            numbers = found.groupdict()
            return _number(numbers.get("prompt")), _number(numbers.get("limit"))
    return None


def _whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0


def _number(text: str | None) -> int | None:
    return int(re.sub(r"\D", "", text)) if text else None
