"""PM-Bench's couplings: an oracle is perfect, who never looks misses what is hidden, and nonsense earns nothing."""

import asyncio
import json
import os
from pathlib import Path

import orjson
import pytest

from artifact.errors import RequestError
from artifact.harness.batch import run_harness
from artifact.harness.pmbench.compile import compile_text, what_happens
from artifact.harness.pmbench.compiles import CompiledWeek
from artifact.harness.pmbench.environment import World
from artifact.harness.pmbench.generate import generate_week
from artifact.harness.pmbench.harness import PMBench
from artifact.harness.pmbench.measures import judged
from artifact.harness.pmbench.plan import WeekPlan
from artifact.harness.pmbench.record import Record, Standing
from artifact.harness.pmbench.records import RECORD_TYPES, AnswerRecord, CompileRecord, StepRecord
from artifact.harness.pmbench.rungs import Rung
from artifact.harness.pmbench.scripted import ScriptedMind
from artifact.harness.pmbench.texts import SETS, load_texts
from artifact.harness.pmbench.truth import intentions
from artifact.harness.reader import iter_harness_logs
from artifact.log.records import EndReason
from artifact.models.base import ModelTimeout, Reply
from test_cli import refused

CHOOSE = {"action": "choose", "choice": "A", "tasks": []}


def run(folder, policy="oracle", mind=None, **options):
    """Run one generated week and give back the verdicts by arm."""
    harness = PMBench(WeekPlan("s", f"scripted:{policy}", weeks=(1,), **options))
    if mind is not None:
        harness._mind = lambda item, week, world: mind(ScriptedMind(policy, week, world))
    asyncio.run(run_harness(harness, "s", runs=folder, durable=False))
    return {verdict.arm: verdict for verdict in judged([folder])}


def logs(folder):
    return {log.header.arm.text: log for log in iter_harness_logs([folder], "pmbench", RECORD_TYPES)}


class Changed:
    """A mind whose answers pass through a function of (purpose, text, number of the call)."""

    def __init__(self, inner, change):
        self._inner, self._change, self.calls = inner, change, 0

    async def answer(self, purpose, messages, *, max_tokens, schema):
        reply = await self._inner.answer(purpose, messages, max_tokens=max_tokens, schema=schema)
        self.calls += 1
        return Reply(self._change(purpose, reply.text, self.calls))


def acting(text):
    return lambda inner: Changed(inner, lambda purpose, said, _: text if purpose == "act" else said)


@pytest.mark.parametrize("prompts", SETS)
def test_an_oracle_scores_set_f1_1_on_every_rung(tmp_path, prompts):
    verdicts = run(tmp_path, prompts=prompts)
    assert {arm: verdict.set_f1 for arm, verdict in verdicts.items()} == {str(rung): 1.0 for rung in Rung}
    for verdict in verdicts.values():
        assert verdict.completed and (verdict.percent("hit"), verdict.refused, verdict.rejected) == (100.0, 0, 0)
        assert (verdict.recorded, verdict.meant) == ((83, 83) if Rung(verdict.arm).owns_record else (0, 0))


@pytest.mark.skipif("ARTIFACT_PM_WEEK" not in os.environ, reason="ARTIFACT_PM_WEEK names no released week's file")
def test_an_oracle_scores_set_f1_1_on_the_released_week(tmp_path):
    verdict = run(tmp_path, rungs=(Rung.RAW,), week_file=Path(os.environ["ARTIFACT_PM_WEEK"]))["raw"]
    assert (verdict.set_f1, verdict.percent("hit")) == (1.0, 100.0)


def test_an_agent_that_never_looks_misses_exactly_the_channel_and_time_intentions(tmp_path):
    for verdict in run(tmp_path, "lazy").values():
        missed = {kind: (one.missed, one.scored) for kind, one in verdict.outcomes.items()}
        assert missed["event"][0] == 0 and verdict.queries == 0 and verdict.false_positives == 0
        assert all(missed[kind] == (missed[kind][1],) * 2 for kind in ("channel", "time"))


def test_a_small_models_matcher_is_not_shown_what_is_only_planned():
    scene = "It rains. Ida waves at you. A note to yourself: when Rosa waves at you, sing. Two dogs bark."
    assert what_happens(scene) == "It rains. Ida waves at you. Two dogs bark."


@pytest.mark.parametrize("text", [
    "I do what is due.", "[]", "{}", '{"action": "choose"', '{"action": "choose", "tasks": ["task_1"]}',
    '{"action": "choose", "choice": "D", "tasks": []}', '{"action": "query_state"}', '{"action": "dance"}',
    json.dumps({**CHOOSE, "tasks": [f"task_{number}" for number in range(9)]}),
    json.dumps({**CHOOSE, "tasks": "task_1"}), "{" * 5000,
])
def test_an_answer_that_cannot_be_read_earns_nothing_and_is_counted(tmp_path, text):
    verdict = run(tmp_path, mind=acting(text), rungs=(Rung.RAW,))["raw"]
    assert verdict.completed and (verdict.set_f1, verdict.true_positives, verdict.false_positives) == (0.0, 0, 0)
    assert (verdict.unanswered, verdict.invalid) == (80, 160)


def test_a_correction_is_asked_for_once_and_its_answer_counts(tmp_path):
    def torn(purpose, text, number):
        return text[:-3] if purpose == "act" and number % 2 else text

    verdict = run(tmp_path, "lazy", mind=lambda inner: Changed(inner, torn), rungs=(Rung.RAW,))["raw"]
    assert (verdict.invalid, verdict.unanswered) == (80, 0) and verdict.outcomes["event"].missed == 0


def test_handles_that_no_menu_lists_select_nothing(tmp_path):
    handles = ["task_999", "../../etc/passwd", "\0"]
    verdict = run(tmp_path, mind=acting(json.dumps({**CHOOSE, "tasks": handles})), rungs=(Rung.RAW,))["raw"]
    assert (verdict.unlisted, verdict.false_positives, verdict.invalid) == (240, 0, 0)


def test_queries_are_capped_and_the_cap_is_reported(tmp_path):
    verdict = run(tmp_path, mind=acting('{"action": "check_time"}'), rungs=(Rung.RAW,), most_queries=3)["raw"]
    assert (verdict.queries, verdict.capped_steps, verdict.unanswered) == (240, 80, 80)


def test_an_unknown_channel_is_answered_and_its_name_is_not_kept(tmp_path):
    def ask(purpose, text, number):
        return '{"action": "query_state", "channel": "../secret"}' if number % 2 else json.dumps(CHOOSE)

    run(tmp_path, mind=lambda inner: Changed(inner, ask), rungs=(Rung.RAW,))
    steps = [one for one in logs(tmp_path)["raw"].records if isinstance(one, StepRecord)]
    assert {one.queries for one in steps} == {("unknown",)}


def test_the_compiled_record_is_the_week_and_receipts_alone_make_done(tmp_path):
    week = generate_week(1)
    run(tmp_path, rungs=(Rung.CHECKLIST,))
    days = {step.id: day for day, step in week.steps()}
    channels = [channel.id for channel in week.all_channels()]
    record = Record([day.day for day in week.days], channels)
    for one in logs(tmp_path)["checklist"].records:
        if isinstance(one, CompileRecord):
            for operation in one.operations:
                record.apply(operation, days[one.step])
    standing = [one.standing for day in range(7) for one in record.of_day(day)]
    assert len(standing) == len(intentions(week)) and standing.count(Standing.CANCELLED) == 2
    assert standing.count(Standing.DONE) == 0
    shown = [one.sent for one in logs(tmp_path)["checklist"].records if isinstance(one, AnswerRecord)]
    assert any("CANCELLED" in text for text in shown) and not any("DONE" in text for text in shown)


def test_judgement_bound_enforcement_executes_nothing_that_the_matcher_did_not_name(tmp_path):
    verdicts = run(tmp_path, "select-all")
    bound, raw = verdicts[Rung.JUDGEMENT], verdicts[Rung.RAW]
    assert bound.false_alarms == 0 < raw.false_alarms and bound.refused_due > 0
    assert bound.outcomes["time"].hit == bound.outcomes["channel"].hit == 0, "no clock reading, no evidence"


def test_state_bound_enforcement_refuses_only_what_is_cancelled_or_done(tmp_path):
    verdicts = run(tmp_path, "select-all")
    bound, raw = verdicts[Rung.STATE], verdicts[Rung.RAW]
    assert bound.refused > 0 and bound.refused_due == 0 and bound.true_positives == raw.true_positives
    assert bound.update_violations < raw.update_violations


def test_only_the_enforcement_rungs_refuse(tmp_path):
    verdicts = run(tmp_path, "select-all")
    assert all(verdicts[rung].refused == 0 for rung in Rung if rung not in (Rung.JUDGEMENT, Rung.STATE))


def test_a_matcher_that_sees_nothing_makes_the_judgement_bound_gate_refuse_what_is_due(tmp_path):
    def blind(inner):
        return Changed(inner, lambda purpose, text, _: '{"handles": []}' if purpose == "match" else text)

    verdicts = run(tmp_path, mind=blind)
    assert verdicts[Rung.JUDGEMENT].set_f1 == 0.0 and verdicts[Rung.JUDGEMENT].refused_due == 81
    assert verdicts[Rung.STATE].set_f1 == verdicts[Rung.DIRECTIVE].set_f1 == 1.0
    assert verdicts[Rung.DIRECTIVE].precision is None


def test_a_record_that_compiles_to_nothing_leaves_no_gate_and_is_counted(tmp_path):
    def deaf(inner):
        return Changed(inner, lambda purpose, text, _: '{"operations": [{"op": "sing"}]}'
                       if purpose.startswith("compile") else text)

    for arm, verdict in run(tmp_path, mind=deaf).items():
        assert (verdict.set_f1, verdict.refused, verdict.operations) == (1.0, 0, 0)
        assert (verdict.rejected > 0) == (arm not in ("raw", "ledger"))


def test_the_ledger_shows_what_the_agent_wrote_last(tmp_path):
    ledger = ["pay the club when Rosa calls"]
    run(tmp_path, mind=acting(json.dumps({**CHOOSE, "ledger": ledger})), rungs=(Rung.LEDGER,))
    sent = [one.sent for one in logs(tmp_path)["ledger"].records if isinstance(one, AnswerRecord)]
    assert "- empty" in sent[0] and all(f"- {ledger[0]}" in text for text in sent[1:])


@pytest.mark.parametrize("operation", [
    {"op": "add", "action": "x", "when": "soon", "trigger": "y"},
    {"op": "add", "action": "x", "when": "time", "trigger": "25:00"},
    {"op": "add", "action": " ", "when": "cue", "trigger": "y"},
    {"op": "add", "action": "x", "when": "channel", "trigger": "y", "channel": "nowhere"},
    {"op": "add", "action": "x", "when": "cue", "trigger": "y", "day": "Someday"},
    {"op": "cancel", "id": "i9"}, {"op": "retime", "id": ["i1"]}, "add", {"op": {}},
])
def test_an_operation_that_cannot_be_used_is_left_out_and_counted(operation):
    texts, record = load_texts("paper"), Record(["Monday"], ["mail"])
    asked = []

    async def ask(messages, *, purpose, schema):
        asked.append(messages)
        good = {"op": "add", "action": "x", "when": "cue", "trigger": "y"}
        return Reply(orjson.dumps({"operations": [good, operation]}).decode())

    compiled, calls = asyncio.run(compile_text(ask, texts, record, step="s", source="plan", text="x when y", day=0,
                                               days=["Monday"], channels=["mail"]))
    assert len(compiled.operations) == len(record) == 1 and len(compiled.rejected) == 1
    assert len(asked) == len(calls) == 2, "the problem was named once"


@pytest.mark.parametrize("killed_at", [1, 37, 150])
def test_a_killed_run_replays_recorded_answers_and_ends_as_an_unbroken_one(tmp_path, killed_at):
    def broken(purpose, text, number):
        if number == killed_at:
            raise KeyboardInterrupt
        return text

    options = {"rungs": (Rung.DIRECTIVE,)}
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path / "killed", mind=lambda inner: Changed(inner, broken), **options)
    partial = logs(tmp_path / "killed").get("directive")
    before = [one for one in partial.records if isinstance(one, AnswerRecord)] if partial else []
    asked = []
    again = run(tmp_path / "killed", mind=lambda inner: Changed(inner, lambda *said: asked.append(said[0]) or said[1]),
                **options)
    whole = run(tmp_path / "whole", **options)
    assert again == whole
    answers = [one for one in logs(tmp_path / "whole")["directive"].records if isinstance(one, AnswerRecord)]
    assert len([one for one in asked if one in ("act", "match")]) == len(answers) - len(before)
    assert logs(tmp_path / "killed")["directive"].records == logs(tmp_path / "whole")["directive"].records


def test_infrastructure_ends_a_run_with_a_reason_and_it_goes_on_later(tmp_path):
    def away(purpose, text, number):
        if number == 50:
            raise ModelTimeout("no answer came")
        return text

    verdict = run(tmp_path, mind=lambda inner: Changed(inner, away), rungs=(Rung.RAW,))["raw"]
    assert verdict.reason == EndReason.TIMEOUT and not verdict.completed
    assert run(tmp_path, rungs=(Rung.RAW,))["raw"].set_f1 == 1.0


def test_the_compile_of_a_week_is_made_once_for_all_rungs_and_taken_up(tmp_path):
    made = []

    def counted(inner):
        return Changed(inner, lambda purpose, text, _: made.append(purpose) or text)

    run(tmp_path, mind=counted)
    compiles = sum(purpose.startswith("compile") for purpose in made)
    assert compiles == 7 + 32
    path = next((tmp_path / "s" / "compiled").glob("*.json"))
    week = CompiledWeek(generate_week(1), load_texts("paper"), "scripted:oracle", path)
    assert len(week._kept.stages) == 39 and len(week._record) == 83

    async def of_one_that_is_behind():
        async with week._lock:  # another run compiles a later text just now
            return await asyncio.wait_for(week.of(World(generate_week(1)).moment(0), ask=None), 5)

    assert asyncio.run(of_one_that_is_behind())[0].source == "plan"
    path.write_text("{}")
    with pytest.raises(RequestError, match="damaged"):
        CompiledWeek(generate_week(1), load_texts("paper"), "scripted:oracle", path)


def test_with_daily_history_a_conversation_begins_each_morning_and_says_so_in_its_cell(tmp_path):
    lengths = []

    class Counting(Changed):
        async def answer(self, purpose, messages, **options):
            lengths.append(len(messages))
            return await super().answer(purpose, messages, **options)

    run(tmp_path / "day", "lazy", mind=lambda inner: Counting(inner, lambda _, text, __: text), rungs=(Rung.RAW,),
        history_is_daily=True)
    assert lengths.count(2) == 7 and max(lengths) == 2 * 13
    run(tmp_path / "week", "lazy", mind=lambda inner: Counting(inner, lambda _, text, __: text), rungs=(Rung.RAW,))
    assert max(lengths) == 2 * 80
    assert [path.name for path in tmp_path.glob("*/s/pmbench*")] != []
    assert {log.header.cell.slug for log in iter_harness_logs([tmp_path], "pmbench", RECORD_TYPES)} == {
        "pmbench.scripted_lazy.T0.paper", "pmbench.scripted_lazy.T0.paper.daily"}


@pytest.mark.parametrize(("changes", "words"), [
    (["--arms", "raw,shown"], ["shown", "enforcement:policy=judgement"]),
    (["--model", "scripted:gold"], ["gold", "scripted:oracle"]),
    (["--temperature", "9"], ["--temperature"]),
    (["--seeds", "0:4"], ["temperature 0", "0.7"]),
    (["--weeks", "x"], ["seeds"]),
    (["--weeks", "1,1"], ["twice"]),
    (["--week-file", "nowhere.json"], ["nowhere.json"]),
    (["--prompts", "mine"], ["mine", "fewshot, paper"]),
    (["--max-queries", "0"], ["--max-queries"]),
    (["--sizes", "5"], ["--sizes", "--harness pmbench"]),
])
def test_a_bad_request_is_one_sentence(capsys, tmp_path, changes, words):
    run_it = ["run", "--study", "t", "--harness", "pmbench", "--model", "scripted:oracle", "--runs", tmp_path]
    refused(capsys, [*run_it, *changes], 2, *words)
    assert not list(tmp_path.rglob("*.jsonl"))
