"""How many tokens a conversation has, where only its length is known."""

from __future__ import annotations

from dataclasses import dataclass

from evalstab.chat import Usage
from evalstab.endpoint.base import History

_CAUTIOUS = 6.0
_SLACK = 1.3


@dataclass(slots=True)
class PromptEstimate:
    """A lower estimate of prompt tokens, learnt from what the server counted so far.

    ``fixed_bytes`` is the size of the tool definitions, which are part of every prompt. Before the
    first count a token is taken to have six bytes, which hardly any text exceeds; afterwards the
    server's own ratio is used with some slack. So an estimate never accuses a server of having
    read too little without cause.
    """

    fixed_bytes: int = 0
    bytes_per_token: float = _CAUTIOUS

    def of(self, history: History) -> int:
        """Tokens that the conversation has at least, roughly."""
        return int(self._size(history) / self.bytes_per_token)

    def learn(self, history: History, usage: Usage | None) -> None:
        """Take over the server's own ratio, once it has counted this conversation."""
        if usage and usage.prompt_tokens and self.bytes_per_token == _CAUTIOUS:
            ratio = _SLACK * self._size(history) / usage.prompt_tokens
            self.bytes_per_token = min(max(ratio, 2.0), _CAUTIOUS)

    def _size(self, history: History) -> int:
        return self.fixed_bytes + sum(map(len, history.messages))
