"""The APIs through which a simulated server is asked: how each asks, and how it is answered."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from evalstab.chat import Json
from evalstab.sim import asking
from evalstab.sim.answering import Plan
from evalstab.sim.chat_form import ChatForm
from evalstab.sim.dialect import Dialect
from evalstab.sim.frames import Form
from evalstab.sim.messages_form import MessagesForm
from evalstab.sim.refusals import Refusal
from evalstab.sim.responses_form import ResponsesForm


@dataclass(frozen=True, slots=True)
class Api:
    """One API: its path, its request as one for chat completions, and the form of its answers.

    ``unseen`` are the faults that leave no trace in this form: they are not injected. The chat
    request has its reasoning in the field that the dialect reads back.
    """

    path: str
    chat_request: Callable[[Json, str], Json]
    form: Callable[[Plan], Form]
    unseen: frozenset[str] = frozenset()


def _as_it_is(body: Json, _: str) -> Json:
    return body


CHAT = Api("/v1/chat/completions", _as_it_is, ChatForm)
RESPONSES = Api(
    "/v1/responses",
    asking.of_responses,
    ResponsesForm,
    # Nothing says why an answer ended, and without its last event it has broken off.
    frozenset({"missing-call", "no-done", "no-finish"}),
)
MESSAGES = Api("/v1/messages", asking.of_messages, MessagesForm)
_BESIDE: Mapping[str, Api] = {"responses": RESPONSES, "messages": MESSAGES}


def spoken(dialect: Dialect) -> list[Api]:
    """The APIs that a server speaks."""
    return [CHAT, *(_BESIDE[name] for name in dialect.speaks)]


def refusal_in(api: Api, dialect: Dialect, refused: Refusal) -> Refusal:
    """A refusal in the form of the API: vLLM has an own one for messages."""
    told = refused.body.get("error")
    if api is not MESSAGES or dialect.events != "numbered" or not isinstance(told, dict):
        return refused
    inner = {"type": told.get("type"), "message": told.get("message")}
    return replace(refused, body={"type": "error", "error": inner})
