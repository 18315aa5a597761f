"""Where state stands in what is sent: replaced checklists, the matched step's line, directives in the system prompt,
and the agent's own ledger (Appendix E.2, §3.3)."""

import pytest

from artifact.arms import ArmOptions, ArmSpec, load_prompts
from artifact.errors import RequestError
from artifact.log.records import Message
from artifact.models.scripted import scripted_model
from artifact.scorer import score_log, turn_frame
from artifact.taskstate import Channel
from artifact.taskstate.ledger import parse_ledger_lines, read_ledger
from fixed_arms import Listened, ask, open_arm, ref, run_arm

REPLACE = ArmOptions(mode="replace")
SYSTEM = ArmOptions(role="system")


def histories(log):
    """The conversation before each turn, as the log has it."""
    history: list[Message] = []
    for turn in log.turns:
        history += turn.sent
        yield turn, list(history)
        history.append(Message("assistant", turn.reply))


@pytest.mark.parametrize("arm", [ArmSpec("checklist", REPLACE), ArmSpec("ledger", REPLACE)])
def test_in_replace_mode_only_the_current_message_carries_a_copy(tmp_path, arm):
    model = Listened(scripted_model("ledger-keeper" if arm.name == "ledger" else "reader?checklist=0.8"))
    log = run_arm(tmp_path, model, arm)
    for (turn, history), shown in zip(histories(log), model.shown, strict=True):
        assert [m.content for m in shown if "[PROJECT " in m.content] == [shown[-1].content]
        assert shown[-1] == Message("user", f"{turn.text}\n\n{turn.checklist}")
        assert turn.ephemeral == (shown[-1],)
        assert history == [*shown[:-1], Message("user", turn.text)]


@pytest.mark.parametrize("arm", [ArmSpec("checklist"), ArmSpec("ledger")])
def test_in_append_mode_every_message_keeps_its_copy(tmp_path, arm):
    model = Listened(scripted_model("reader?checklist=0.8"))
    log = run_arm(tmp_path, model, arm)
    for (turn, history), shown in zip(histories(log), model.shown, strict=True):
        assert history == shown
        assert turn.ephemeral == ()
        assert all(m.content.endswith(turn.checklist) for m in shown[-1:])
        assert sum("[PROJECT " in m.content for m in shown) == turn.turn + 1


def test_both_modes_of_the_checklist_say_the_same_to_who_reads_the_last_message(tmp_path):
    model = scripted_model("reader?checklist=1")
    appended, replaced = (run_arm(tmp_path / name, model, ArmSpec("checklist", options))
                          for name, options in (("a", ArmOptions()), ("r", REPLACE)))
    assert [turn.reply for turn in appended.turns] == [turn.reply for turn in replaced.turns]
    assert [turn.checklist for turn in appended.turns] == [turn.checklist for turn in replaced.turns]
    assert score_log(replaced).strict


def test_the_checklist_ends_with_the_matched_step_and_no_instruction():
    options = ArmOptions(mode="replace", matched_line=True)
    arm, source = open_arm("checklist", {0: ("s2", False), 1: (None, False)}, options=options)
    _, outgoing = ask(arm, 0)
    assert outgoing.content == "please (#W0001)"
    assert outgoing.shown == f"please (#W0001)\n\n{outgoing.checklist}"
    assert outgoing.checklist.splitlines()[-2:] == ["- s4: TODO (waiting on: s2, s3)",
                                                    "This message is about step s2: print the map."]
    assert outgoing.directive is None
    assert ask(arm, 1)[1].checklist.splitlines()[-1] == "- s4: TODO (waiting on: s2, s3)"
    ask(arm, 2, "nice weather", None, is_request=False)
    assert source.asked == [0, 1]


@pytest.mark.parametrize("prompts", ["paper", "fewshot"])
def test_the_matched_line_is_the_state_models_and_the_state_is_the_generators(tmp_path, prompts):
    log = run_arm(tmp_path, scripted_model("reader?checklist=1"), ArmSpec("checklist", ArmOptions(matched_line=True)),
                  prompts=prompts)
    assert {record.source for record in log.compiles} == {"oracle"}
    matched = {match.turn: match.step for match in log.matches}
    assert all(match.calls for match in log.matches)
    requests = [turn for turn in log.turns if turn.step is not None]
    assert len(requests) == len(matched) > 8
    for turn in requests:
        assert turn.checklist.splitlines()[-1].startswith(f"This message is about step {matched[turn.turn]}: ")


@pytest.mark.parametrize("name", ["directive", "enforcement"])
def test_a_system_role_directive_ends_the_system_prompt_of_its_call_alone(tmp_path, name):
    model = Listened(scripted_model("system-reader?directive=1"))
    log = run_arm(tmp_path, model, ArmSpec(name, SYSTEM))
    brief = log.turns[0].sent[0].content
    directed = 0
    for (turn, history), shown in zip(histories(log), model.shown, strict=True):
        assert not any("[TASK-STATE]" in m.content for m in history)
        assert shown[1:] == history[1:]
        if turn.directive is None:
            assert (shown[0].content, turn.ephemeral) == (brief, ())
        else:
            directed += 1
            assert shown[0] == Message("system", f"{brief}\n\n{turn.directive.text}")
            assert turn.ephemeral == (shown[0],)
    assert directed > 8


def test_who_heeds_system_directives_alone_is_led_by_them_there_and_nowhere_else(tmp_path):
    def strict(policy, options):
        return score_log(run_arm(tmp_path / policy / options.role, scripted_model(f"{policy}?directive=1"),
                                 ArmSpec("directive", options))).strict
    assert strict("system-reader", SYSTEM) and strict("reader", ArmOptions())
    assert not strict("system-reader", ArmOptions()) and not strict("reader", SYSTEM)


def test_rejections_stay_in_the_users_role():
    arm, _ = open_arm("enforcement", {0: ("s2", False), 1: ("s1", False)}, options=SYSTEM)
    request, _ = ask(arm, 0)
    arm.receive(request, ref("s2"))
    _, outgoing = ask(arm, 1)
    assert outgoing.content.startswith("[BOOKING REJECTED]") and outgoing.content.endswith("please (#W0001)")
    assert outgoing.system.startswith("[TASK-STATE] step s1 is ELIGIBLE")


@pytest.mark.parametrize("prompts", ["paper", "fewshot"])
def test_the_brief_orders_a_ledger_in_its_own_arm_alone(tmp_path, prompts):
    model = scripted_model("ledger-keeper")
    ledger, raw = (run_arm(tmp_path / name, model, ArmSpec(name), prompts=prompts) for name in ("ledger", "raw"))
    plain, ordered = raw.turns[0].sent[0].content, ledger.turns[0].sent[0].content
    assert ordered.startswith(plain) and "LEDGER <completion code> DONE" in ordered[len(plain):]
    assert "LEDGER" not in plain
    assert not ledger.compiles and not ledger.matches


def test_the_ledger_shown_is_what_the_agent_wrote_last_and_nothing_else(tmp_path):
    log = run_arm(tmp_path, scripted_model("ledger-keeper?forgets=0.3"), ArmSpec("ledger"))
    prompts = load_prompts("paper").adding(["ledger"])
    for number, turn in enumerate(log.turns):
        assert turn.checklist == prompts.ledger(read_ledger(t.reply for t in log.turns[:number]))
    assert log.turns[0].checklist == "[PROJECT LEDGER -- your own entries, as you last wrote them]\n- no entry yet"


def test_a_ledger_line_books_nothing_and_a_user_can_not_write_one():
    arm, _ = open_arm("ledger")
    request, _ = ask(arm, 0, "LEDGER RC-1001 DONE (#W0001)")
    reply = "**LEDGER RC-1002 DONE**\nLEDGER RC-1002 TODO\nledger: `RC-1003` cancelled"
    assert arm.receive(request, reply).bookings == ()
    assert ask(arm, 1)[1].checklist.splitlines()[1:] == ["- RC-1002: TODO", "- RC-1003: CANCELLED"]


@pytest.mark.parametrize(("text", "lines"), [
    ("LEDGER RC-1001 DONE", [("RC-1001", "done")]),
    ("- **LEDGER** `RC-1001`: Done.", [("RC-1001", "done")]),
    ("Ledger RC-1001 CANCELED", [("RC-1001", "cancelled")]),
    ("LEDGER RC-1001 TODO; LEDGER RC-1002 DONE", [("RC-1001", "todo"), ("RC-1002", "done")]),
    ("LEDGER RC-1001\nDONE", []), ("LEDGER RC-10011 DONE", []), ("LEDGER RC-1001 DONETSK", []), ("RC-1001 DONE", []),
    ("LEDGER <completion code> DONE", []),
])
def test_ledger_lines_are_read_through_markdown_and_never_across_lines(text, lines):
    assert [(line.code, line.status) for line in parse_ledger_lines(text)] == lines


def ledger_columns(log):
    """Steps that the ledger holds as they are, at the start of each turn."""
    turns = turn_frame([log])
    assert set(turns["ledger_entries"]) == {5}
    return list(turns["ledger_right"])


def test_a_kept_ledger_is_true_and_its_keeper_strict(tmp_path):
    log = run_arm(tmp_path, scripted_model("ledger-keeper"), ArmSpec("ledger"))
    assert score_log(log).strict
    assert set(ledger_columns(log)) == {5}
    assert len(read_ledger(turn.reply for turn in log.turns)) == 5


def test_a_forgotten_entry_is_a_step_that_the_ledger_gets_wrong_and_that_is_done_again(tmp_path):
    log = run_arm(tmp_path, scripted_model("ledger-keeper?forgets=1"), ArmSpec("ledger"))
    right, verdict = ledger_columns(log), score_log(log)
    first = next(turn.turn for turn in log.turns if any(b.accepted for b in turn.bookings))
    assert right[first:first + 2] == [5, 4]
    assert verdict.count(Channel.RE_EXECUTION) > 0


@pytest.mark.parametrize(("name", "sha256"), [("paper", "83d8c2e6"), ("fewshot", "64abe544")])
def test_texts_of_options_leave_the_hash_of_a_set_alone_and_count_where_they_are_used(name, sha256):
    prompts = load_prompts(name)
    assert prompts.sha256.startswith(sha256)  # as in the logs made before there were options
    assert prompts.adding(["raw", "directive", "corruption", "heal", "role", "policy", "mode"]) is prompts
    assert len({prompts.adding(features).sha256 for features in ([], ["named"], ["ledger"], ["named", "notice"])}) == 4


def test_a_set_without_an_options_text_is_named(tmp_path):
    (tmp_path / "set.toml").write_text('about = "x"\ncompile = "plan"\nrevise = "whole"\nmatch = "joint"\n')
    with pytest.raises(RequestError, match=r"has no file options/named_step.txt; add it or use the set 'paper'"):
        load_prompts(tmp_path).adding(["named"])
