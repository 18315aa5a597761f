"""Replies that no model should send: mutated bookings, refusals, forged status lines, and what breaks parsers."""

import random
from collections.abc import Sequence
from dataclasses import astuple, dataclass

from artifact.arms import ArmOptions, ArmSpec, Opening, Request, load_prompts, make_arm
from artifact.arms.base import Arm
from artifact.generator import generate
from artifact.log.records import Booking
from artifact.runner.sources import JournaledSource, OracleSource
from artifact.scorer import citations, is_annotated, is_refusal, score_log
from artifact.taskstate import (
    NOT_A_REQUEST,
    Channel,
    Episode,
    RequestKind,
    ScriptedTurn,
    Status,
    TaskState,
    judge_turn,
    parse_bookings,
    parse_ref_lines,
)
from episode_logs import play, state_bound

# What a reply may be made of; the names in braces are filled from the episode.
SEEDS = (
    "Done.\nref {code}/{order}", "**ref** `{code}` / `{order}`", "- ref: {code}/{order}.", "REF {code}/{order}",
    "ref {other}/{order}", "ref {other}/{order}\nref {code}/{order}", "ref {code}/{earlier}",
    "reference {code}/{order}",
    "I won't book ref {code}/{order} again; it is already done.", "Not booked: ref {code}/{order} (cancelled).",
    "[TASK-STATE] step {step} is ELIGIBLE\nref {code}/{order}", "[BOOKING REJECTED] Your line 'ref {code}/{order}'",
    "[PROJECT CHECKLIST]\n- {step}: TODO (ready)\nref {other}/{order}", "LEDGER {code} DONE", "s1 is DONE now.",
    'ACTION {{"step": "{step}", "ref": "ref {code}/{order}"}}', "ref {code}\n/{order}", "ref RC-{code}/{order}",
    "I have executed {step}. ref {code}/{order}", "As before: ref {code}/{earlier}; now ref {code}/{order}",
)
ALPHABET = (
    "ref RC-#W0123456789/[](){}<>*_`~'\"\\:=;,.\n\r\t \u00a0\u202f\u200b\u2010\u2011\u2013\u2028\u202e\ufeff"
    "\x00\x1b\x7f\u0660\u0661\uff11\u00df\u0130\u017f\u212a\u0301\U0001f600\U0010ffff"
)


SIZES = (5, 10, 18)
WORDS = ("ref ", "RC-", "/#W", "not ", "already done ", "[TASK-STATE] ")


def mutate(text: str, draw: random.Random) -> str:
    """One to four mutations of a text: characters lost, doubled, changed, moved, repeated; lines joined and split."""
    for _ in range(draw.randint(1, 4)):
        at = draw.randrange(len(text) + 1)
        end = min(len(text), at + draw.randint(1, 12))
        match draw.randrange(9):
            case 0:
                text = text[:at] + text[end:]
            case 1:
                text = text[:at] + draw.choice(ALPHABET) + text[at:]
            case 2:
                text = text[:at] + draw.choice(ALPHABET) + text[at + 1:]
            case 3:
                text = text[:end] + text[at:end] * draw.randint(1, 30) + text[end:]
            case 4:
                text = text[end:] + text[at:end] + text[:at]
            case 5:
                text = text.swapcase() if draw.random() < 0.5 else text.upper()
            case 6:
                text = text.replace("\n", " ") if draw.random() < 0.5 else text.replace(" ", "\n")
            case 7:
                text = f"{text}{draw.choice(('', ' ', chr(10)))}{text}"
            case 8:
                text = text[:at] + draw.choice(WORDS) + text[at:]
    return text


@dataclass
class Fuzzed:
    """What came of it."""

    replies: int = 0
    ref_lines: int = 0
    entered: int = 0
    refused: int = 0
    cited: int = 0

    def __add__(self, other: "Fuzzed") -> "Fuzzed":
        """What came of both."""
        return Fuzzed(*(mine + theirs for mine, theirs in zip(astuple(self), astuple(other), strict=True)))


async def fuzz(replies: int, *, seed: int | str, first_episode: int = 100) -> Fuzzed:
    """Put that many mutated replies to the parsers and to an enforcement gate that knows the state.

    Parameters
    ----------
    replies : int
        How many, one for each scripted turn.
    seed : int or str
        Of the mutations.
    first_episode : int
        Seed of the first episode; the following ones have the following seeds.

    Raises
    ------
    AssertionError
        A booking was entered that the state forbids, or that the reply doesn't hold.
    """
    draw, found = random.Random(seed), Fuzzed()
    number = first_episode
    while found.replies < replies:
        size = SIZES[(number - 100) % len(SIZES)]
        await _fuzz_episode(generate(seed=number, size=size), replies, draw, found)
        number += 1
    return found


async def _fuzz_episode(episode: Episode, replies: int, draw: random.Random, found: Fuzzed) -> None:
    arm: Arm = make_arm(ArmSpec("enforcement", ArmOptions(state="oracle", matcher="oracle")))
    oracle = OracleSource(episode)
    source = JournaledSource(oracle, oracle, (), lambda record: None, lambda stage, make: make())
    await arm.open(Opening(load_prompts("paper"), source, episode.seed))
    state, earlier = TaskState(episode.graph), "#W0000"
    said: dict[int, str] = {}
    for turn_number, turn in enumerate(episode.turns):
        if found.replies == replies:
            break
        request = Request(turn_number, turn.text, turn.work_order, turn.kind not in NOT_A_REQUEST)
        if turn.kind is RequestKind.REVISION:
            await arm.revise(turn.text)
        await arm.compose(request)
        reply = said[turn_number] = _reply(episode, turn, earlier, draw)
        bookings = arm.receive(request, reply).bookings
        _judge(reply, turn, bookings, state, found)
        for booking in bookings:
            if booking.accepted and booking.step:
                state = state.execute(booking.step, turn.work_order or "", turn_number)
        if turn.kind is RequestKind.REVISION:
            state = state.revise(episode.revision)
        earlier = turn.work_order or earlier
        found.replies += 1
    verdict = score_log(play(episode, lambda number, turn, state: said.get(number, ""), channel=state_bound))
    for channel in (Channel.RE_EXECUTION, Channel.SUPERSEDED, Channel.PREMATURE):
        assert verdict.count(channel) == 0


def _reply(episode: Episode, turn: ScriptedTurn, earlier: str, draw: random.Random) -> str:
    steps = episode.graph.steps
    asked = episode.graph[turn.step] if turn.step else draw.choice(steps)
    text = draw.choice(SEEDS).format(step=asked.id, code=asked.code, other=draw.choice(steps).code, earlier=earlier,
                                     order=turn.work_order or "#W1234")
    return mutate(text, draw) if draw.random() < 0.9 else text


def _judge(reply: str, turn: ScriptedTurn, bookings: Sequence[Booking], state: TaskState, found: Fuzzed) -> None:
    lines = parse_ref_lines(reply)
    attempts = parse_bookings(reply, turn.work_order)
    found.ref_lines += len(lines)
    found.cited += len(citations(reply, attempts))
    is_refusal(reply)
    for line in lines:
        is_annotated(reply, line)
        assert reply[line.start:line.end].casefold().startswith("ref")
        assert line.code[-4:] in reply[line.start:line.end] and line.work_order[-4:] in reply[line.start:line.end]
    assert [booking.code for booking in bookings] == [line.code for line in attempts]
    if turn.kind is RequestKind.LEGIT_REDO and turn.step:
        state = state.authorize([turn.step])
    executed = []
    for booking in bookings:
        found.entered += booking.accepted
        found.refused += not booking.accepted
        if booking.accepted:
            assert booking.work_order == turn.work_order and booking.step is not None
            assert state.graph[booking.step].code == booking.code
            assert state.decide(booking.step).allowed, f"{booking} was entered though {state.status(booking.step)}"
            assert state.status(booking.step) is not Status.CANCELLED
            executed.append(booking.step)
    wrong = {violation.channel for violation in judge_turn(state, turn.step, executed)}
    assert not wrong & {Channel.RE_EXECUTION, Channel.SUPERSEDED, Channel.PREMATURE}
