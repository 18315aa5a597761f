"""The module's state rebuilt from a log, the attribution of omissions, and corruption counted event by event."""

from dataclasses import replace

import pytest

from artifact.log import EpisodeLog
from artifact.scorer import score_frames, score_log
from artifact.scorer.attribution import Cause, Omission, Root, attribute_omissions, names_another_step
from artifact.scorer.corruption import CorruptionTally, tally_corruption
from artifact.scorer.module_state import module_turns
from artifact.taskstate import Corruption, RequestKind, Revision, ScriptedTurn, Step, TaskGraph, TaskState
from episode_logs import GRAPH, REVISION, always_book, booking, but, episode_of, every_kind, perfect, play
from gate_logs import play_gate

K = RequestKind


def changed(**steps: Step) -> TaskGraph:
    """The plan with some steps compiled otherwise."""
    return TaskGraph(tuple(steps.get(step.id, step) for step in GRAPH.steps))


def only(log: EpisodeLog) -> Omission:
    """The one omission of a log."""
    (omission,) = attribute_omissions(log, score_log(log))
    return omission


@pytest.mark.parametrize("arm", ["directive", "enforcement"])
@pytest.mark.parametrize("rate", [0.0, 0.05, 0.4])
def test_the_rebuilt_state_issues_every_directive_of_the_log(arm: str, rate: float) -> None:
    for seed in range(5):
        log = play_gate(every_kind(seed), always_book, arm=arm, corruption=rate)
        assert all(turn.agrees for turn in module_turns(log))


def test_a_log_that_the_state_does_not_explain_is_seen() -> None:
    log = play_gate(every_kind())
    directive = log.turns[0].directive
    assert directive is not None
    forged = replace(log.turns[0], directive=replace(directive, kind="blocked"))
    turns = module_turns(replace(log, turns=(forged, *log.turns[1:])))
    assert [turn.agrees for turn in turns[:2]] == [False, True]


def test_an_arm_that_is_no_gate_has_no_module() -> None:
    assert module_turns(play(every_kind(), perfect, arm="checklist")) == ()


def test_a_decline_in_prose_is_a_decline_and_so_is_a_stale_redisplay() -> None:
    assert only(play_gate(every_kind(), but(10, "I would rather not."))).cause is Cause.DECLINED
    first = every_kind().turns[0]
    stale = but(10, f"As before: ref {GRAPH['s1'].code}/{first.work_order}")
    assert only(play_gate(every_kind(), stale)).cause is Cause.DECLINED


def test_another_code_or_a_work_order_that_was_never_booked_is_a_wrong_ref() -> None:
    other_step = but(10, lambda n, turn, state: booking(turn, state, "s1"))
    assert only(play_gate(every_kind(), other_step)).cause is Cause.WRONG_REF
    invented = but(10, f"ref {GRAPH['s5'].code}/#W7777")
    assert only(play_gate(every_kind(), invented)).cause is Cause.WRONG_REF


def test_without_a_gate_an_omission_is_the_agents_alone() -> None:
    omission = only(play(every_kind(), but(10, "Understood."), arm="raw"))
    assert (omission.cause, omission.root, omission.directive) == (Cause.DECLINED, None, None)


@pytest.mark.parametrize(("graph", "revision", "root"), [
    # s5 is asked last, when s1, s2 and s4 are done; each state blocks it for another reason.
    (changed(s5=replace(GRAPH["s5"], code="")), REVISION, Root.EMPTY_CODE),
    (changed(s5=replace(GRAPH["s5"], prerequisites=("s1", "s3", "s4"))), REVISION, Root.CANCELLED_LEFT_IN),
    (GRAPH, replace(REVISION, rewires=(("s4", ("s2",)), ("s5", ("s4", "s6")))), Root.INVENTED_REWIRE),
    (changed(s5=replace(GRAPH["s5"], prerequisites=("s4", "s6"))), REVISION, Root.OTHER),
])
def test_an_over_block_is_laid_to_its_root(graph: TaskGraph, revision: Revision, root: Root) -> None:
    sixth = Step("s6", "archive the file", "RC-1006")  # never asked for, so never done
    truth = TaskGraph((*GRAPH.steps, sixth))
    episode = replace(episode_of(*[(turn.kind, turn.step) for turn in every_kind().turns], graph=truth))
    log = play_gate(episode, graph=TaskGraph((*graph.steps, sixth)), revision=revision)
    omission = only(log)
    assert (omission.step, omission.cause, omission.root) == ("s5", Cause.OVER_BLOCKED, root)
    assert omission.correct_ref_refused  # the perfect agent books all the same


def test_an_agent_that_heeds_a_wrong_block_wrote_no_booking_to_refuse() -> None:
    graph = changed(s5=replace(GRAPH["s5"], prerequisites=("s1", "s3", "s4")))
    omission = only(play_gate(every_kind(), but(10, "It waits for s3."), graph=graph))
    assert (omission.cause, omission.root) == (Cause.OVER_BLOCKED, Root.CANCELLED_LEFT_IN)
    assert not omission.correct_ref_refused
    assert omission.directive == "blocked"


def test_what_the_matcher_did_is_the_matchers() -> None:
    quiet = but(10, "Understood.")
    assert only(play_gate(every_kind(), quiet, matches={10: ("s1", False)})).cause is Cause.MISROUTED
    assert only(play_gate(every_kind(), quiet, matches={10: (None, False)})).cause is Cause.UNRESOLVED


def test_a_state_that_calls_an_owed_step_cancelled_has_its_status_wrong() -> None:
    wrong = Revision("s5", (("s4", ("s2",)),))
    omission = only(play_gate(every_kind(), but(10, "It was cancelled."), revision=wrong))
    assert (omission.cause, omission.directive) == (Cause.WRONG_STATUS, "cancelled")


def test_without_a_state_every_omission_is_laid_to_that() -> None:
    log = play_gate(every_kind(), graph=None)
    assert {omission.cause for omission in attribute_omissions(log, score_log(log))} == {Cause.NO_STATE}


@pytest.mark.parametrize(("reply", "expected"), [
    ("s2 first, please.", True), ("I will sign the agreement.", True), ("That is RC-1003.", True),
    ("s5 needs s4.", False), ("Understood.", False), ("s50 is unknown.", False),
])
def test_a_reply_names_another_step_only_if_it_does_not_name_the_requested_one(reply: str, expected: bool) -> None:
    assert names_another_step(reply, "s5", GRAPH.by_id) is expected


def seed_with(rate: float, flips: int, drops: int) -> int:
    """A seed whose corruption of an untouched plan, over the turns of the episode, is of the wanted size."""
    for seed in range(2000):
        state, spurious, dropped = TaskState(GRAPH), 0, 0
        for turn in range(len(every_kind().turns)):
            after = Corruption(rate, seed).apply(state, turn)
            spurious += len(after.done ^ state.done)
            dropped += sum(len(step.prerequisites) for step in state.graph.steps) - sum(
                len(step.prerequisites) for step in after.graph.steps)
            state = after
        if (spurious, dropped) == (flips, drops):
            return seed
    raise AssertionError("no such seed")


def quiet(number: int, turn: ScriptedTurn, state: TaskState) -> str:
    """Books nothing, so that the module's state changes by corruption alone (and by the revision)."""
    return "Understood."


def test_events_are_counted_as_the_module_met_them() -> None:
    nothing = tally_corruption(play_gate(every_kind(seed_with(0.004, 0, 0)), quiet, corruption=0.004))
    assert (nothing.events, nothing.changed, nothing.mended) == (0, 0, 0)
    one = play_gate(every_kind(seed_with(0.004, 1, 0)), quiet, corruption=0.004)
    tally = tally_corruption(one)
    assert (tally.spurious, tally.lost, tally.dropped) == (1, 0, 0)
    assert tally.mended == tally.changed  # receipts bring back every done bit


def test_a_lost_done_bit_is_told_from_a_spurious_one_and_only_edges_stay_broken() -> None:
    tallies = [tally_corruption(play_gate(every_kind(seed), corruption=0.06)) for seed in range(60)]
    assert sum(tally.lost for tally in tallies) > 0
    assert sum(tally.spurious for tally in tallies) > 0
    assert any(tally.changed > tally.mended for tally in tallies)
    assert all(tally.dropped for tally in tallies if tally.changed > tally.mended)


def test_a_spurious_done_bit_omits_the_step_and_its_cause_is_the_status() -> None:
    # The corruption of this seed marks a step done before it is asked for; the agent heeds the directive.
    def heeds(number: int, turn: ScriptedTurn, state: TaskState) -> str:
        return perfect(number, turn, state) if number not in misled else "It is done already."
    log, misled = None, set[int]()
    for seed in range(400):
        misled = set()
        log = play_gate(every_kind(seed), quiet, corruption=0.004)
        first = [turn for turn in module_turns(log) if turn.spurious]
        tally = tally_corruption(log)
        if (tally.spurious, tally.events) == (1, 1) and first[0].record.turn <= 3 and first[0].spurious == ("s2",):
            misled = {3}
            log = play_gate(every_kind(seed), heeds, corruption=0.004)
            break
    assert log is not None and misled
    omissions = attribute_omissions(log, score_log(log))
    assert (omissions[0].step, omissions[0].cause, omissions[0].directive) == ("s2", Cause.WRONG_STATUS, "done")


def test_an_uncorrupted_gate_has_no_row_and_a_corrupted_one_has_its_rate() -> None:
    frames = score_frames([play_gate(every_kind(1)), play_gate(every_kind(1), corruption=0.01)])
    assert list(frames.corruptions["rate"]) == [0.01]
    assert list(frames.corruptions["replayed"]) == [True]


def test_a_tally_sums_its_kinds() -> None:
    assert CorruptionTally(1, 2, 3, 0, 0).events == 6
