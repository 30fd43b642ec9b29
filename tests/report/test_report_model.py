"""What a report says: the first screen, the tables, and what it says where nothing is known."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from evalstab.report import markdown
from evalstab.report.model import build_report
from evalstab.report.page import (
    Bullets,
    Command,
    Paragraph,
    Quotes,
    Report,
    Section,
    Table,
)
from tests.report.report_cases import Scores, five_run, folder_at, nulled, scores_of


def section(report: Report, title: str) -> Section:
    return next(section for section in report.sections if section.title == title)


def table(report: Report, title: str) -> Table:
    return next(block for block in section(report, title).blocks if isinstance(block, Table))


def row(report: Report, title: str, first: str) -> tuple[str, ...]:
    return next(row for row in table(report, title).rows if row[0] == first)


def words(report: Report) -> list[str]:
    """Every string of a report."""
    found = [report.title, report.question, report.answer.line, *report.answer.points]
    found += report.notices
    for part in report.sections:
        found.append(part.title)
        for block in part.blocks:
            match block:
                case Paragraph(text):
                    found.append(text)
                case Bullets(items) | Command(items):
                    found += items
                case Table(header, rows, _):
                    found += [*header, *(cell for cells in rows for cell in cells)]
                case Quotes(items):
                    found += [text for quote in items for text in (quote.where, quote.text)]
                case _:
                    found += [block.title, block.alt]
    return found


@pytest.fixture(name="report", scope="module")
def _report() -> Report:
    return build_report(*five_run())


def test_the_first_screen_answers_the_question(report: Report) -> None:
    assert report.question == (
        "Can this model's judgement be trusted at about 62,000 tokens of active context?"
    )
    assert report.answer.line == (
        "No gate was asked. The ranking is not reproducible: the first place changed in 3 of 4 "
        "successive trials (person_11 three times, person_06 once, person_09 once)."
    )
    assert [point.split(":")[0] for point in report.answer.points] == [
        "Files",
        "Order",
        "Scale",
        "Faults of the model in 3 of 5 trials",
        "Not seen",
    ]
    assert "48 % to 100 %" in report.answer.points[0]
    assert report.notices == ()


def test_the_five_run_table(report: Report) -> None:
    assert table(report, "In short").rows == (
        ("complete deliverables", "5 of 5"),
        ("highest total awarded, per trial", "158, 79, 75, 105, 80"),
        ("first place", "person_11 three times, person_06 once, person_09 once"),
        ("places of person_09, the winner that moved most", "5 → 6 → 3 → 1 → 7"),
        ("reasoning tokens per trial", "6,712 to 12,880"),
        ("largest single reasoning block", "10,070 tokens"),
        ("foreign-script and foreign-language spans", "1, in 1 of 5 trials"),
        ("unfinished tool calls", "1, in 1 of 5 trials"),
        ("active context of the ranking", "60,840 to 64,310"),
        ("wall time per trial", "18 min to 38 min"),
    )


def test_every_number_says_how_sure_it_is(report: Report) -> None:
    stable = table(report, "How stable, and how sure")
    assert all(all(cells) for cells in stable.rows)
    rows = {cells[0]: cells[1:4] for cells in stable.rows}
    assert rows["Kendall tau, mean"] == ("0.77", "0.54 to 0.89", "0")
    assert rows["winner, pair agreement"] == ("0.30", "0.00 to 1.00", "0.09 (1/M)")
    assert rows["winner, most frequent"] == ("60 %", "15 % to 95 %", "over 20 % (1/N)")
    assert rows["Kendall W"][2] == "0.20 (1/N)"
    assert rows["scale, SD of ln(top score)"][:2] == ("0.31", "0.19 to 0.90")
    assert rows["noise ceiling of tau"][:2] == ("not known", "needs points for each criterion")


def test_values_that_were_not_set_and_not_captured_are_said_to_be_so(report: Report) -> None:
    assert row(report, "What ran", "sampling")[1].endswith(
        "not set: presence_penalty, max_tokens, seed"
    )
    assert row(report, "What ran", "launch")[1] == "not captured"


def test_the_command_to_reproduce(report: Report) -> None:
    command = next(b for b in section(report, "How to reproduce").blocks if isinstance(b, Command))
    assert command.lines[0] == (
        "evalstab run eleven-profiles --endpoint minimax-awq --repeats 5 --seed 1 --context 60000"
    )


def test_findings_are_kept_apart_by_side_with_marked_excerpts(report: Report) -> None:
    sides = [cells[0] for cells in table(report, "Findings").rows]
    assert sides == ["model"] * 4 + ["endpoint", "harness"]
    quotes = next(b for b in section(report, "Findings").blocks if isinstance(b, Quotes))
    leak = next(quote for quote in quotes.items if "foreign_script" in quote.where)
    assert leak.where == "text.foreign_script, trial 2, step 21, at 48,120 tokens, reasoning"
    assert leak.text == "…ng ist solide, aber ⟦综合考虑⟧ fehlt die Leitungse…"


def test_an_excerpt_that_the_record_does_not_hold_stands_alone() -> None:
    folder, scores = five_run()
    found = scores["trials"][1]["findings"][0]
    found |= {"start": 3, "end": 9}
    quotes = next(
        b for b in section(build_report(folder, scores), "Findings").blocks if isinstance(b, Quotes)
    )
    assert [q.text for q in quotes.items if "foreign_script" in q.where] == ["综合考虑"]


def test_a_damaged_record_costs_only_the_surroundings(tmp_path: Path) -> None:
    _, scores = five_run()
    folder = folder_at(tmp_path)
    record = tmp_path / "trials" / "002" / "events.jsonl"
    record.parent.mkdir(parents=True)
    record.write_bytes(b'{"type": "step", "number":\n\xff\xfe\n')
    assert "综合考虑" in "".join(words(build_report(folder, scores)))


@pytest.mark.parametrize(
    ("totals", "line"),
    [
        (
            [[9, 5, 1]] * 3,
            "No gate was asked. The order came out the same in all 3 ranked trials.",
        ),
        (
            [[9, 5, 1], [9, 1, 5], [9, 5, 1]],
            "No gate was asked. The first place was the same in all 3 ranked trials, the order "
            "behind it moved.",
        ),
        (
            [[9, 5, 1], [None] * 3, [None] * 3],
            "No gate was asked. Only one trial delivered a ranking: whether it comes out again is "
            "not known.",
        ),
        (
            [[None] * 3] * 4,
            "No gate was asked. No trial delivered a usable ranking: its stability cannot be "
            "judged.",
        ),
        ([[9, 5, 1]], "No gate was asked. Only one trial delivered a ranking: whether it comes "
                      "out again is not known."),
        (
            [[5, 5, 5], [5, 5, 5]],
            "No gate was asked. 2 trials delivered a ranking; how far they agree could not be "
            "computed.",
        ),
    ],
)  # fmt: skip
def test_plain_reading(tmp_path: Path, totals: Any, line: str) -> None:
    assert build_report(folder_at(tmp_path), scores_of(totals)).answer.line == line


def test_two_trials_have_no_interval_and_say_so(tmp_path: Path) -> None:
    report = build_report(folder_at(tmp_path), scores_of([[9, 5, 1], [9, 1, 5]]))
    sure = row(report, "How stable, and how sure", "Kendall tau, mean")[2]
    assert sure.startswith("no interval: ")


def test_tied_first_places_share_the_cell(tmp_path: Path) -> None:
    report = build_report(folder_at(tmp_path), scores_of([[9, 9, 1], [7, 5, 1], [5, 5, 5]]))
    firsts = [cells[3] for cells in table(report, "Trials").rows]
    assert firsts == ["candidate_01 = candidate_02", "candidate_01", "3 tied"]


def test_a_partial_series_has_no_verdict(tmp_path: Path) -> None:
    scores = scores_of([[9, 5, 1], [9, 1, 5], [None] * 3])
    scores["trials"][2] |= {"outcome": "invalid", "reason": "GPU 6 fell off the bus"}
    scores["series"] |= {
        "repeats_planned": 5,
        "attempts": 4,
        "invalid": 2,
        "attrition": {"server.dead": 2},
    }
    report = build_report(folder_at(tmp_path), scores)
    assert report.answer.line == "2 of 5 valid, no verdict."
    assert report.answer.points[0].startswith("Judgement: The first place was the same")
    assert [cells[1] for cells in table(report, "Trials").rows] == [
        "completed", "completed", "invalid", "not run", "not run",
    ]  # fmt: skip
    assert "Lost to server.dead (rig: the engine behind the server died): 2." in words(report)
    assert "Trial 3 invalid: GPU 6 fell off the bus" in words(report)


def test_no_trial_and_only_spoilt_trials(tmp_path: Path) -> None:
    folder, scores = folder_at(tmp_path), scores_of([[None] * 3] * 2)
    for trial in scores["trials"]:
        trial["outcome"] = "invalid"
    assert build_report(folder, scores).answer.line.startswith("0 of 2 valid, no verdict")
    scores["trials"] = []
    assert build_report(folder, scores).answer.line == (
        "No trial has finished: nothing can be said about the model."
    )
    assert build_report(folder, {}).answer.line == (
        "No trial has finished: nothing can be said about the model."
    )


def test_identical_trials_are_called_determinism(tmp_path: Path) -> None:
    scores = scores_of([[9, 5, 1]] * 5)
    scores["findings"] = [{"code": "series.no_variation", "side": "harness"}]
    report = build_report(folder_at(tmp_path), scores)
    assert "determinism, not stability" in report.answer.line
    assert report.notices == ("All trials are identical: determinism, not stability.",)


def test_a_client_that_fell_behind_says_so_first(tmp_path: Path) -> None:
    scores = scores_of([[9, 5, 1], [5, 9, 1]] * 3)
    reasons = {"the client stood still for 9% of the time": 2}
    detail = {"trials": [2, 5], "answers": [1, 3], "reasons": reasons}
    scores["findings"] = [{"code": "series.saturated", "side": "harness", "detail": detail}]
    report = build_report(folder_at(tmp_path), scores)
    assert report.notices == (
        "This client could not keep up with the stream of 1 answer in trial 2, 3 answers in trial "
        "5: their rates are unknown and left out, those of all other answers stand.",
    )


def test_simulated_and_fixed_seed_are_announced(tmp_path: Path) -> None:
    folder, scores = folder_at(tmp_path, settings={"sampling": {"seed": 7}}), five_run()[1]
    scores["series"]["simulated"] = True
    report = build_report(folder, scores)
    assert report.notices[0] == "Simulated endpoint, no model was judged."
    assert report.notices[1].startswith("A fixed sampling seed was sent (7)")
    assert report.question.startswith("Can this judgement be trusted")


def verdict(status: str, **more: Any) -> Scores:
    rule = {
        "name": "tau", "kind": "metric", "value": 0.3, "ci_low": 0.1, "ci_high": 0.45,
        "threshold": 0.5, "status": status, "reason": "the whole interval lies below 0.5",
    }  # fmt: skip
    return {"status": status, "gate": "nightly", "rules": [rule], "next": [], **more}


@pytest.mark.parametrize(
    ("given", "line"),
    [
        (verdict("fail"), "Fail: gate nightly failed after 5 trials (tau)."),
        (
            verdict("pass", provisional=True),
            "Pass: gate nightly passed provisionally after 5 trials, unseen share up to 45 %.",
        ),
        (
            verdict("undecided", more_repeats_needed=3),
            "Undecided: gate nightly is open after 5 trials (tau). About 3 more trials could "
            "decide it.",
        ),
        (verdict("invalid"), "Invalid: gate nightly cannot be judged by these trials (tau)."),
    ],
)
def test_verdict_lines(given: Scores, line: str) -> None:
    folder, scores = five_run()
    scores["verdict"] = given
    report = build_report(folder, scores)
    assert report.answer.line == line
    assert report.answer.points[0].startswith("Judgement: The ranking is not reproducible")
    assert row(report, "Gate", "tau")[2:5] == ("0.3", "0.10 to 0.45", "0.5")


def test_nothing_known_is_said_and_never_zero() -> None:
    folder, scores = five_run()
    for key in ("stability", "verdict", "findings"):
        scores[key] = nulled(scores[key])
    kept = ("index", "outcome")
    scores["trials"] = [
        nulled(trial) | {key: trial[key] for key in kept} for trial in scores["trials"]
    ]
    report = build_report(folder, scores)
    stable = table(report, "How stable, and how sure")
    assert {cells[1] for cells in stable.rows} == {"not known"}
    assert "not known: no reason stated" in row(report, "In short", "reasoning tokens per trial")[1]
    assert [text for text in words(report) if {"None", "nan"} & set(text.split())] == []


def test_hostile_names_become_one_bounded_visible_line(tmp_path: Path) -> None:
    evil = "\x1b[31mred\u202e\n| <script>" + "\u0301" * 500 + "x" * 5000
    scores = scores_of([[9, 5], [5, 9], [9, 5]], ids=[evil, "calm"])
    scores["series"] |= {"endpoint": evil, "model": evil, "task": evil}
    scores["trials"][0]["reason"] = evil
    scores["trials"][0]["outcome"] = "failed"
    scores["trials"][0]["findings"] = [
        {"code": evil, "side": evil, "channel": evil, "step": 1, "excerpt": evil}
    ]
    report = build_report(folder_at(tmp_path, endpoint={"name": evil}), scores)
    for text in words(report):
        assert "\x1b" not in text
        assert "\u202e" not in text
        assert "\n" not in text
        assert "\u0301" * 4 not in text
    assert max(map(len, words(report))) < 12_000
    assert all(
        len(line.label) <= 40 for f in report.figures for line in getattr(f.data, "lines", ())
    )


def test_findings_that_were_left_out_are_counted() -> None:
    folder, scores = five_run()
    scores["trials"][1]["findings_omitted"] = {"text.foreign_script": 70}
    report = build_report(folder, scores)
    found = next(c for c in table(report, "Findings").rows if c[1] == "text.foreign_script")
    assert found[3] == "71"


def test_a_series_that_is_not_complete_says_how_to_go_on(tmp_path: Path) -> None:
    scores = scores_of([[9, 5, 1], [9, 1, 5]])
    scores["series"]["repeats_planned"] = 5
    report = build_report(folder_at(tmp_path / "a night"), scores)
    assert report.notices == ("The series is not complete: evalstab resume 'a night' goes on.",)


def test_first_places_that_differ_in_an_unknown_order(tmp_path: Path) -> None:
    scores = scores_of([[9, 5, 1], [1, 5, 9], [9, 1, 5]])
    scores["stability"]["winner"]["changes"] = None
    line = build_report(folder_at(tmp_path), scores).answer.line
    assert "2 different first places in 3 trials (candidate_01 twice, candidate_03 once)" in line


def test_accuracy_stands_apart_where_there_is_a_truth() -> None:
    folder, scores = five_run()
    scores["trials"][0]["accuracy"] = {
        "kendall_tau_truth": 0.891, "mean_abs_error": 12.345, "winner_right": True,
    }  # fmt: skip
    report = build_report(folder, scores)
    assert table(report, "Against the known truth").rows[:2] == (
        ("1", "0.89", "12.3", "yes"),
        ("2", "–", "–", "–"),
    )


def test_places_belong_to_the_trials_that_the_scores_name(tmp_path: Path) -> None:
    scores = scores_of([[9, 5, 1], [None] * 3, [9, 1, 5]])
    scores["trials"][1]["outcome"] = "invalid"
    scores["stability"]["trials"] = [1, 3, 4]
    report = build_report(folder_at(tmp_path), scores)
    assert table(report, "Places of each candidate").header[1:4] == ("1", "3", "4")


def test_a_scale_that_never_moved_has_no_interval_of_width_zero(tmp_path: Path) -> None:
    report = build_report(folder_at(tmp_path), scores_of([[9, 5, 1], [9, 1, 5], [9, 5, 2]]))
    found = row(report, "How stable, and how sure", "scale, SD of ln(top score)")
    assert found[1:3] == ("0.00", "no interval: no variation was seen")


def test_a_winner_that_never_moved(tmp_path: Path) -> None:
    report = build_report(folder_at(tmp_path), scores_of([[9, 5, 1]] * 3))
    found = row(report, "In short", "places of one candidate over the trials")
    assert found[1] == "candidate_01 did not move"


@pytest.mark.parametrize(("ceiling", "better"), [(0.82, True), (0.999, False)])
def test_the_noise_ceiling_is_a_yardstick(ceiling: float, better: bool) -> None:
    folder, scores = five_run()
    scores["stability"]["kendall_tau"] |= {"mean": 0.9, "noise_ceiling": ceiling}
    report = build_report(folder, scores)
    line = next(point for point in report.answer.points if point.startswith("Order:"))
    told = row(report, "How stable, and how sure", "noise ceiling of tau")[-1]
    assert "As a yardstick: judges who err by one point a criterion would reach about" in line
    for text in (line, told):
        assert ("these trials agree better than that" in text) is better
        assert "cannot be asked" not in text


def test_missing_values_of_the_cold_step_have_sentences_of_their_own(tmp_path: Path) -> None:
    scores = five_run()[1]
    stalled = "the client stood still for 64% of the time"
    cold = {
        "trial": 1, "context_tokens": 3_100, "ttft_s": None, "ttft_s_reason": stalled,
        "prefill_tok_s": None, "prefill_tok_s_reason": stalled,
    }  # fmt: skip
    scores["trials"][0]["speed"] = {"by_context": [{"context_tokens": 3_100, "ttft_s": 1.0}]}
    scores["speed"] = {"sources": [{"source": "client clock"}], "cold_first": cold}
    told = markdown.render(build_report(folder_at(tmp_path), scores))
    assert (
        f"The time to the first token of its first step is not known: {stalled}. Its prefill rate "
        "is not known for the same reason." in told
    )


def test_the_decode_rate_on_top_is_that_of_the_history_and_called_simulated(tmp_path: Path) -> None:
    scores = five_run()[1]
    scores["speed"] = {"decode_tok_s": {"p50": 40.0}, "context_tokens": 61_000}
    assert dict(build_report(folder_at(tmp_path), scores).headline)["decode rate"] == (
        "40.0 tok/s at 61k"
    )
    scores["series"]["simulated"] = True
    assert "decode rate, simulated" in dict(build_report(folder_at(tmp_path), scores).headline)
