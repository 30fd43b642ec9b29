"""Which session a request belongs to."""

from __future__ import annotations

from typing import Any

from evalstab.intake.exchange import Exchange, without_shared
from evalstab.intake.grouping import Grouping, named_session, route

SYSTEM = {"role": "system", "content": "Work."}
ASK = {"role": "user", "content": "Rank the offers."}


def _said(text: str) -> dict[str, str]:
    return {"role": "assistant", "content": text}


def _body(*messages: Any) -> dict[str, Any]:
    return {"messages": [SYSTEM, ASK, *messages]}


def test_a_path_names_its_session_and_nothing_else_changes() -> None:
    assert route("/s/trial-1/v1/models").path == "/v1/models"
    assert route("/s/trial-1/v1/models").session == "trial-1"
    assert route("/v1/models").session is None
    assert route("/s/..%2f../v1/x").session == "2f"


def test_agents_name_their_sessions() -> None:
    assert named_session({"x-session-id": "ses_1"}, {}) == "ses_1"
    assert named_session({"session-id": "a"}, {}) == "a"
    user = {"metadata": {"user_id": "device_id:" + "0" * 90 + "session_id:d"}}
    assert named_session({"x-claude-code-session-id": "d"}, user) == "d"
    assert named_session({}, {"prompt_cache_key": "b"}) == "b"
    assert named_session({}, {"metadata": {"user_id": "c"}}) == "c"
    assert named_session({}, _body()) is None


def test_conversations_that_go_on_are_one_session_and_the_same_opening_is_another() -> None:
    grouping = Grouping()
    first = grouping.session(_body())
    assert grouping.session(_body(_said("a"), ASK)) == first
    second = grouping.session(_body())
    assert second != first
    assert grouping.session(_body(_said("b"))) == second
    assert grouping.session(_body(_said("a"), ASK, _said("c"))) == first
    assert grouping.session({"input": "alone"}) not in (first, second)


def test_the_same_request_again_after_a_failure_is_the_same_session() -> None:
    grouping = Grouping()
    first = grouping.session(_body())
    grouping.ended(first, failed=True)
    assert grouping.session(_body()) == first


def test_turns_that_were_written_before_are_not_written_again() -> None:
    body, shared = without_shared(_body(_said("a")), _body()["messages"])
    assert shared == 2
    assert body["messages"] == [_said("a")]
    assert without_shared({"model": "x"}, []) == ({"model": "x"}, 0)
    assert Exchange().shared == 0


def _says(id_: str) -> dict[str, Any]:
    return {"content": None, "tool_calls": [{"id": id_, "name": "look", "arguments": "{}"}]}


def test_two_agents_that_say_the_same_at_once_are_told_apart_by_their_answers() -> None:
    grouping = Grouping()
    names = {}
    for agent in ("a", "b"):
        names[agent] = grouping.session(_body())
        grouping.ended(names[agent], failed=False, said=_says(f"call_{agent}"))
    assert names["a"] != names["b"]
    for agent in ("a", "b", "b", "a"):
        call = {"role": "assistant", "tool_calls": [{"id": f"call_{agent}"}]}
        again = names[agent]
        assert grouping.session(_body(call, {"role": "tool", "content": "seen"})) == again
        grouping.ended(again, failed=False, said=_says("call_next"))


def test_the_same_again_in_the_middle_is_the_same_session_where_no_other_stands_there() -> None:
    grouping = Grouping()
    first, second = grouping.session(_body()), grouping.session(_body())
    longer = _body(_said("a"), ASK)
    assert grouping.session(longer) == second
    assert grouping.session(longer) == first
    assert grouping.session(longer) in (first, second)
    assert grouping.session(_body(_said("a"), ASK, _said("b"))) in (first, second)
