"""What a rung of PM-Bench says and when: due, still due, pending unseen, refused; what is compiled, and from what."""

import asyncio
import json
import random

import orjson
import pytest

from artifact.errors import RequestError
from artifact.harness.batch import run_harness
from artifact.harness.pmbench.compile import compile_text
from artifact.harness.pmbench.compiles import CompiledWeek
from artifact.harness.pmbench.environment import Entry, World
from artifact.harness.pmbench.generate import generate_week
from artifact.harness.pmbench.harness import PMBench
from artifact.harness.pmbench.measures import judged
from artifact.harness.pmbench.plan import WeekPlan
from artifact.harness.pmbench.record import Record, Standing
from artifact.harness.pmbench.records import AnswerRecord
from artifact.harness.pmbench.replies import Choice, read_reply
from artifact.harness.pmbench.rungs import Rung
from artifact.harness.pmbench.summary import summaries
from artifact.harness.pmbench.table import cue_table, week_table
from artifact.harness.pmbench.texts import load_texts
from artifact.models.base import ModelTimeout, Reply
from chat_server import ChatServer, completion
from test_pmbench import CHOOSE, Changed, acting, logs, run

DAYS = ["Monday", "Tuesday"]


def sent(folder, arm, purpose="act"):
    return [one.sent for one in logs(folder)[arm].records if isinstance(one, AnswerRecord) and one.purpose == purpose]


def never_choosing(inner):
    """Looks where the oracle looks and selects nothing."""
    return Changed(inner, lambda purpose, text, _: json.dumps({**json.loads(text), "tasks": []})
                   if purpose == "act" and "tasks" in json.loads(text) else text)


def test_what_was_announced_and_not_executed_is_still_due_for_as_long_as_the_menu_lists_it(tmp_path):
    run(tmp_path, mind=never_choosing, rungs=(Rung.DIRECTIVE,))
    asked = sent(tmp_path, "directive")
    assert any("DUE NOW" in text for text in asked) and any("STILL DUE" in text for text in asked)
    run(tmp_path / "does", rungs=(Rung.DIRECTIVE,))
    assert not any("STILL DUE" in text for text in sent(tmp_path / "does", "directive"))


def test_what_is_pending_unseen_is_said_until_it_was_looked_at(tmp_path):
    def looks(purpose, text, number):
        if purpose != "act":
            return text
        looks.calls += 1
        return '{"action": "check_time"}' if looks.calls % 2 else json.dumps(CHOOSE)

    looks.calls = 0
    run(tmp_path, mind=lambda inner: Changed(inner, looks), rungs=(Rung.DIRECTIVE,))
    first, after = sent(tmp_path, "directive")[:2]
    assert "by the clock" in first and "in the channels" in first
    assert after.startswith("Clock:") and "by the clock" not in after and "in the channels" in after


def test_a_refusal_is_told_with_its_reason_at_the_next_step(tmp_path):
    run(tmp_path, "select-all", rungs=(Rung.JUDGEMENT,))
    asked = sent(tmp_path, Rung.JUDGEMENT)
    assert "SELECTION REFUSED" not in asked[0]
    assert "[SELECTION REFUSED] task_" in asked[1] and "its trigger was not seen" in asked[1]


def test_the_checklist_names_the_day_of_what_is_for_later(tmp_path):
    run(tmp_path, rungs=(Rung.CHECKLIST,))
    assert any("- on Tuesday, " in text for text in sent(tmp_path, "checklist")[:13])


def test_with_daily_history_every_rung_has_the_plans_and_scenes_of_the_days_before(tmp_path):
    run(tmp_path, "lazy", history_is_daily=True)
    week = generate_week(1)
    for arm in map(str, Rung):
        mornings = [text for text in sent(tmp_path, arm) if text.startswith("Earlier this week")]
        assert len(mornings) == 6
        for day, text in enumerate(mornings, start=1):
            told = [one for number in range(day) for one in (week.days[number].start_instructions,
                                                             *(step.text for step in week.days[number].steps))]
            assert all(one in text for one in told)
            assert not any(later.start_instructions in text for later in week.days[day + 1:])
            assert "Menu:" not in text.partition(f"[{week.day_name(day)}, step 1]")[0]


def test_the_ledger_rung_is_shown_choices_with_a_ledger_and_no_other_rung_is(tmp_path):
    systems = {}

    class Listening(Changed):
        async def answer(self, purpose, messages, **options):
            if purpose == "act":
                systems.setdefault(self.arm, messages[0].content)
            return await super().answer(purpose, messages, **options)

    for rung in (Rung.RAW, Rung.LEDGER):
        def mind(inner, rung=rung):
            listening = Listening(inner, lambda _, text, __: text)
            listening.arm = rung
            return listening
        for prompts in ("fewshot", "paper"):
            systems.clear()
            run(tmp_path / rung / prompts, "lazy", mind=mind, rungs=(rung,), prompts=prompts)
            shown = [line for line in systems[rung].splitlines() if '"tasks": [' in line]
            assert shown and all(('"ledger": [' in line) == (rung is Rung.LEDGER) for line in shown)


def test_choices_without_a_ledger_are_counted_and_keep_the_last_one(tmp_path):
    def forgets(purpose, text, number):
        return json.dumps({**CHOOSE, "ledger": ["pay the club"]} if number == 1 else CHOOSE)

    verdict = run(tmp_path, mind=lambda inner: Changed(inner, forgets), rungs=(Rung.LEDGER,))["ledger"]
    assert (verdict.wrote_ledger, verdict.steps) == (1, 80)
    assert all("- pay the club" in text for text in sent(tmp_path, "ledger")[1:])
    assert cue_table([verdict]).records[0]["ledgers"] == 1


@pytest.mark.parametrize(("reply", "choice"), [
    ({**CHOOSE, "choice": "b"}, Choice("B", ())),
    ({**CHOOSE, "tasks": None}, Choice("A", ())),
    ({**CHOOSE, "tasks": ["task_3: Pay the club", "task_3"]}, Choice("A", ("task_3",))),
    ({**CHOOSE, "ledger": list("abcdefg")}, Choice("A", (), tuple("abcde"))),
])
def test_what_a_person_would_understand_is_read(reply, choice):
    assert read_reply(json.dumps(reply)) == choice


def test_a_cap_that_bites_is_shown_and_a_query_after_it_is_not_invalid(tmp_path):
    verdict = run(tmp_path, mind=acting('{"action": "check_time"}'), rungs=(Rung.RAW,), most_queries=3)["raw"]
    assert (verdict.invalid, verdict.capped_steps) == (0, 80)
    assert "(80.0 steps cut off)" in summaries([verdict])[0].line()
    assert r"240 {\footnotesize (80.0)}" in week_table([verdict], ()).tex


# --- the compile

def compiled(text, operations, *, known=(), source="note"):
    """Compile a text by a model that always answers with the same operations; what is kept, and what it was told."""
    record = Record(DAYS, ["mail"])
    for operation in known:
        record.apply(operation, 0)
    told = []

    async def ask(messages, *, purpose, schema):
        told.append(messages[-1].content)
        return Reply(orjson.dumps({"operations": operations}).decode())

    found, _ = asyncio.run(compile_text(ask, load_texts("paper"), record, step="s", source=source, text=text, day=0,
                                        days=DAYS, channels=["mail"]))
    return found, told


CALL = {"op": "add", "action": "call the landlord", "when": "time", "trigger": "10:35"}


@pytest.mark.parametrize(("text", "operation", "problem"), [
    ("Return the camping stove when Rosa waves.", {"op": "recue", "id": "i1", "trigger": "Rosa waves"}, "speak of i1"),
    ("The landlord: at 14:25 instead.", {"op": "recue", "id": "i1", "trigger": "14:25"}, "retime"),
    ("Call the landlord at 11:40 instead.", {"op": "retime", "id": "i1", "trigger": "12:00"}, "12:00"),
    ("Never mind the stove.", {"op": "cancel", "id": "i1"}, "speak of i1"),
    ("When Rosa waves, pay the club.", {"op": "add", "action": "pay the club", "when": "cue", "trigger": "it snows"},
     "trigger"),
    ("When Rosa waves, pay the club.", {"op": "add", "action": "feed hens", "when": "cue", "trigger": "Rosa waves"},
     "action"),
])
def test_what_a_text_does_not_say_is_named_once_and_left_out(text, operation, problem):
    found, told = compiled(text, [operation], known=[CALL])
    assert found.operations == [] and len(found.rejected) == 1 and problem in found.rejected[0]
    assert len(told) == 2 and problem in told[1]


@pytest.mark.parametrize(("text", "operation"), [
    ("Call the landlord at 2.25 pm instead.", {"op": "retime", "id": "i1", "trigger": "14:25"}),
    ("The landlord is away: no call at noon.", {"op": "cancel", "id": "i1"}),
    ("Call the landlord at noon.", {"op": "retime", "id": "i1", "trigger": "12:00"}),
    ("Call the landlord when mail shows his answer.",
     {"op": "recue", "id": "i1", "trigger": "his answer", "channel": "mail"}),
])
def test_what_a_text_says_in_its_own_way_is_taken(text, operation):
    found, told = compiled(text, [operation], known=[CALL])
    assert found.operations == [operation] and len(told) == 1


def test_a_compile_that_broke_off_has_changed_nothing_and_is_made_anew(tmp_path):
    """Each line of a plan is a call here: an error at the sixth leaves five lines of it compiled."""
    def away(purpose, text, number):
        if number == 6:
            raise ModelTimeout("no answer came")
        return text

    options = {"prompts": "fewshot", "rungs": (Rung.CHECKLIST, Rung.JUDGEMENT)}
    run(tmp_path / "broken", mind=lambda inner: Changed(inner, away), **options)
    again = run(tmp_path / "broken", **options)
    whole = run(tmp_path / "whole", **options)
    assert again == whole and all(verdict.completed for verdict in whole.values())
    stages = [json.loads(next((tmp_path / name / "s" / "compiled").glob("*.json")).read_text())["stages"]
              for name in ("broken", "whole")]
    assert stages[0] == stages[1]


def test_a_kept_compile_that_cannot_be_carried_out_is_one_sentence(tmp_path):
    run(tmp_path, rungs=(Rung.CHECKLIST,))
    path = next((tmp_path / "s" / "compiled").glob("*.json"))
    kept = json.loads(path.read_text())
    kept["stages"][0]["operations"] = [{"op": "cancel", "id": "i99"}]
    path.write_text(json.dumps(kept))
    with pytest.raises(RequestError, match="damaged; delete it"):
        CompiledWeek(generate_week(1), load_texts("paper"), "scripted:oracle", path)


def test_other_weights_under_the_same_name_compile_anew(tmp_path):
    run(tmp_path, rungs=(Rung.CHECKLIST,))
    path = next((tmp_path / "s" / "compiled").glob("*.json"))
    same, other = (CompiledWeek(generate_week(1), load_texts("paper"), "scripted:oracle", path, weights)
                   for weights in ("", "0" * 64))
    assert (len(same._kept.stages), len(other._kept.stages)) == (39, 0)


# --- the record

def entry(words):
    return Entry("task_1", "t1", words)


def test_an_entry_books_only_what_its_words_mean_alone():
    record = Record(DAYS, [])
    record.apply({"op": "add", "action": "call the vet", "when": "cue", "trigger": "x"}, 0)
    record.receipts([entry("Call the plumber")], (), 0)
    assert record.of_day(0)[0].standing is Standing.PENDING and record.resolve(entry("Call the plumber"), 0) == []
    record.apply({"op": "add", "action": "call the vet", "when": "cue", "trigger": "y"}, 0)
    record.receipts([entry("Call the vet")], (), 0)
    assert [one.standing for one in record.of_day(0)] == [Standing.PENDING] * 2, "it may mean either"
    record.apply({"op": "cancel", "id": "i1"}, 0)
    record.receipts([entry("Call the vet")], (), 0)
    assert [one.standing for one in record.of_day(0)] == [Standing.CANCELLED, Standing.DONE]


def test_menus_are_shuffled_by_the_published_seeds():
    week = generate_week(1)
    world, day = World(week), week.days[0]
    targets = [*(task.id for task in day.tasks), *(lure.id for lure in day.lures)]
    random.Random("Monday:handles").shuffle(targets)
    handles = {target: f"task_{number}" for number, target in enumerate(targets, start=1)}
    lures = [lure.id for lure in random.Random(f"Monday:{day.steps[0].id}:lures").sample(day.lures, 3)]
    listed = [*(task.id for task in day.tasks if world.intentions[task.id].active_from == 0), *lures]
    random.Random(f"Monday:{day.steps[0].id}:menu").shuffle(listed)
    assert [(one.target, one.handle) for one in world.moment(0).menu] == [(one, handles[one]) for one in listed]


def test_over_http_the_agent_is_sampled_by_its_seed_and_helpers_are_greedy(tmp_path):
    async def live(seeds):
        async with ChatServer(*[completion(json.dumps(CHOOSE), model="m")] * 1000) as server:
            plan = WeekPlan("s", server.url, rungs=(Rung.RAW, Rung.DIRECTIVE), weeks=(1,), seeds=seeds,
                            temperature=0.7)
            await run_harness(PMBench(plan, concurrency=4), "s", runs=tmp_path, durable=False)
            return [one.json for one in server.calls]

    calls = asyncio.run(live((0, 1)))
    agent = [one for one in calls if "response_format" not in one]
    helpers = [one for one in calls if "response_format" in one]
    assert {(one["temperature"], one["seed"]) for one in agent} == {(0.7, 0), (0.7, 1)} and helpers
    assert {one["temperature"] for one in helpers} == {0}
    verdicts = judged([tmp_path])
    assert {(one.arm, one.seed) for one in verdicts} == {(arm, seed) for arm in ("raw", "directive") for seed in (0, 1)}
    assert {one.runs for one in summaries(verdicts)} == {2}
