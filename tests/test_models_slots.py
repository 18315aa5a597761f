"""Slots of the embedded engine: who is where."""

import asyncio

from artifact.models.slots import Slots


def test_a_conversation_stays_in_its_slot_and_helper_calls_never_take_it() -> None:
    slots = Slots(conversations=1, helpers=2)
    first = slots.claim("a")
    assert first.newcomer and first.slot.index == 0
    helper = slots.claim("a:state/match_step")
    assert helper.slot.index > 0
    again = slots.claim("a")
    assert again.slot is first.slot and not again.newcomer


def test_a_purpose_keeps_its_slot_across_conversations() -> None:
    slots = Slots(conversations=1, helpers=2)
    step, redo = slots.claim("a:state/match_step").slot, slots.claim("a:state/match_redo").slot
    assert step is not redo
    assert slots.claim("b:state/match_step").slot is step
    assert slots.claim("b:state/match_redo").slot is redo


def test_a_newcomer_takes_the_idle_slot_that_was_left_the_longest_ago() -> None:
    slots = Slots(conversations=3, helpers=1)
    held = {name: slots.claim(name).slot for name in "abc"}
    slots.claim("a")
    newcomer = slots.claim("d")
    assert newcomer.newcomer and newcomer.slot is held["b"]
    assert slots.claim("b").newcomer


def test_a_busy_slot_is_left_alone_while_another_is_idle() -> None:
    slots = Slots(conversations=2, helpers=1)
    busy, idle = slots.claim("a").slot, slots.claim("b").slot
    asyncio.run(busy.lock.acquire())
    assert slots.claim("c").slot is idle
