"""What is owed: graph, receipts, derived status, per-turn correctness. Pure: no I/O, no model (§3.1)."""

from artifact.taskstate.correctness import Channel, Violation, judge_turn
from artifact.taskstate.corruption import Corruption
from artifact.taskstate.episode import NOT_A_REQUEST, Brief, Episode, RequestKind, ScriptedTurn
from artifact.taskstate.graph import BadGraph, Revision, Step, TaskGraph
from artifact.taskstate.receipts import Receipt, RefLine, parse_bookings, parse_ref_lines
from artifact.taskstate.state import Decision, Status, TaskState
from artifact.taskstate.validator import Defect, Finding, validate
from artifact.taskstate.variant import CANONICAL, Phrasing, ScheduleVariant

__all__ = [
    "CANONICAL", "NOT_A_REQUEST", "BadGraph", "Brief", "Channel", "Corruption", "Decision", "Defect", "Episode",
    "Finding", "Phrasing", "Receipt", "RefLine", "RequestKind", "Revision", "ScheduleVariant", "ScriptedTurn", "Status",
    "Step", "TaskGraph", "TaskState", "Violation", "judge_turn", "parse_bookings", "parse_ref_lines", "validate",
]
