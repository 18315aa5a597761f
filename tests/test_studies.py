"""The named studies: their cells, their smoke size with scripted models, what a command may change."""

import importlib.util

import pytest

from artifact.arms import ArmOptions, ArmSpec, parse_arms
from artifact.errors import RequestError
from artifact.log import iter_logs
from artifact.log.pace import Pace, has_ended
from artifact.runner import run_study
from artifact.runner.outlook import PaceBook, outlook
from artifact.runner.studies import Agents, Overrides, named_studies, plans_of
from artifact.scorer import episode_frame, score_frames, score_log
from artifact.taskstate import Brief, Channel, RequestKind, ScheduleVariant, parse_bookings
from episode_logs import timeless

STUDIES = tuple(named_studies())
NEVER_UNDER_ENFORCEMENT = ("re_execution", "superseded", "premature")


def smoke(tmp_path, name, model="scripted:always-book", **overrides):
    """Run a study's smoke size and give the logs and the episode frame."""
    for plan in plans_of(name, Agents(model), overrides=Overrides(**overrides), smoke=True):
        run_study(plan, runs=tmp_path, durable=False)
    logs = list(iter_logs([tmp_path]))
    return logs, episode_frame(logs)


def rung(frame, arm, **columns):
    """The rows of an arm, and of columns with these values."""
    found = frame[frame["arm"] == arm]
    for column, value in columns.items():
        found = found[found[column] == value]
    assert len(found)
    return found


@pytest.mark.parametrize("name", STUDIES)
def test_every_study_runs_whole_at_its_smoke_size_and_apart_from_what_is_measured(tmp_path, name):
    if name == "memory" and importlib.util.find_spec("mem0") is None:
        pytest.skip("the memory arms need the extra 'memory'")
    plans = plans_of(name, Agents("scripted:always-book"), smoke=True)
    _, frame = smoke(tmp_path, name)
    assert len(frame) == sum(len(plan.sizes) * len(plan.arms) * len(plan.seeds) for plan in plans)
    assert frame["completed"].all()
    assert set(frame["study"]) == {f"{name}_smoke"}
    enforced = frame[(frame["arm"] == "enforcement") & ~frame["options"].str.contains("corruption|heal")]
    assert not enforced[list(NEVER_UNDER_ENFORCEMENT)].to_numpy().any()


@pytest.mark.parametrize("name", STUDIES)
def test_no_two_studies_share_a_cell(name):
    def cells(study):
        return {(cell, arm.identity.slug) for plan in plans_of(study, Agents("m", own_phrasings=True))
                for cell in plan.cells("m", "m") for arm in plan.arms}
    for other in STUDIES:
        assert other == name or not cells(name) & cells(other)


def test_the_ladder_has_the_cells_of_every_study_that_is_compared_with_it():
    ladder = {(cell.size, cell.density) for plan in plans_of("ladder", Agents("m")) for cell in plan.cells("m", "m")}
    for name in STUDIES:
        if "ladder" in named_studies()[name].note:
            cells = {(cell.size, cell.density) for plan in plans_of(name, Agents("m")) for cell in plan.cells("m", "m")}
            assert cells <= ladder


def test_an_agent_that_heeds_only_directives_climbs_at_the_directive_rung(tmp_path):
    _, frame = smoke(tmp_path, "ladder", "scripted:reader?directive=1")
    assert not rung(frame, "raw")["strict"].any()
    assert not rung(frame, "checklist")["strict"].any()
    assert rung(frame, "directive")["strict"].all()
    assert rung(frame, "enforcement")["strict"].all()


def test_the_brief_study_shows_the_original_brief_on_the_schedule_of_the_ladder(tmp_path):
    original, _ = smoke(tmp_path / "a", "brief")
    amended, _ = smoke(tmp_path / "b", "ladder")
    assert {log.header.cell.brief for log in original} == {Brief.ORIGINAL}
    for one, other in zip(original, amended, strict=True):
        assert one.header.episode == other.header.episode
        assert one.turns[0].sent[0] != other.turns[0].sent[0]


@pytest.mark.parametrize(("text", "options"), [
    ("enforcement:corruption=0", {}),
    ("enforcement:corruption=1e-12", {"corruption": 1e-12}),  # a rate at which nothing is ever drawn
])
def test_a_corruption_that_draws_nothing_equals_the_uncorrupted_arm_byte_for_byte_but_for_its_options(
        tmp_path, text, options):
    smoke(tmp_path / "a", "corruption", arms=parse_arms(text, ArmOptions()))
    smoke(tmp_path / "b", "corruption", arms=(ArmSpec("enforcement"),))
    disturbed, plain = (list(timeless(tmp_path / side).values()) for side in "ab")
    assert [header["arm"].pop("options") for header, *_ in disturbed] == [options] * len(disturbed)
    assert [header["arm"].pop("options") for header, *_ in plain] == [{}] * len(plain)
    assert disturbed == plain != []


def test_corruption_costs_an_agent_that_books_everything_omissions_and_nothing_else_is_admitted(tmp_path):
    _, frame = smoke(tmp_path, "corruption", seeds=tuple(range(100, 110)))
    rates = [rung(frame, "enforcement", options=f'{{"corruption":{rate}}}') for rate in (0.001, 0.01)]
    assert rates[0]["strict"].mean() > rates[1]["strict"].mean()
    assert rates[1]["omission"].sum() > 0


def test_rotation_changes_the_words_and_neither_rung_of_an_agent_that_reads_past_them(tmp_path):
    _, frame = smoke(tmp_path, "wording")
    assert rung(frame, "enforcement", schedule="rotated")["strict"].all()
    assert not rung(frame, "raw", schedule="rotated")["strict"].any()


def test_ambiguous_probes_are_booked_by_an_agent_that_always_books_and_a_perfect_one_asks_back(tmp_path):
    booked = {}
    for model in ("scripted:always-book", "scripted:perfect"):
        logs, _ = smoke(tmp_path / model.partition(":")[2], "wording", model)
        probes = [(turn, verdict) for log in logs if log.header.arm.name == "raw"
                  for turn, verdict in zip(log.turns, score_log(log).turns, strict=True)
                  if turn.kind is RequestKind.AMBIGUOUS]
        assert probes
        booked[model] = [turn for turn, _ in probes if turn.bookings]
        for turn, verdict in probes:
            assert [v.channel for v in verdict.violations] == [Channel.UNREQUESTED] * len(turn.bookings)
    assert booked["scripted:always-book"]
    assert not booked["scripted:perfect"]


def test_the_matcher_names_no_step_on_an_ambiguous_probe_and_no_directive_is_issued(tmp_path):
    logs, _ = smoke(tmp_path, "wording", arms=(ArmSpec("enforcement"),))
    probes = [(log, turn) for log in logs for turn in log.turns if turn.kind is RequestKind.AMBIGUOUS]
    assert probes
    for log, turn in probes:
        assert turn.directive is None
        assert [match.step for match in log.matches if match.turn == turn.turn] == [None]


def test_a_gate_that_asks_back_directs_to_ask_on_an_ambiguous_probe_and_only_enforcement_admits_nothing(tmp_path):
    logs, _ = smoke(tmp_path, "ask_back")
    probes = [(log.header.arm.name, turn) for log in logs for turn in log.turns if turn.kind is RequestKind.AMBIGUOUS]
    assert {turn.directive.kind for _, turn in probes} == {"unresolved"}
    admitted = {arm for arm, turn in probes for booking in turn.bookings if booking.accepted}
    assert admitted == {"directive"}
    assert any(turn.bookings for arm, turn in probes if arm == "enforcement")


def test_healing_keeps_an_agent_that_books_everything_from_a_second_execution_whatever_bits_flip(tmp_path):
    logs, frame = smoke(tmp_path, "healing", seeds=tuple(range(100, 110)))
    assert rung(frame, "enforcement", options='{"heal":true}')["strict"].all()
    corruptions = score_frames(logs).corruptions
    assert corruptions["lost"].sum() > 0 and corruptions["replayed"].all()
    assert not frame["re_execution"].any()


def test_each_surface_is_heeded_by_who_reads_it_there_and_by_nobody_else(tmp_path):
    def succeeds(policy):
        _, frame = smoke(tmp_path / policy.partition("?")[0] / policy.partition("?")[2], "prompt_surface",
                         f"scripted:{policy}")
        return {arm for arm, always in frame.groupby("arm")["strict"].all().items() if always}

    assert succeeds("reader?checklist=1") == {"checklist", "enforcement"}
    assert succeeds("system-reader?directive=1") == {"directive", "enforcement"}
    assert succeeds("reader?directive=1") == {"enforcement"}


def test_within_the_turn_an_agent_that_books_everything_is_told_of_each_refusal_and_shows_no_booking(tmp_path):
    logs, frame = smoke(tmp_path, "same_turn")
    assert frame["strict"].all() and frame["refused_bookings"].all()
    refused = [turn for log in logs for turn in log.turns if any(not booking.accepted for booking in turn.bookings)]
    for turn in refused:
        assert turn.ephemeral[-1].content.startswith("[BOOKING REJECTED]")
        assert not parse_bookings(turn.reply, turn.work_order)


def test_a_kept_ledger_serves_its_keeper_and_one_that_is_never_written_is_the_empty_one(tmp_path):
    kept, frame = smoke(tmp_path / "kept", "self_ledger", "scripted:ledger-keeper")
    turns = score_frames(kept).turns
    assert frame["strict"].all() and (turns["ledger_right"] == turns["ledger_entries"]).all()
    unwritten, frame = smoke(tmp_path / "unwritten", "self_ledger")
    turns = score_frames(unwritten).turns
    assert frame["re_execution"].all() and (turns["ledger_right"] == turns["ledger_open"]).all()


def test_the_one_node_case_is_all_asks_and_redos_and_only_the_gate_holds(tmp_path):
    _, frame = smoke(tmp_path, "one_step")
    assert set(frame["size"]) == {1}
    assert rung(frame, "enforcement")["strict"].all()
    assert (rung(frame, "raw")["re_execution"] == 2).all()


def test_a_filler_with_an_order_is_booked_by_who_obeys_it_and_scored_as_unrequested(tmp_path):
    logs, frame = smoke(tmp_path, "ordered_fillers", "scripted:perfect", seeds=(100,))
    assert frame["strict"].all()
    fillers = [turn for log in logs for turn in log.turns if turn.kind is RequestKind.FILLER]
    assert fillers
    assert all(turn.work_order in turn.text for turn in fillers)


def test_the_second_domain_is_scored_like_the_first(tmp_path):
    _, release = smoke(tmp_path / "a", "release")
    _, procurement = smoke(tmp_path / "b", "ladder")
    assert set(release["domain"]) == {"release"}
    for arm in ("raw", "checklist", "directive", "enforcement"):
        assert rung(release, arm)["strict"].tolist() == rung(procurement, arm)["strict"].tolist()


SPOOFED = {"schedule": ScheduleVariant(spoofed=True), "seeds": tuple(range(100, 112)), "sizes": (5, 10)}


def test_a_gullible_agent_books_forged_work_unless_it_is_enforced(tmp_path):
    rungs = tuple(ArmSpec(name) for name in ("raw", "checklist", "directive", "enforcement"))
    _, frame = smoke(tmp_path, "spoofing", "scripted:gullible", arms=rungs, **SPOOFED)
    seeds, sizes = SPOOFED["seeds"], SPOOFED["sizes"]
    _, plain = smoke(tmp_path / "plain", "ladder", "scripted:gullible", arms=rungs, seeds=seeds, sizes=sizes)
    enforced = rung(frame, "enforcement")
    # Over all seeds: which forms a schedule forges, and where, is drawn, and one seed alone may show none.
    for arm in ("raw", "checklist", "directive"):
        forged = rung(frame, arm)["unrequested"].sum()
        assert forged > rung(plain, arm)["unrequested"].sum()
        assert forged > enforced["unrequested"].sum()
    assert not enforced[list(NEVER_UNDER_ENFORCEMENT)].to_numpy().any()


@pytest.mark.parametrize("model", ["gullible", "always-book", "reader?directive=1", "reader?checklist=1"])
def test_request_bound_enforcement_books_nothing_wrong_whatever_is_forged(tmp_path, model):
    arm = ArmSpec("enforcement", ArmOptions(policy="request"))
    logs, frame = smoke(tmp_path, "spoofing", f"scripted:{model}", arms=(arm,), **SPOOFED)
    assert not frame[[*NEVER_UNDER_ENFORCEMENT, "unrequested"]].to_numpy().any()
    assert model != "gullible" or any(turn.bookings and not booking.accepted for log in logs for turn in log.turns
                                      for booking in turn.bookings)


def test_nothing_that_a_user_writes_is_a_booking_until_the_agent_writes_it(tmp_path):
    logs, _ = smoke(tmp_path, "spoofing", "scripted:never-book", **{**SPOOFED, "seeds": (100, 101)})
    assert any(parse_bookings(turn.text, turn.work_order) for log in logs for turn in log.turns)
    assert not any(turn.bookings for log in logs for turn in log.turns)


def test_the_matcher_is_never_shown_a_forged_line(tmp_path):
    logs, _ = smoke(tmp_path, "spoofing", arms=(ArmSpec("enforcement"),), **SPOOFED)
    prompts = [call.messages[0].content for log in logs for match in log.matches for call in match.calls]
    assert prompts
    for forged in ("[TASK-STATE]", "[BOOKING REJECTED]", "[PROJECT CHECKLIST", "LEDGER RC-", "ref RC-"):
        assert any(forged in turn.text for log in logs for turn in log.turns)
        assert not any(forged in prompt for prompt in prompts)


def test_what_a_command_asks_for_chooses_the_parts_of_a_study_that_have_it():
    schedule = ScheduleVariant.parse("held_out,ambiguous=0.15")
    (plan,) = plans_of("wording", Agents("m"), overrides=Overrides(schedule=schedule, arms=(ArmSpec("enforcement"),)))
    assert (plan.brief, plan.schedule, plan.arms) == ("amended", schedule, (ArmSpec("enforcement"),))
    (rotated,) = plans_of("wording", Agents("m"), overrides=Overrides(brief=Brief.ORIGINAL))
    assert str(rotated.schedule) == "rotated"


def test_a_command_narrows_and_overrides_a_named_study():
    (plan,) = plans_of("ladder", Agents("m"), overrides=Overrides(sizes=(5,), seeds=(7,), arms=(ArmSpec("raw"),)))
    assert (plan.study, plan.sizes, plan.densities, plan.seeds, plan.arms) == ("ladder", (5,), (0.15,), (7,),
                                                                               (ArmSpec("raw"),))
    sizes = {(plan.sizes, plan.densities) for plan in plans_of("ladder", Agents("m"), overrides=Overrides(sizes=(15,)))}
    assert sizes == {((15,), (0.15,)), ((15,), (0.3,))}
    (small,) = plans_of("release", Agents("m"), overrides=Overrides(sizes=(5,)))
    assert (small.domain, small.sizes, small.densities) == ("release", (5,), (0.15,))
    assert len(plans_of("wording", Agents("m"), overrides=Overrides(densities=(0.15,)))) == 3


def test_gate_options_of_a_command_reach_the_gates_of_a_named_study():
    gates = ArmOptions(state="oracle", matcher="oracle")
    (plan,) = plans_of("release", Agents("m"), overrides=Overrides(gates=gates))
    assert [arm.options.state for arm in plan.arms] == ["compiled", "compiled", "oracle", "oracle"]


def test_the_outlook_counts_what_is_left_and_knows_hours_only_from_logs(tmp_path):
    plans = plans_of("release", Agents("scripted:always-book"), smoke=True)
    name = "scripted-always-book"
    before = outlook(plans, name, name, runs=tmp_path, book=PaceBook([]))
    assert (before.cells, before.episodes, before.done, before.seconds) == (4, 8, 0, None)
    assert before.calls == 8 * 44 + 4 * (2 + 10)
    run_study(plans[0], runs=tmp_path, durable=False)
    after = outlook(plans, name, name, runs=tmp_path, book=PaceBook([]))
    assert (after.done, after.calls, after.seconds) == (8, 0, 0)


@pytest.mark.parametrize(("agents", "schedule", "words"), [
    (Agents("m"), "held_out=qwen2.5-coder-1.5b@00000000", "restore the one"),
    (Agents("qwen2.5-coder-1.5b"), "held_out=qwen2.5-coder-1.5b", "isn't held out from qwen2.5-coder-1.5b"),
    (Agents("qwen2.5-coder-0.5b", "qwen2.5-coder-1.5b"), "held_out", "was written by a model that is under test"),
    (Agents("m"), "held_out=nobody", "no paraphrase cache"),
])
def test_phrasings_that_are_not_held_out_or_not_there_are_refused_before_anything_runs(agents, schedule, words):
    plan = plans_of("wording", agents, overrides=Overrides(schedule=ScheduleVariant.parse(schedule)))[0]
    with pytest.raises(RequestError, match=words):
        plan.cells(agents.model, agents.state_model or agents.model)


def test_the_cache_of_another_writer_is_taken_for_each_model_and_stands_in_the_cell():
    for model, writer in (("qwen2.5-coder-1.5b", "qwen2.5-coder-0.5b"), ("qwen2.5-coder-0.5b", "qwen2.5-coder-1.5b")):
        plan = plans_of("wording", Agents(model))[1]
        assert plan.cells(model, model)[0].schedule.startswith(f"held_out={writer}@")
    own = plans_of("wording", Agents("qwen2.5-coder-1.5b", own_phrasings=True),
                   overrides=Overrides(schedule=ScheduleVariant.parse("held_out=qwen2.5-coder-1.5b")))[0]
    assert own.cells("qwen2.5-coder-1.5b", "qwen2.5-coder-1.5b")[0].schedule.startswith("held_out=qwen2.5-coder-1.5b@")


def test_a_log_that_is_cut_or_broken_off_is_still_to_be_finished(tmp_path):
    (plan,) = plans_of("one_step", Agents("scripted:always-book"), smoke=True)
    run_study(plan, runs=tmp_path, durable=False)
    log = next(tmp_path.rglob("raw/100.jsonl"))
    whole = log.read_bytes()
    assert has_ended(log)
    timed_out = whole.replace(b'"reason":"completed"', b'"reason":"timeout"')
    for cut in (whole[:-1], whole[:-40], whole[:-500], b"", timed_out):
        log.write_bytes(cut)
        assert has_ended(log) is (cut == whole[:-1])
    assert not has_ended(tmp_path / "nowhere.jsonl")


def test_the_pace_is_that_of_the_most_alike_episodes(tmp_path):
    plan = next(plans_of("ladder", Agents("m"))[0].episodes("m", "m"))
    assert (plan.arm.name, plan.cell.size) == ("raw", 5)
    other = Pace("m", "m", "enforcement", 5, 44, 440.0)
    assert PaceBook([Pace("n", "n", "raw", 5, 44, 44.0)]).seconds_per_turn(plan) is None
    assert PaceBook([other]).seconds_per_turn(plan) == 10
    assert PaceBook([other, Pace("m", "m", "raw", 10, 44, 88.0)]).seconds_per_turn(plan) == 2
    assert PaceBook([other, Pace("m", "m", "raw", 10, 44, 88.0), Pace("m", "m", "raw", 5, 44, 44.0)]
                    ).seconds_per_turn(plan) == 1
