"""Thinking and answer are told apart in every field and form, and nothing is counted twice."""

from __future__ import annotations

import pytest

from tests.endpoint.streams import body, call, delta, pieces, read, stream

THOUGHT = "First I compare the three notes. note_b names dates, note_a names none."
ANSWER = "note_b is the most complete of the three notes."


@pytest.mark.parametrize("key", ["reasoning", "reasoning_content"])
def test_reads_either_key(key: str) -> None:
    reply, codes = read(stream(pieces(key, THOUGHT), pieces("content", ANSWER)))
    assert (reply.reasoning, reply.content, reply.reasoning_field) == (THOUGHT, ANSWER, key)
    assert codes == set()


def test_two_keys_are_one_text() -> None:
    both = b"".join(
        delta(reasoning=THOUGHT[i : i + 9], reasoning_content=THOUGHT[i : i + 9])
        for i in range(0, len(THOUGHT), 9)
    )
    reply, codes = read(stream(both, pieces("content", ANSWER)))
    assert (reply.reasoning, codes) == (THOUGHT, set())


def test_details_in_other_deltas_are_one_text() -> None:
    parts = []
    for i in range(0, len(THOUGHT), 9):
        piece = THOUGHT[i : i + 9]
        parts += [
            delta(reasoning=piece),
            delta(reasoning_details=[{"type": "reasoning.text", "text": piece, "index": 0}]),
        ]
    reply, codes = read(stream(*parts, pieces("content", ANSWER)))
    assert (reply.reasoning, reply.reasoning_field) == (THOUGHT, "reasoning_details")
    assert reply.reasoning_details == ({"type": "reasoning.text", "index": 0, "text": THOUGHT},)
    assert codes == set()


def test_details_as_snapshots_are_one_text() -> None:
    parts = [
        delta(reasoning_details=[{"type": "reasoning.text", "index": 0, "text": THOUGHT[:i]}])
        for i in range(10, len(THOUGHT) + 1)
    ]
    reply, codes = read(stream(*parts, pieces("content", ANSWER)))
    assert (reply.reasoning, codes) == (THOUGHT, set())
    assert reply.reasoning_details[0]["text"] == THOUGHT


def test_signature_and_encrypted_details_are_kept() -> None:
    parts = [
        delta(reasoning_details=[{"type": "reasoning.text", "index": 0, "text": "Plan."}]),
        delta(reasoning_details=[{"type": "reasoning.text", "index": 0, "signature": "s1"}]),
        delta(reasoning_details=[{"type": "reasoning.encrypted", "index": 1, "data": "AAA"}]),
    ]
    reply, _ = read(stream(*parts, pieces("content", ANSWER)))
    assert reply.reasoning == "Plan."
    assert reply.reasoning_details == (
        {"type": "reasoning.text", "index": 0, "signature": "s1", "text": "Plan."},
        {"type": "reasoning.encrypted", "index": 1, "data": "AAA"},
    )


def test_typed_blocks_of_a_whole_message() -> None:
    content = [
        {"type": "thinking", "thinking": [{"type": "text", "text": THOUGHT}]},
        {"type": "text", "text": ANSWER},
    ]
    reply, codes = read(body({"role": "assistant", "content": content}))
    assert (reply.reasoning, reply.content, reply.reasoning_field) == (THOUGHT, ANSWER, "blocks")
    assert codes == set()


@pytest.mark.parametrize(
    ("opening", "closing"),
    [
        ("<think>", "</think>"),
        ("<thinking>\n", "\n</thinking>\n\n"),
        ("[THINK]", "[/THINK]"),
        ("<seed:think>", "</seed:think>"),
        ("\n\n<think>", "</think>"),
    ],
)
def test_leading_block_is_a_form_of_delivery(opening: str, closing: str) -> None:
    reply, codes = read(stream(pieces("content", opening + THOUGHT + closing + ANSWER, 3)))
    assert (reply.reasoning or "").strip() == THOUGHT
    assert (reply.content or "").strip() == ANSWER
    assert (reply.reasoning_field, codes) == ("inline", set())


def test_empty_block_is_no_reasoning() -> None:
    reply, codes = read(stream(pieces("content", "<think>\n\n</think>\n\n" + ANSWER)))
    assert (reply.reasoning, (reply.content or "").strip(), codes) == (None, ANSWER, set())


@pytest.mark.parametrize("size", [1, 4, 1000])
@pytest.mark.parametrize("gap", ["\n\n", "", " "])
def test_missing_opening_tag(size: int, gap: str) -> None:
    reply, codes = read(stream(pieces("content", f"{THOUGHT}</think>{gap}{ANSWER}", size)))
    assert (reply.reasoning, (reply.content or "").strip()) == (THOUGHT, ANSWER)
    assert codes == {"reasoning.leaked_to_content"}


@pytest.mark.parametrize(
    "text",
    [
        "The template ends a block with `</think>` and goes on.",
        "```\nplan\n</think>\nanswer\n```\nThat is how it looks.",
        "~~~text\n</think>\n~~~\nas quoted",
        "The parser waits for </think> in older templates.",
        'It looks for "</think>" there.',
        "Between <think> and </think> stands the plan.",
    ],
)
def test_mentioned_tags_are_text(text: str) -> None:
    reply, codes = read(stream(pieces("reasoning", THOUGHT), pieces("content", text)))
    assert (reply.reasoning, reply.content, codes) == (THOUGHT, text, set())


def test_later_block_is_a_leak() -> None:
    text = f"{ANSWER}\n<think>Wait, note_c too.</think>\nI stay with note_b."
    reply, codes = read(stream(pieces("content", text)))
    assert reply.reasoning == "Wait, note_c too."
    assert "<think>" not in (reply.content or "")
    assert codes == {"reasoning.leaked_to_content"}


def test_only_the_first_closing_tag_closes() -> None:
    sentence = "I compare the notes again."
    reply, codes = read(stream(pieces("content", (sentence + "</think>") * 5)))
    assert reply.reasoning == sentence
    assert codes == {"reasoning.leaked_to_content"}


def test_open_block_with_finish_stop() -> None:
    reply, codes = read(stream(pieces("content", "<think>\n" + THOUGHT)))
    assert ((reply.reasoning or "").strip(), reply.content) == (THOUGHT, None)
    assert codes == {"reasoning.unclosed"}


def test_untagged_thinking_cut_at_the_limit() -> None:
    text = "Okay, the user wants a ranking of three notes. Let me look at them one"
    message = {"role": "assistant", "content": text, "reasoning_content": None}
    reply, codes = read(body(message, "length", 64), stream=False, max_tokens=64, thinking=True)
    assert (reply.reasoning, reply.content) == (text, None)
    assert codes == {"reasoning.unclosed", "reasoning.exhausted_budget"}


def test_answer_cut_at_the_limit_is_no_thinking() -> None:
    reply, codes = read(
        stream(pieces("content", ANSWER), reason="length", tokens=64), max_tokens=64, thinking=True
    )
    assert (reply.reasoning, reply.content, codes) == (None, ANSWER, {"text.truncated"})


def test_answer_in_both_fields_counts_once() -> None:
    reply, codes = read(
        stream(pieces("reasoning_content", ANSWER), delta(content=ANSWER)), thinking=False
    )
    assert (reply.reasoning, reply.content) == (None, ANSWER)
    assert codes == {"reasoning.content_in_reasoning"}


def test_answer_behind_a_tag_in_the_reasoning_field() -> None:
    text = f"<think>{THOUGHT}</think>\n\n{ANSWER}"
    reply, codes = read(stream(pieces("reasoning_content", text)), thinking=True)
    assert (reply.reasoning, (reply.content or "").strip()) == (THOUGHT, ANSWER)
    assert codes == {"reasoning.content_in_reasoning"}


def test_tag_piece_is_no_reasoning() -> None:
    reply, codes = read(stream(delta(reasoning_content="think>"), pieces("content", ANSWER)))
    assert (reply.reasoning, reply.content, codes) == (None, ANSWER, set())


@pytest.mark.parametrize(
    ("text", "thought", "answer"),
    [
        (f"analysis{THOUGHT}assistantfinal{ANSWER}", THOUGHT, ANSWER),
        (
            f"<|start|>assistant<|channel|>analysis<|message|>{THOUGHT}<|end|>"
            f"<|start|>assistant<|channel|>commentary<|message|>I look. <|end|>"
            f"<|start|>assistant<|channel|>final<|message|>{ANSWER}<|return|>",
            THOUGHT,
            f"I look. {ANSWER}",
        ),
        (f"<|channel|>final<|message|>{ANSWER}", None, ANSWER),
        (f"<|channel>thought\n{THOUGHT}<channel|>{ANSWER}", THOUGHT, ANSWER),
        (
            f"<|open|>think<|sep|>{THOUGHT}<|close|>think<|sep|>"
            f"<|open|>response<|sep|>{ANSWER}<|close|>response<|sep|>",
            THOUGHT,
            ANSWER,
        ),
    ],
)
def test_channels_in_content(text: str, thought: str | None, answer: str) -> None:
    reply, codes = read(stream(pieces("content", text, 5)), thinking=True)
    assert ((reply.reasoning or "").strip() or None) == thought
    assert (reply.content or "").strip() == answer
    assert codes == {"reasoning.leaked_to_content"}


def test_words_that_begin_like_a_channel_are_text() -> None:
    text = "analysis of the notes: note_b comes first."
    reply, codes = read(stream(pieces("content", text)))
    assert (reply.content, codes) == (text, set())


def test_doubled_content_counts_once() -> None:
    words = [word + " " for word in ANSWER.split()]
    doubled = b"".join(delta(content=word) * 2 for word in words)
    reply, codes = read(stream(pieces("reasoning", THOUGHT), doubled))
    assert ((reply.content or "").strip(), reply.reasoning) == (ANSWER, THOUGHT)
    assert codes == {"reasoning.duplicated_by_transport"}


def test_deltas_doubled_in_themselves_count_once() -> None:
    words = [word + " " for word in THOUGHT.split()]
    doubled = b"".join(delta(reasoning=word * 2) for word in words)
    reply, codes = read(stream(doubled, pieces("content", ANSWER)))
    assert (reply.reasoning or "").strip() == THOUGHT
    assert codes == {"reasoning.duplicated_by_transport"}


def test_whole_reasoning_again_counts_once() -> None:
    reply, codes = read(
        stream(pieces("reasoning", THOUGHT), delta(reasoning=THOUGHT), pieces("content", ANSWER))
    )
    assert reply.reasoning == THOUGHT
    assert codes == {"reasoning.duplicated_by_transport"}


def test_loop_of_one_token_is_not_doubled() -> None:
    reply, codes = read(stream(delta(reasoning="na ") * 60, pieces("content", ANSWER)))
    assert (reply.reasoning, codes) == ("na " * 60, set())


def test_thinking_off_and_calls() -> None:
    parts = [pieces("reasoning", THOUGHT), call(0, id="c1", name="list_files", arguments="{}")]
    reply, codes = read(stream(*parts, reason="tool_calls"), thinking=False)
    assert (reply.reasoning, codes) == (THOUGHT, {"server.ignored_parameter"})


def test_halves_of_characters() -> None:
    halves = b'data: {"choices":[{"delta":{"reasoning":"\\ud83d"}}]}\n\n'
    halves += b'data: {"choices":[{"delta":{"reasoning":"\\ude42 fine"}}]}\n\n'
    lone = b'data: {"choices":[{"delta":{"content":"cut \\ud83d off"}}]}\n\n'
    reply, _ = read(stream(halves, lone))
    assert (reply.reasoning, reply.content) == ("\U0001f642 fine", "cut \ufffd off")


@pytest.mark.parametrize(
    "text",
    [
        f"<|open|>think<|sep|>{THOUGHT}<|open|>response<|sep|>{ANSWER}<|close|>response<|sep|>",
        f"{THOUGHT}<|close|>think<|sep|><|open|>response<|sep|>{ANSWER}<|close|>response<|sep|>",
    ],
)
def test_channels_left_without_closing(text: str) -> None:
    reply, codes = read(stream(pieces("content", text, 5)), thinking=True)
    assert ((reply.reasoning or "").strip(), (reply.content or "").strip()) == (THOUGHT, ANSWER)
    assert codes == {"reasoning.leaked_to_content"}


@pytest.mark.parametrize("tag", ["", "\n</think>"])
def test_budget_sentence_is_no_answer(tag: str) -> None:
    forced = "Considering the limited time by the user, I have to give the answer now."
    content = pieces("content", f"{forced}{tag}\n\n{ANSWER}")
    reply, codes = read(stream(pieces("reasoning", THOUGHT), content), thinking=True)
    assert (reply.content or "").strip() == ANSWER
    assert codes == {"reasoning.leaked_to_content"}


def test_thinking_in_content_and_in_its_field_is_one_text() -> None:
    text = f"<think>\n{THOUGHT}\n</think>\n\n{ANSWER}"
    parts = [pieces("reasoning_content", THOUGHT), pieces("content", text)]
    reply, codes = read(stream(*parts), thinking=True)
    assert (reply.reasoning, (reply.content or "").strip()) == (THOUGHT, ANSWER)
    assert (reply.reasoning_field, codes) == ("inline", set())
