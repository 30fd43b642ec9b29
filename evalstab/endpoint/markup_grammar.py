"""What stands between the markers of a call that leaked as text: names and arguments.

A handful of body grammars cover all families of B6: JSON objects, ``invoke``/``parameter`` tags,
``function=``/``parameter=`` tags, ``arg_key``/``arg_value`` pairs, a header followed by JSON, Kimi
K3's channels, Gemma's braces, and Python calls. Nothing is executed, every pattern is linear.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from evalstab.endpoint.halves import whole_characters

MAX_BODY_CHARS = 200_000
MAX_CALLS = 32
MAX_PYTHON_CHARS = 20_000

_BARS = re.compile(r"[|｜‖]{1,2}DSML[|｜‖]{1,2}")
_NOISE = re.compile(r"\]<\]minimax\[>\[|:opensource(?=>)")
_DEEPSEEK = re.compile(r"<[|｜]tool[▁_](calls?[▁_](?:begin|end)|sep)[|｜]>")
_INVOKE = re.compile(r"""<?invoke\s+name\s*=\s*["']?([\w.:-]{1,100})["']?\s*>""")
_INVOKE_END = re.compile(r"</invoke>|(?<![</])invoke>")
_PARAMETER = re.compile(
    r"""<?parameter\s+name\s*=\s*["']?([\w.-]{1,100})["']?(?:\s+string\s*=\s*["']?(\w+)["']?)?\s*>"""
)
_PARAMETER_END = re.compile(r"</parameter>|(?<![</])parameter>")
_PLAIN_TAG = re.compile(r"<([A-Za-z_][\w.-]{0,99})>")
_FUNCTION = re.compile(r"""<function(?:=|\s+name=)["']?([\w.:-]{1,100})["']?\s*>""")
_FUNCTION_PARAMETER = re.compile(r"""<parameter(?:=|\s+name=)["']?([\w.-]{1,100})["']?\s*>""")
_FUNCTION_PARAMETER_END = re.compile(r"</parameter>|(?=<parameter[=\s])|(?=</function>)")
_KEY = re.compile(r"<arg_key>([^<]{1,200})</arg_key>\s*<arg_value>")
_KEY_NAME = re.compile(r"\s*(?:<tool_call>\s*)?([\w.:-]{1,100})\s*(?:<tool_sep>\s*)?")
_XTML_CALL = re.compile(r"""<\|open\|>call\s+tool="([\w.:-]{1,100})"[^<]{0,100}<\|sep\|>""")
_XTML_ARGUMENT = re.compile(
    r"""<\|open\|>argument\s+key="([^"<]{1,100})"(?:\s+type="(\w+)")?[^<]{0,50}<\|sep\|>"""
)
_XTML_ARGUMENT_END = "<|close|>argument<|sep|>"
_HEADER = re.compile(
    r"""(?:<\|tool_call_begin\|>(?:function<\|tool_sep\|>)?|to=|\[TOOL_CALLS\]|^)
        \s{0,9}([\w.:-]{1,100})
        (?:\s{0,9}<\|tool_call_argument_begin\|>|<\|tool_sep\|>|\[CALL_ID\][\w-]{1,40}\[ARGS\]|\[ARGS\]
          |\s{0,9}<\|channel\|>[^<{]{0,60}(?:<\|constrain\|>[^<{]{0,20})?<\|message\|>
          |\s{0,9}(?:<\|constrain\|>)?\s{0,9}(?:json|code)?\s{0,9}<\|message\|>
          |<\|tool_sep\|>\s{0,9}```json|\s{1,9}(?:json|code)|\s{0,9}```json)?\s{0,9}(?=\{)""",
    re.VERBOSE,
)
_GEMMA = re.compile(r"call:([\w.:-]{1,100})\s*\{")
_GEMMA_PAIR = re.compile(r"""\s{0,9},?\s{0,9}(?:<\|"\|>)?(\w{1,100})(?:<\|"\|>)?\s{0,9}:\s{0,9}""")
_GEMMA_STOP = re.compile(r"[,}]")
_GEMMA_QUOTE = '<|"|>'
_JSON_NAME = re.compile(r"""\{\s{0,9}"(?:name|tool_name)"\s{0,9}:\s{0,9}"([\w.:-]{1,100})["]""")
_PYTHON_MARKS = re.compile(r"<\|?/?tool_call_(?:start|end)\|?>")
_PYTHON = re.compile(r"\[?\s{0,9}([\w.]{1,100})\s{0,9}\(")


@dataclass(frozen=True, slots=True)
class Found:
    """One call in a body; ``whole`` is false where it stops before its end."""

    name: str
    values: dict[str, Any]
    whole: bool

    @property
    def arguments(self) -> str:
        """The arguments as the JSON text that a proper call would have carried."""
        return json.dumps(self.values, ensure_ascii=False)


def parse_body(body: str) -> list[Found]:
    """The calls in the text between (and including) the markers of one leak, at most MAX_CALLS."""
    body = _NOISE.sub("", _BARS.sub("", body[:MAX_BODY_CHARS]))
    body = _DEEPSEEK.sub(lambda m: f"<|tool_{m.group(1).replace('▁', '_')}|>", body)
    for grammar in _GRAMMARS:
        found: list[Found] = []
        for call in grammar(body):
            found.append(call)
            if len(found) >= MAX_CALLS:
                break
        if found:
            return found
    return []


def _invokes(body: str) -> Iterator[Found]:
    """``<invoke name="f"><parameter name="p">v</parameter></invoke>``, brackets perhaps lost."""
    heads = list(_INVOKE.finditer(body))[:MAX_CALLS]
    for number, head in enumerate(heads):
        limit = heads[number + 1].start() if number + 1 < len(heads) else len(body)
        end = _INVOKE_END.search(body, head.end(), limit)
        stop = end.start() if end else limit
        values = _tagged(body[head.end() : stop], _PARAMETER, _PARAMETER_END)
        if not values:
            values = _plain_tags(body[head.end() : stop])
        yield Found(head.group(1), values, end is not None)


def _tagged(text: str, opening: re.Pattern[str], closing: re.Pattern[str]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    position = 0
    while (head := opening.search(text, position)) is not None:
        end = closing.search(text, head.end())
        raw = text[head.end() : end.start() if end else len(text)]
        typed = head.lastindex == 2 and head.group(2) == "false"
        values[head.group(1)] = _value(raw) if typed else raw.strip("\n")
        position = end.end() if end else len(text)
    return values


def _plain_tags(text: str) -> dict[str, Any]:
    """Parameters whose names are the tags themselves, as MiniMax M3 writes them."""
    values: dict[str, Any] = {}
    position = 0
    while (head := _PLAIN_TAG.search(text, position)) is not None:
        closing = f"</{head.group(1)}>"
        end = text.find(closing, head.end())
        values[head.group(1)] = text[head.end() : end if end >= 0 else len(text)]
        position = end + len(closing) if end >= 0 else len(text)
    return values


def _functions(body: str) -> Iterator[Found]:
    """``<function=f>`` with ``<parameter=p>`` tags or a JSON object inside."""
    heads = list(_FUNCTION.finditer(body))[:MAX_CALLS]
    for number, head in enumerate(heads):
        limit = heads[number + 1].start() if number + 1 < len(heads) else len(body)
        end = body.find("</function>", head.end(), limit)
        inner = body[head.end() : end if end >= 0 else limit]
        if inner.lstrip().startswith("{"):
            read = _json_object(inner)
            yield Found(head.group(1), read or {}, read is not None)
        else:
            values = _tagged(inner, _FUNCTION_PARAMETER, _FUNCTION_PARAMETER_END)
            yield Found(head.group(1), values, end >= 0)


def _keys(body: str) -> Iterator[Found]:
    """``f<arg_key>k</arg_key><arg_value>v</arg_value>``, the name first."""
    for piece in body.split("<tool_call>")[:MAX_CALLS]:
        head = _KEY_NAME.match(piece)
        if head is None or "<arg_key>" not in piece[head.end() : head.end() + 20]:
            continue
        values: dict[str, Any] = {}
        whole, position = True, head.end()
        while (key := _KEY.search(piece, position)) is not None:
            end = piece.find("</arg_value>", key.end())
            whole = whole and end >= 0
            position = end if end >= 0 else len(piece)
            values[key.group(1).strip()] = piece[key.end() : position]
        yield Found(head.group(1), values, whole and "</tool_call" in piece)


def _xtml(body: str) -> Iterator[Found]:
    """Kimi K3: ``<|open|>call tool="f"<|sep|>`` with argument channels inside."""
    heads = list(_XTML_CALL.finditer(body))[:MAX_CALLS]
    for number, head in enumerate(heads):
        limit = heads[number + 1].start() if number + 1 < len(heads) else len(body)
        end = body.find("<|close|>call<|sep|>", head.end(), limit)
        inner = body[head.end() : end if end >= 0 else limit]
        values: dict[str, Any] = {}
        position = 0
        while (argument := _XTML_ARGUMENT.search(inner, position)) is not None:
            stop = inner.find(_XTML_ARGUMENT_END, argument.end())
            raw = inner[argument.end() : stop if stop >= 0 else len(inner)]
            plain = argument.group(2) in (None, "string")
            values[argument.group(1)] = raw if plain else _value(raw)
            position = stop + len(_XTML_ARGUMENT_END) if stop >= 0 else len(inner)
        yield Found(head.group(1), values, end >= 0)


def _gemma(body: str) -> Iterator[Found]:
    """``call:f{key:<|"|>value<|"|>}``."""
    for head in list(_GEMMA.finditer(body))[:MAX_CALLS]:
        values: dict[str, Any] = {}
        position = head.end()
        while (pair := _GEMMA_PAIR.match(body, position)) is not None:
            raw, position = _gemma_value(body, pair.end())
            values[pair.group(1)] = raw
        yield Found(head.group(1), values, body[position : position + 1] == "}")


def _gemma_value(body: str, position: int) -> tuple[Any, int]:
    if body.startswith(_GEMMA_QUOTE, position):
        start = position + len(_GEMMA_QUOTE)
        end = body.find(_GEMMA_QUOTE, start)
        if end < 0:
            return body[start:], len(body)
        return body[start:end], end + len(_GEMMA_QUOTE)
    try:
        return json.JSONDecoder().raw_decode(body, position)
    except (ValueError, RecursionError):
        stop = _GEMMA_STOP.search(body, position)
        end = stop.start() if stop else len(body)
        return body[position:end], end


def _headed(body: str) -> Iterator[Found]:
    """A name, a separator and a JSON object: Kimi K2, DeepSeek, Mistral, harmony."""
    position = 0
    while (head := _HEADER.search(body, position)) is not None:
        try:
            value, end = json.JSONDecoder().raw_decode(body, head.end())
        except (ValueError, RecursionError):
            yield Found(head.group(1), {}, whole=False)
            return
        yield Found(head.group(1), value if isinstance(value, dict) else {}, whole=True)
        position = end


def _json_calls(body: str) -> Iterator[Found]:
    """``{"name": "f", "arguments": {…}}``, one or several, bare or in a list."""
    position = body.find("{")
    while position >= 0:
        try:
            value, end = json.JSONDecoder().raw_decode(body, position)
        except (ValueError, RecursionError):
            name = _JSON_NAME.match(body, position)
            if name is not None:
                yield Found(name.group(1), {}, whole=False)
            return
        call = json_call(value)
        if call is not None:
            yield call
        position = body.find("{", end)


def json_call(value: Any) -> Found | None:
    """The call that a JSON object describes, ``None`` where it describes none.

    A tool's definition, recited by the model, has a description and is no call.
    """
    function = value.get("function") if isinstance(value, dict) else None
    inner = function if isinstance(function, dict) else value
    if not isinstance(inner, dict) or "description" in inner:
        return None
    name = inner.get("name") or inner.get("tool_name") or (function if inner is value else None)
    for key in ("arguments", "parameters", "args", "input"):
        if key in inner and isinstance(name, str):
            values = inner[key]
            values = _json_object(values) if isinstance(values, str) else values
            name = whole_characters(name)
            return Found(name, values if isinstance(values, dict) else {}, isinstance(values, dict))
    return None


def _python(body: str) -> Iterator[Found]:
    """``[f(a='b')]``: read as an expression of literals, never run."""
    text = _PYTHON_MARKS.sub("", body).strip()
    head = _PYTHON.match(text)
    if head is None or len(text) > MAX_PYTHON_CHARS:
        return
    try:
        tree = ast.parse(text, mode="eval").body
        calls = tree.elts if isinstance(tree, (ast.List, ast.Tuple)) else [tree]
        for call in calls:
            if isinstance(call, ast.Call):
                values = {k.arg: ast.literal_eval(k.value) for k in call.keywords if k.arg}
                json.dumps(values)
                yield Found(ast.unparse(call.func), values, whole=True)
    except (SyntaxError, ValueError, TypeError, RecursionError, MemoryError):
        yield Found(head.group(1), {}, whole=False)


def _value(raw: str) -> Any:
    try:
        return json.loads(raw)
    except (ValueError, RecursionError):
        return raw


def _json_object(text: str) -> dict[str, Any] | None:
    try:
        value, _ = json.JSONDecoder().raw_decode(text, len(text) - len(text.lstrip()))
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


_GRAMMARS: tuple[Callable[[str], Iterator[Found]], ...] = (
    _invokes,
    _functions,
    _xtml,
    _keys,
    _gemma,
    _headed,
    _json_calls,
    _python,
)
