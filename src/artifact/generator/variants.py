"""What a schedule's variant adds to the canonical turns: ambiguous probes, orders on fillers, forged lines.

Invariant: everything else stays as it was. The requests of the canonical schedule keep their turns, words and work
orders, so that a variant is compared with it on the same seeds, turn by turn.
"""

from collections.abc import Sequence
from dataclasses import replace

from artifact.generator.draw import Draw
from artifact.generator.forgery import forge
from artifact.generator.schedule import Slot
from artifact.generator.shape import Shape
from artifact.generator.wording import with_order
from artifact.taskstate import RequestKind, ScheduleVariant, ScriptedTurn, TaskGraph

# Half of the turns are left alone: what a forged line does can then be told from what its turn would do anyway.
SPOOFED_SHARE = 0.5


def place_ambiguous(draw: Draw, shape: Shape, slots: Sequence[Slot], rate: float) -> dict[int, tuple[int, int]]:
    """Where ambiguous probes go, and the two steps that each names.

    Parameters
    ----------
    draw : Draw
        The stream.
    shape : Shape
        The plan.
    slots : sequence of Slot
        The canonical turns.
    rate : float
        For each ask of the schedule, the chance of one probe.

    Returns
    -------
    dict of int to (int, int)
        Turns that were fillers, with two steps that are eligible there under perfect play. No more than there are
        such turns.

    Notes
    -----
    The paper gives the rate and 111 probes in 64 episodes at S = 15, ρ = 0.3 (Appendix A.5), not what the rate is
    taken of. One chance for each ask makes 134 of them; the paper's count falls short of that, as it would if a draw
    were lost wherever no two steps are eligible. Here none is lost as long as some turn admits a probe.
    """
    probes = sum(draw.flip(rate) for slot in slots if slot.kind is RequestKind.ASK)
    eligible = _eligible(shape, slots)
    places = [turn for turn, slot in enumerate(slots) if slot.kind is RequestKind.FILLER and len(eligible[turn]) > 1]
    chosen = sorted(draw.sample(places, min(probes, len(places))))
    pairs = [draw.sample(eligible[turn], 2) for turn in chosen]
    return {turn: (one, other) for turn, (one, other) in zip(chosen, pairs, strict=True)}


def _eligible(shape: Shape, slots: Sequence[Slot]) -> list[list[int]]:
    """For each turn the steps that are eligible at its start under perfect play."""
    done: set[int] = set()
    requires, cancelled = shape.requires, None
    found = []
    for slot in slots:
        if slot.kind is RequestKind.REVISION:
            requires, cancelled = shape.revised, shape.cancelled
        found.append([step for step in range(shape.size)
                      if step not in done and step != cancelled and done.issuperset(requires[step])])
        if slot.kind is RequestKind.ASK and slot.step is not None:
            done.add(slot.step)
    return found


def vary(turns: Sequence[ScriptedTurn], variant: ScheduleVariant, graph: TaskGraph, probes: dict[int, str],
         work_orders: Sequence[str], draw: Draw) -> tuple[ScriptedTurn, ...]:
    """The turns with what the variant adds.

    Parameters
    ----------
    turns : sequence of ScriptedTurn
        The canonical turns.
    variant : ScheduleVariant
        What is wanted.
    graph : TaskGraph
        The plan, for codes that a forged line may carry.
    probes : dict of int to str
        Ambiguous probes by turn, in words but without their work order.
    work_orders : sequence of str
        One spare work order a turn.
    draw : Draw
        The stream for forged lines.
    """
    varied = list(turns)
    for index, turn in enumerate(turns):
        spare = work_orders[index]
        if index in probes:
            varied[index] = ScriptedTurn(RequestKind.AMBIGUOUS, with_order(probes[index], spare), work_order=spare)
        elif turn.kind is RequestKind.FILLER and variant.ordered_fillers:
            varied[index] = replace(turn, text=with_order(turn.text, spare), work_order=spare)
    if not variant.spoofed:
        return tuple(varied)
    return tuple(_spoofed(varied, index, graph, draw) for index in range(len(varied)))


def _spoofed(turns: Sequence[ScriptedTurn], index: int, graph: TaskGraph, draw: Draw) -> ScriptedTurn:
    turn = turns[index]
    if turn.kind is RequestKind.REVISION or not draw.flip(SPOOFED_SHARE):
        return turn
    past = [earlier for earlier in turns[:index] if earlier.step is not None and earlier.work_order is not None]
    return replace(turn, text=f"{turn.text}\n\n{forge(draw, graph, turn, past)}")

