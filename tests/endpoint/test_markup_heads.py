"""Leaked calls that stop at any place: unfinished from the marker on, and prose is no call."""

from __future__ import annotations

import json

import pytest

from evalstab.endpoint.heads import begins_call
from evalstab.findings import UNFINISHED
from tests.endpoint.streams import DONE, delta, finish, read, usage

OBJECT = json.dumps({"path": "b/ä.md", "content": 'Zeile "1"\n\\ ✓'}, ensure_ascii=False)
TAGS = (
    '<invoke name="write_file">\n<parameter name="path">a.md</parameter>\n'
    '<parameter name="content">Text</parameter>\n</invoke>'
)
CALLS = {
    "<tool_call>": f'\n{{"name": "write_file", "arguments": {OBJECT}}}\n</tool_call>',
    "<tool_call>\n": "<function=write_file>\n<parameter=path>\na.md\n</parameter>\n</function>",
    "<tool_call>\t": "write_file\n<arg_key>path</arg_key>\n<arg_value>a</arg_value>\n</tool_call>",
    "<minimax:tool_call>": f"\n{TAGS}\n</minimax:tool_call>",
    "<｜DSML｜function_calls>": f"\n{TAGS}".replace("<", "<｜DSML｜").replace(
        "<｜DSML｜/", "</｜DSML｜"
    )
    + "\n</｜DSML｜function_calls>",
    "<|tool_calls_section_begin|>": "<|tool_call_begin|>functions.write_file:0"
    f"<|tool_call_argument_begin|>{OBJECT}<|tool_call_end|><|tool_calls_section_end|>",
    "[TOOL_CALLS]": f"write_file[ARGS]{OBJECT}",
    "<|tool_call_start|>": "[write_file(path='a.md', content='x')]<|tool_call_end|>",
    "<|channel|>commentary to=": "functions.write_file <|constrain|>json<|message|>"
    f"{OBJECT}<|call|>",
}


@pytest.mark.parametrize("marker", CALLS)
@pytest.mark.parametrize("reason", ["stop", "length"])
def test_a_leaked_call_is_unfinished_wherever_it_stops(marker: str, reason: str) -> None:
    body = CALLS[marker]
    for end in range(len(body) + 1):
        said = f"Ich schreibe die Datei.\n\n{marker}{body[:end]}"
        data = delta(content=said) + finish(reason) + usage(2000, 200) + DONE
        reply, codes = read(data, max_tokens=4096)
        assert codes & UNFINISHED, said
        assert not reply.tool_calls


@pytest.mark.parametrize(
    "tail",
    [
        " opens a call", ": the model writes it", "\nfirst, then the name", " w. r. t. tools",
        " writes",
        "</tool_call>", '{"name": "other_tool', "{", "write_files", "x" * 500,
    ],
)  # fmt: skip
def test_prose_behind_a_marker_is_no_head(tail: str) -> None:
    assert begins_call(tail, ("write_file",)) is (tail == "{")


def test_a_good_call_beside_a_begun_one_makes_it_residue() -> None:
    call = {"id": "c", "type": "function", "function": {"name": "list_files", "arguments": "{}"}}
    data = delta(content='Gut.\n<tool_call>\n{"name": "wri') + delta(
        tool_calls=[{"index": 0} | call]
    )
    _, codes = read(data + finish("tool_calls") + usage(2000, 200) + DONE)
    assert codes == {"tool.marker_residue"}
