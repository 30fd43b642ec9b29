"""Control tokens as visible text."""

import pytest

from evalstab.text.inputs import InputIndex
from evalstab.text.special_tokens import special_tokens


@pytest.mark.parametrize(
    "token",
    ["<|im_end|>", "<|eot_id|>", "<｜end▁of▁sentence｜>", "[e~[", "]~!b[", "]~b]", "[/INST]",
     "<<SYS>>", "<end_of_turn>", "<bos>", "[TOOL_CALLS]", "<fim_middle>", "<unused42>", "<0xE4>"],
)  # fmt: skip
def test_control_tokens(token: str) -> None:
    text = f"Das Ergebnis steht fest.{token} Danke"
    (span,) = special_tokens(text)
    assert text[span.start : span.end] == span.detail["token"] == token
    assert (span.kind, span.tier) == ("special_token", "sure")


@pytest.mark.parametrize("token", ["</s>", "[MASK]", "<pad>", "ĠdasĠistĠso", "▁das▁ist▁so"])
def test_markers_with_an_honest_use_are_probable(token: str) -> None:
    (span,) = special_tokens(f"Ende {token}")
    assert span.tier == "probable"


@pytest.mark.parametrize(
    "text",
    ["Das Token `<|im_end|>` beendet den Zug.", "```\n<|im_start|>user\n```",
     "Das <s>alte</s> Wort", "a <| b |> c", "Liste [1], [INSTALL], <end>", "x ~ [e, f] ~ y"],
)  # fmt: skip
def test_quoted_and_honest(text: str) -> None:
    assert special_tokens(text) == []


def test_copied_from_an_input() -> None:
    (span,) = special_tokens("Es endet mit <|im_end|>.", InputIndex(["Vorlage: <|im_end|>"]))
    assert span.copied is True
