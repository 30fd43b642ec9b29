"""Pieces of tool calls become whole calls, and calls that were cut or spoilt are named as such."""

from __future__ import annotations

import json

import pytest

from evalstab.endpoint.base import Reply
from tests.endpoint.streams import body, call, delta, frame, pieces, read, stream

PATH = "notes/note_a.md"
ARGUMENTS = json.dumps({"path": PATH})
OTHER = json.dumps({"path": "notes/note_b.md"})


def _calls(reply: Reply) -> list[tuple[str, str | None]]:
    return [
        (made.name, json.loads(made.arguments).get("path") if made.complete else None)
        for made in reply.tool_calls
    ]


ONE = [("read_file", PATH)]
TWO = [("read_file", PATH), ("read_file", "notes/note_b.md")]


@pytest.mark.parametrize(
    "parts",
    [
        pytest.param([call(0, id="a", name=None, arguments=None), call(0, id=None, name="read_file",
                     arguments=ARGUMENTS)], id="nulls first"),
        pytest.param([call(0, id="a", name="read_", arguments=""), call(0, name="file"),
                      call(0, arguments=ARGUMENTS)], id="name in pieces"),
        pytest.param([call(0, id="a", name="re"), call(0, name="ad_"), call(0, name="file"),
                      call(0, arguments=ARGUMENTS)], id="name in three pieces"),
        pytest.param([call(0, id="a", name="read", arguments=""), call(0, name="read_file"),
                      call(0, arguments=ARGUMENTS)], id="name grows"),
        pytest.param([call(None, id="a", name="read_file", arguments=ARGUMENTS[:5]),
                      call(None, arguments=ARGUMENTS[5:])], id="no index"),
        pytest.param([call(None, name="read_file", arguments=ARGUMENTS[:5]),
                      call(None, arguments=ARGUMENTS[5:])], id="no index, no id"),
        pytest.param([call(0, id="a", name="read_file", arguments=""),
                      call(1, arguments=ARGUMENTS)], id="index drifts at once"),
        pytest.param([call(0, id="a", name="read_file", arguments=ARGUMENTS[:9]),
                      call(3, id="a", arguments=ARGUMENTS[9:])], id="index drifts, id stays"),
        pytest.param([call(0, id="X", name="read_file", arguments=ARGUMENTS[:9]),
                      call(0, id="Y", name="read_file", arguments=ARGUMENTS[9:])],
                     id="id changes, name repeated"),
        pytest.param([call(0, id="a", name="read_file", arguments=ARGUMENTS),
                      call(0, id="a", name="read_file", arguments="")], id="empty last piece"),
        pytest.param([call(0, id="a", name="read_file", arguments={"path": PATH})] * 3,
                     id="object again and again"),
        pytest.param([delta(tool_calls={"id": 0, "function": {"name": "read_file",
                      "arguments": {"path": PATH}}})], id="single object, number as id"),
        pytest.param([delta(tool_calls=[{"index": "0", "id": "a", "name": "read_file",
                      "arguments": ARGUMENTS}])], id="flat entry, index as text"),
        pytest.param([delta(function_call={"name": "read_file", "arguments": ARGUMENTS[:4]}),
                      delta(function_call={"arguments": ARGUMENTS[4:]})], id="function_call"),
        pytest.param([call(0, id="a", name="read_file", arguments=json.dumps(ARGUMENTS))],
                     id="encoded twice"),
    ],
)  # fmt: skip
def test_one_call(parts: list[bytes]) -> None:
    reply, codes = read(stream(*parts, reason="tool_calls"))
    assert (_calls(reply), codes) == (ONE, set())


@pytest.mark.parametrize(
    "parts",
    [
        pytest.param([call(0, id="a", name="read_file", arguments=ARGUMENTS),
                      call(1, id="b", name="read_file", arguments=OTHER)], id="plain"),
        pytest.param([call(0, id="a", name="read_file", arguments=ARGUMENTS[:6]),
                      call(1, id="b", name="read_file", arguments=OTHER[:6]),
                      call(0, arguments=ARGUMENTS[6:]), call(1, arguments=OTHER[6:])],
                     id="interleaved"),
        pytest.param([call(0, name="read_file", arguments=ARGUMENTS),
                      call(0, name="read_file", arguments=OTHER)], id="index 0, no ids"),
        pytest.param([call(None, name="read_file", arguments=ARGUMENTS),
                      call(None, name="read_file", arguments=OTHER)], id="nothing but names"),
        pytest.param([call(0, id="a", name="read_file", arguments=ARGUMENTS[:6]),
                      call(0, arguments=ARGUMENTS[6:]),
                      call(0, id="b", name="read_file", arguments=OTHER[:6]),
                      call(0, arguments=OTHER[6:])], id="index 0, in pieces"),
        pytest.param([call(0, id="0", name="read_file", arguments={"path": PATH}),
                      call(1, id="0", name="read_file", arguments={"path": "notes/note_b.md"})],
                     id="one id for both"),
    ],
)  # fmt: skip
def test_two_calls(parts: list[bytes]) -> None:
    reply, codes = read(stream(*parts, reason="tool_calls"))
    assert _calls(reply) == TWO
    assert codes <= {"tool.merged_calls"}
    assert len({made.id for made in reply.tool_calls}) == 2


def test_two_calls_of_a_tool_without_parameters() -> None:
    entry = {"type": "function", "function": {"name": "list_files", "arguments": ""}}
    entries = [{"id": "a"} | entry, {"id": "b"} | entry]
    reply, codes = read(body({"content": None, "tool_calls": entries}, "tool_calls"))
    assert _calls(reply) == [("list_files", None)] * 2
    assert codes == set()


def test_ids_are_kept_or_made() -> None:
    parts = [
        call(0, id="functions.read_file:0", name="read_file", arguments=ARGUMENTS),
        call(1, id="", name="read_file", arguments=OTHER),
    ]
    reply, _ = read(stream(*parts, reason="tool_calls"))
    assert reply.tool_calls[0].id == "functions.read_file:0"
    assert len(reply.tool_calls[1].id) > 8


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ('{"path": "notes/no', "tool.truncated"),
        ('{"path": "notes/note_a.md", "con', "tool.truncated"),
        ('"{\\"path\\": \\"no', "tool.truncated"),
        ('{"path": "notes/note_a.md"', "tool.malformed_arguments"),
        ('"path": "notes/note_a.md"}', "tool.malformed_arguments"),
        ('{"path": "notes/note_a.md"}}', "tool.malformed_arguments"),
        ('{"path": "notes/note_a.md"}</tool_call>', "tool.malformed_arguments"),
        ('{"path" "notes/note_a.md"}', "tool.malformed_arguments"),
        ("{'path': 'notes/note_a.md'}", "tool.malformed_arguments"),
        ('{"path": NaN}', "tool.malformed_arguments"),
        ('["notes/note_a.md"]', "tool.malformed_arguments"),
        ('"notes/note_a.md"', "tool.malformed_arguments"),
        ("17", "tool.malformed_arguments"),
        ("{}", "tool.malformed_arguments"),
        ("", "tool.malformed_arguments"),
        ("null", "tool.malformed_arguments"),
    ],
)
def test_unusable_arguments(arguments: str, code: str) -> None:
    part = call(0, id="a", name="read_file", arguments=arguments)
    reply, codes = read(stream(part, reason="tool_calls"))
    assert (_calls(reply), codes) == ([("read_file", None)], {code})


@pytest.mark.parametrize("arguments", ["{}", "", "null", " ", None])
def test_no_arguments_where_none_are_required(arguments: str | None) -> None:
    reply, codes = read(stream(call(0, id="a", name="list_files", arguments=arguments)))
    assert reply.tool_calls[0].arguments == "{}"
    assert (reply.tool_calls[0].complete, codes) == (True, set())


@pytest.mark.parametrize(
    ("reason", "tokens", "limit", "cut"),
    [
        ("tool_calls", 64, 64, True),
        ("stop", 70, 64, True),
        ("length", 64, 64, True),
        ("length", 30, 64, True),
        ("tool_calls", 63, 64, False),
        ("tool_calls", 64, None, False),
    ],
)
def test_truncation_is_arithmetic(reason: str, tokens: int, limit: int | None, cut: bool) -> None:
    part = call(0, id="a", name="read_file", arguments=ARGUMENTS)
    reply, codes = read(stream(part, reason=reason, tokens=tokens), max_tokens=limit)
    assert reply.tool_calls[0].complete is not cut
    assert codes == ({"tool.truncated"} if cut else set())


def test_whole_call_before_text_is_not_cut_at_the_limit() -> None:
    parts = [call(0, id="a", name="read_file", arguments=ARGUMENTS), pieces("content", "Now I")]
    reply, codes = read(stream(*parts, reason="length", tokens=64), max_tokens=64)
    assert reply.tool_calls[0].complete
    assert "tool.truncated" not in codes


def test_dropped_after_a_whole_call() -> None:
    reply, codes = read(call(0, id="a", name="read_file", arguments=ARGUMENTS), end="reset")
    assert (_calls(reply), codes) == (ONE, {"stream.dropped"})


def test_glued_objects_are_separated() -> None:
    glued = f"{ARGUMENTS}\n{OTHER}" + '{"path": "no'
    reply, codes = read(stream(call(0, id="a", name="read_file", arguments=glued)))
    assert _calls(reply) == [*TWO, ("read_file", None)]
    assert codes == {"tool.merged_calls", "tool.truncated"}


def test_doubled_argument_deltas_count_once() -> None:
    parts = [call(0, id="a", name="read_file", arguments="")]
    for at in range(0, len(ARGUMENTS), 3):
        parts += [call(0, arguments=ARGUMENTS[at : at + 3])] * 2
    reply, codes = read(stream(*parts, reason="tool_calls"))
    assert (_calls(reply), codes) == (ONE, {"reasoning.duplicated_by_transport"})


@pytest.mark.parametrize(
    "name",
    [
        "read_file<|channel|>commentary",
        "read_filejson",
        "functions.read_file",
        "functions.read_file:0",
        "read_file:3",
        "<|python_tag|>read_file",
        "default_api__read_file",
        "tool.read_file",
        "read_file\n<parameter=path",
        '"read_file"',
    ],
)
def test_polluted_names(name: str) -> None:
    reply, codes = read(stream(call(0, id="a", name=name, arguments=ARGUMENTS)))
    assert (_calls(reply), codes) == (ONE, {"tool.polluted_name"})
    assert reply.tool_calls[0].raw_name == name


@pytest.mark.parametrize("name", ["read_files", "my_read_file2", "READ", "toolbox.web.answer"])
def test_unknown_names(name: str) -> None:
    reply, codes = read(stream(call(0, id="a", name=name, arguments=ARGUMENTS)))
    assert (reply.tool_calls[0].name, codes) == (name, {"tool.unknown_name"})


def test_call_without_function_and_name() -> None:
    entry = frame(choices=[{"delta": {"tool_calls": [{"id": ""}]}}])
    reply, codes = read(stream(entry, reason="tool_calls"))
    assert not reply.tool_calls[0].complete
    assert codes == {"tool.malformed_arguments"}


@pytest.mark.parametrize(
    "values", [{"file": "x"}, {"path": 7}, {"path": None}, {"path": ["a"]}, {"path": {"a": 1}}]
)
def test_schema_violations(values: dict[str, object]) -> None:
    reply, codes = read(stream(call(0, id="a", name="read_file", arguments=json.dumps(values))))
    assert reply.tool_calls[0].complete
    assert codes == {"tool.schema_violation"}


def test_halves_of_characters_in_arguments_can_be_stored() -> None:
    part = call(0, id="a", name="read_file", arguments='{"path": "a\\ud83d"}')
    reply, codes = read(stream(part))
    assert json.loads(reply.tool_calls[0].arguments) == {"path": "a\ufffd"}
    assert codes == set()
