"""The agent's own ledger against the truth."""

import pytest

from artifact.scorer import score_frames, score_log
from artifact.scorer.ledger import LedgerTurn, ledger_turns
from artifact.taskstate import ScriptedTurn, Status, TaskState
from artifact.taskstate.ledger import read_ledger
from episode_logs import but, every_kind, owed, perfect, play


@pytest.mark.parametrize(("reply", "expected"), [
    ("LEDGER RC-1001 DONE", {"RC-1001": "DONE"}),
    ("- LEDGER RC-1001: DONE\n- **LEDGER** RC-1002 CANCELLED", {"RC-1001": "DONE", "RC-1002": "CANCELLED"}),
    ("LEDGER RC-1001 TODO\nLEDGER RC-1001 DONE", {"RC-1001": "DONE"}),
    ("the ledger says RC-1001 is DONE", {}),
    ("LEDGER RC-1001 MAYBE", {}),
])
def test_ledger_lines_are_read_and_the_last_one_for_a_code_counts(reply: str, expected: dict[str, str]) -> None:
    assert {code: status.upper() for code, status in read_ledger([reply]).items()} == expected


def faithful(number: int, turn: ScriptedTurn, state: TaskState) -> str:
    """A perfect agent that writes the whole ledger, what it does now included."""
    lines = [perfect(number, turn, state)]
    for step in state.graph.steps:
        if (owed(turn, state) and turn.step == step.id) or state.status(step.id) is Status.DONE:
            lines.append(f"LEDGER {step.code} DONE")
    if turn.kind == "revision":
        lines.append("LEDGER RC-1003 CANCELLED")
    return "\n".join(lines)


def test_a_faithful_ledger_is_right_on_every_turn() -> None:
    log = play(every_kind(), faithful, arm="ledger")
    assert all((turn.entries, turn.right) == (5, 5) for turn in ledger_turns(log, score_log(log)))


def test_a_ledger_that_is_never_written_is_wrong_about_what_is_not_open() -> None:
    log = play(every_kind(), perfect, arm="ledger")
    # s1 is done from turn 1, s2 from 4, s3 cancelled from 6, s4 done from 8, s5 from 11.
    turns = ledger_turns(log, score_log(log))
    assert [turn.right for turn in turns] == [turn.open for turn in turns] == [5, 4, 4, 4, 3, 3, 2, 2, 1, 1, 1, 0]
    assert [turn.said_open for turn in turns] == [0, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 4]
    assert [turn.cancellation_missed for turn in turns] == [0] * 6 + [1] * 6


def test_each_wrong_entry_is_of_one_kind() -> None:
    lines = "LEDGER RC-1005 DONE\nLEDGER RC-1002 CANCELLED\nLEDGER RC-1003 DONE"
    turns = ledger_turns(log := play(every_kind(), but(0, f"Very well.\nref RC-1001/#W2000\n{lines}"), arm="ledger"),
                         score_log(log))
    assert turns[1] == LedgerTurn(5, right=1, open=4, said_done=2, said_open=1, cancellation_made_up=1)
    # At the end s1, s2, s4 and s5 are done and s3 is cancelled; s5 is as it was said at the start.
    assert turns[-1] == LedgerTurn(5, right=1, said_open=2, cancellation_missed=1, cancellation_made_up=1)
    for turn in turns:
        assert turn.entries - turn.right == (turn.said_done + turn.said_open + turn.cancellation_missed
                                             + turn.cancellation_made_up)


def test_an_arm_without_a_ledger_has_no_entries() -> None:
    frames = score_frames([play(every_kind(), faithful, arm="checklist")])
    assert frames.turns["ledger_entries"].sum() == 0
