"""Calls that leak as text are found in every family, and mentions of markers are not."""

from __future__ import annotations

import json

import pytest

from tests.endpoint.streams import call, pieces, read, stream

PATH = "notes/note_a.md"
JSON = json.dumps({"path": PATH})
NAMED = json.dumps({"name": "read_file", "arguments": {"path": PATH}})
BAR = "｜DSML｜"

LEAKS = {
    "minimax": f'<minimax:tool_call>\n<invoke name="read_file">\n<parameter name="path">{PATH}'
    "</parameter>\n</invoke>\n</minimax:tool_call>",
    "minimax m1": f"<tool_calls>\n{NAMED}\n</tool_calls>",
    "minimax m3": f']<]minimax[>[<tool_call>\n]<]minimax[>[<invoke name="read_file">]<]minimax[>['
    f"<path>{PATH}]<]minimax[>[</path>]<]minimax[>[</invoke>\n]<]minimax[>[</tool_call>",
    "kimi": "<|tool_calls_section_begin|><|tool_call_begin|>functions.read_file:0"
    f"<|tool_call_argument_begin|>{JSON}<|tool_call_end|><|tool_calls_section_end|>",
    "kimi singular": "<|tool_call_section_begin|><|tool_call_begin|>functions.read_file:0"
    f"<|tool_call_argument_begin|>{JSON}<|tool_call_end|><|tool_call_section_end|>",
    "kimi without section": "<|tool_call_begin|>functions.read_file:0"
    f"<|tool_call_argument_begin|>{JSON}<|tool_call_end|>",
    "kimi without tokens": f"functions.read_file:0{JSON}",
    "kimi k3": '<|open|>tools<|sep|><|open|>call tool="read_file" index="1"<|sep|><|open|>argument '
    f'key="path" type="string"<|sep|>{PATH}<|close|>argument<|sep|><|close|>call<|sep|>'
    "<|close|>tools<|sep|>",
    "deepseek v3.2": f'<{BAR}function_calls>\n<{BAR}invoke name="read_file">\n<{BAR}parameter '
    f'name="path" string="true">{PATH}</{BAR}parameter>\n</{BAR}invoke>\n</{BAR}function_calls>',
    "deepseek v4": f'<{BAR}tool_calls>\n<{BAR}invoke name="read_file">\n<{BAR}parameter '
    f'name="path" string="true">{PATH}</{BAR}parameter>\n</{BAR}invoke>\n</{BAR}tool_calls>',
    "deepseek double bars": '<｜｜DSML｜｜tool_calls><｜｜DSML｜｜invoke name="read_file">'
    f'<｜｜DSML｜｜parameter name="path" string="true">{PATH}</｜｜DSML｜｜parameter>'
    "</｜｜DSML｜｜invoke></｜｜DSML｜｜tool_calls>",
    "deepseek ascii": '<|DSML|tool_calls><|DSML|invoke name="read_file"><|DSML|parameter '
    f'name="path" string="true">{PATH}</|DSML|parameter></|DSML|invoke></|DSML|tool_calls>',
    "deepseek ‖": '<‖DSML‖tool_calls><‖DSML‖invoke name="read_file"><‖DSML‖parameter name="path" '
    f'string="true">{PATH}</‖DSML‖parameter></‖DSML‖invoke></‖DSML‖tool_calls>',
    "deepseek v3": "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>read_file\n"
    f"```json\n{JSON}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
    "deepseek v3.1": "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>read_file<｜tool▁sep｜>"
    f"{JSON}<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
    "qwen3 coder": f"<tool_call>\n<function=read_file>\n<parameter=path>\n{PATH}\n</parameter>\n"
    "</function>\n</tool_call>",
    "qwen bare function": f"<function=read_file>\n<parameter=path>\n{PATH}\n</parameter>\n"
    "</function>\n</tool_call>",
    "function with json": f"<function=read_file>{JSON}</function>",
    "hermes": f"<tool_call>\n{NAMED}\n</tool_call>",
    "glm": f"<tool_call>read_file\n<arg_key>path</arg_key>\n<arg_value>{PATH}</arg_value>\n"
    "</tool_call>",
    "hunyuan": f"<tool_calls><tool_call>read_file<tool_sep>\n<arg_key>path</arg_key>\n<arg_value>"
    f"{PATH}</arg_value>\n</tool_call></tool_calls>",
    "hunyuan opensource": "<tool_calls:opensource>\n<tool_call:opensource>read_file"
    "<tool_sep:opensource>\n<arg_key:opensource>path</arg_key:opensource>\n"
    f"<arg_value:opensource>{PATH}</arg_value:opensource>\n</tool_call:opensource>\n"
    "</tool_calls:opensource>",
    "mistral": f"[TOOL_CALLS]read_file[ARGS]{JSON}",
    "mistral list": f"[TOOL_CALLS][{NAMED}]",
    "mistral id": f"[TOOL_CALLS]read_file[CALL_ID]abc123456[ARGS]{JSON}",
    "lfm": f"<|tool_call_start|>[read_file(path='{PATH}')]<|tool_call_end|>",
    "gemma": f'<|tool_call>call:read_file{{path:<|"|>{PATH}<|"|>}}<tool_call|>',
    "granite": f"<|tool_call|>[{NAMED}]",
    "phi": f"<|tool_call|>[{NAMED}]<|/tool_call|>",
    "llama": '<|python_tag|>{"name": "read_file", "parameters": {"path": "notes/note_a.md"}}',
    "llama 4": '<|python_start|>{"name": "read_file", "parameters": {"path": "notes/note_a.md"}}'
    "<|python_end|>",
    "cohere": '<|START_ACTION|>[{"tool_call_id": "0", "tool_name": "read_file", "parameters": '
    '{"path": "notes/note_a.md"}}]<|END_ACTION|>',
    "nemotron": f"<TOOLCALL>[{NAMED}]</TOOLCALL>",
    "internlm": f"<|action_start|><|plugin|>{NAMED}<|action_end|>",
    "seed": f"<seed:tool_call>\n<function=read_file>\n<parameter=path>{PATH}</parameter>\n"
    "</function>\n</seed:tool_call>",
    "invoke": f'<function_calls>\n<invoke name="read_file">\n<parameter name="path">{PATH}'
    "</parameter>\n</invoke>\n</function_calls>",
    "harmony": "<|channel|>commentary to=functions.read_file <|constrain|>json<|message|>"
    f"{JSON}<|call|>",
    "harmony recipient first": "<|start|>assistant to=functions.read_file<|channel|>commentary "
    f"<|constrain|>json<|message|>{JSON}<|call|>",
    "harmony stripped": f"assistantcommentary to=functions.read_file json{JSON}",
    "bare json": NAMED,
    "bare list": f"[{NAMED}]",
    "bare python": f'[read_file(path="{PATH}")]',
}
ALONE = {"bare json", "bare list", "bare python"}
FENCEABLE = [name for name in LEAKS if "`" not in LEAKS[name]]
PROSE = "I will read the first note.\n"


@pytest.mark.parametrize("size", [1, 6])
@pytest.mark.parametrize("name", LEAKS)
def test_leak_in_content(name: str, size: int) -> None:
    text = LEAKS[name] if name in ALONE else PROSE + LEAKS[name]
    reply, codes = read(stream(pieces("content", text, size)))
    assert codes == {"tool.leaked_markup"}
    assert (reply.content, reply.tool_calls) == (text, ())
    assert [(c.name, json.loads(c.arguments)) for c in reply.intended] == [
        ("read_file", {"path": PATH})
    ]
    start, end = reply.intended[0].start, reply.intended[0].end
    assert PATH in text[start:end]


@pytest.mark.parametrize("name", [name for name in LEAKS if name not in ALONE])
def test_leak_in_reasoning(name: str) -> None:
    text = PROSE + LEAKS[name]
    reply, codes = read(stream(pieces("reasoning_content", text)), thinking=True)
    assert "tool.in_reasoning" in codes
    assert codes <= {"tool.in_reasoning", "reasoning.unclosed"}
    assert (reply.reasoning, reply.intended[0].channel) == (text, "reasoning")


@pytest.mark.parametrize("name", FENCEABLE)
def test_fenced_markup_is_a_quotation(name: str) -> None:
    text = f"A call looks like this:\n\n```text\n{LEAKS[name]}\n```\n\nnote_b explains it."
    reply, codes = read(stream(pieces("content", text)))
    assert (codes, reply.intended) == (set(), ())


@pytest.mark.parametrize("name", [n for n in FENCEABLE if "\n" not in LEAKS[n]])
def test_inline_code_is_a_quotation(name: str) -> None:
    text = f"A call looks like `{LEAKS[name]}` there, says note_b."
    reply, codes = read(stream(pieces("content", text)))
    assert (codes, reply.intended) == (set(), ())


@pytest.mark.parametrize(
    "text",
    [
        "The markup <tool_call> is added by the server, then </tool_call> ends it.",
        "Models write [TOOL_CALLS] before a call.",
        "The token <|tool_calls_section_begin|> opens a section of calls.",
        "It uses <function_calls> and <invoke> tags.",
        "Use read_file for notes/note_a.md, then write_file.",
        '{"ranking": ["note_b", "note_c", "note_a"]}',
        '{"name": "Anna", "points": 7}',
        "[note_b (first), note_c (second)]",
        "My commentary to note_b: it is complete.",
        "Compare a<tool_call> with b and 3 < 4.",
    ],
)
@pytest.mark.parametrize("key", ["content", "reasoning"])
def test_mentions_are_no_leaks(text: str, key: str) -> None:
    parts = [pieces(key, text)] + ([pieces("content", "Done.")] if key == "reasoning" else [])
    reply, codes = read(stream(*parts))
    assert (codes, reply.intended) == (set(), ())


@pytest.mark.parametrize(
    ("text", "whole"),
    [
        (LEAKS["qwen3 coder"][:45], False),
        (LEAKS["minimax"][:60], False),
        (LEAKS["hermes"][:40], False),
        (LEAKS["glm"][:50], False),
        (LEAKS["kimi"][:110], False),
        (LEAKS["deepseek v3.2"][:70], False),
        (LEAKS["mistral"][:30], False),
        (LEAKS["kimi k3"][:90], False),
        (LEAKS["harmony"][:85], False),
        (LEAKS["gemma"][:45], False),
        ("<tool_call>", False),
        ("<｜DSML｜function_calls", False),
        (LEAKS["hermes"].removesuffix("\n</tool_call>"), True),
        (LEAKS["qwen3 coder"].removesuffix("\n</tool_call>"), True),
        (LEAKS["minimax"].removesuffix("\n</minimax:tool_call>"), True),
    ],
)
def test_open_envelope(text: str, whole: bool) -> None:
    """A call that stops is truncated; one that lacks only its last marker has leaked."""
    _, codes = read(stream(pieces("content", PROSE + text)))
    assert codes == {"tool.leaked_markup" if whole else "tool.truncated"}
    _, codes = read(
        stream(pieces("content", PROSE + text), reason="length", tokens=64), max_tokens=64
    )
    assert codes == {"tool.truncated"}


GOOD = call(0, id="a", name="read_file", arguments=JSON)


@pytest.mark.parametrize(
    "residue",
    [
        "<｜DSML｜function_calls",
        "<function",
        "<tool_call>",
        "</tool_call>",
        "<|im_end|>",
        "<minimax:tool_call>",
        "<|tool_calls_section_end|>",
        "<|close|>message<|sep|>",
        "[e~[",
        "[TOOL_CALLS]",
    ],
)
def test_residue_beside_a_good_call(residue: str) -> None:
    reply, codes = read(stream(pieces("content", f"Let me look.\n{residue}"), GOOD))
    assert reply.tool_calls[0].complete
    assert codes == {"tool.marker_residue"}


def test_same_call_as_text_and_as_call_is_residue() -> None:
    _, codes = read(stream(pieces("content", LEAKS["hermes"]), GOOD, reason="tool_calls"))
    assert codes == {"tool.marker_residue"}


def test_another_call_beside_a_good_one_is_a_leak() -> None:
    other = LEAKS["hermes"].replace("note_a", "note_c")
    _, codes = read(stream(pieces("content", other), GOOD, reason="tool_calls"))
    assert codes == {"tool.leaked_markup"}


def test_rehearsal_in_reasoning_beside_a_good_call() -> None:
    _, codes = read(stream(pieces("reasoning", LEAKS["hermes"]), GOOD, reason="tool_calls"))
    assert codes == set()


def test_example_in_reasoning_before_an_answer() -> None:
    thought = f"A call would be {LEAKS['hermes']} but I know the answer already."
    _, codes = read(stream(pieces("reasoning", thought), pieces("content", "note_b.")))
    assert codes == set()


@pytest.mark.parametrize(
    "text",
    [
        '<minimax:tool_call>\ninvoke name="read_file">parameter name="path">notes/note_a.md'
        "parameter>invoke>\n</minimax:tool_call>",
        "<tool_call>read_file path</arg_key><arg_value>notes/note_a.md</arg_value></tool_call>",
        "<tool_call:opensource>read_file</arg_value:opensource></tool_call:opensource>",
        '<tool_call>{"name": "read_file", "arguments": {"path": </tool_call>',
        "<|channel|>commentary<|message|>{\"path\": \"notes/note_a.md\"}<|end|>",
    ],
)  # fmt: skip
def test_malformed_markup_is_a_leak(text: str) -> None:
    _, codes = read(stream(pieces("content", PROSE + text)))
    assert codes == {"tool.leaked_markup"}


def test_several_calls_in_one_section() -> None:
    text = LEAKS["kimi"].replace("<|tool_calls_section_end|>", "") + LEAKS["kimi"].replace(
        "<|tool_calls_section_begin|>", ""
    ).replace("note_a", "note_b")
    reply, codes = read(stream(pieces("content", text)))
    assert codes == {"tool.leaked_markup"}
    paths = [json.loads(meant.arguments)["path"] for meant in reply.intended]
    assert paths == ["notes/note_a.md", "notes/note_b.md"]


def test_missing_call_is_no_second_fault_beside_a_leak() -> None:
    _, codes = read(stream(pieces("content", LEAKS["hermes"]), reason="tool_calls"))
    assert codes == {"tool.leaked_markup"}


@pytest.mark.parametrize(
    "text",
    [
        f'<{BAR}parameter name="path" string="true">{PATH}</{BAR}parameter>\n',
        f"<arg_key>path</arg_key>\n<arg_value>{PATH}</arg_value>",
    ],
)
def test_parameters_that_lost_their_call(text: str) -> None:
    lost = call(0, id="a", name="read_file", arguments="{}")
    _, codes = read(stream(pieces("content", text), lost, reason="tool_calls"))
    assert codes == {"tool.malformed_arguments", "tool.leaked_markup"}


def test_parameters_beside_a_good_call_are_residue() -> None:
    text = f'<{BAR}parameter name="path" string="true">{PATH}</{BAR}parameter>'
    _, codes = read(stream(pieces("content", text), GOOD, reason="tool_calls"))
    assert codes == {"tool.marker_residue"}
