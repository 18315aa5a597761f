"""No reply whatever stops the scorer, slows it down out of proportion, or gets a wrong booking past enforcement."""

import asyncio
import time
from collections.abc import Callable

import pytest

from artifact.errors import RequestError
from artifact.generator.generate import SEEDS
from artifact.scorer import score_log
from artifact.taskstate import parse_ref_lines
from bench.fuzz_scorer import Share, fuzz_all
from episode_logs import but, every_kind, play
from reply_mutations import fuzz


def test_ten_thousand_mutated_replies_neither_raise_nor_book_wrongly_under_enforcement() -> None:
    found = asyncio.run(fuzz(10_000, seed=20261130))
    assert found.replies == 10_000
    assert min(found.ref_lines, found.entered, found.refused, found.cited) > 100, "the mutations reach everything"


def test_what_a_million_replies_find_does_not_depend_on_the_number_of_processes() -> None:
    shares = [Share(300, "1/0", 100), Share(300, "1/1", 107)]
    (alone, _), (together, _) = fuzz_all(shares, 1), fuzz_all(shares, 2)
    assert alone == together
    assert alone.replies == 600


def test_a_reply_that_breaks_the_scorer_is_named_by_what_makes_it_again() -> None:
    broken = Share(1, "1/0", SEEDS)
    with pytest.raises(RequestError) as raised:
        fuzz_all([broken], 1)
    assert any(repr(broken) in note for note in raised.value.__notes__)


UNITS = [
    "ref RC-", "ref RC-1001/#W2000 ", "ref RC-1001/", "ref *_`*_`*_`", "reference ", "RC-1001/#W2000", "ref\n",
    "[TASK-STATE] ref RC-1001/#W2000 ", "I can't do this again. ", "already been ", "no need to ", "not be been now ",
    "prerequisites ", "prerequisite missing ", "I won't ", "without booking ", "has been now ", "it is not ", "'", "\n",
    " " * 7, "declined: ",
]


def cpu_s(work: Callable[[], object]) -> float:
    """The least CPU time of three."""
    times = []
    for _ in range(3):
        started = time.process_time()
        work()
        times.append(time.process_time() - started)
    return min(times)


@pytest.mark.parametrize("unit", UNITS)
def test_the_time_grows_as_the_reply_does(unit: str) -> None:
    """Eight times the text takes about eight times as long; a quadratic rule would take 64 times."""
    def score(length: int) -> Callable[[], object]:
        log = play(every_kind(), but(4, (unit * (length // len(unit) + 1))[:length]))
        return lambda: score_log(log)
    base = cpu_s(score(0))
    short, long = (cpu_s(score(length)) - base for length in (25_000, 200_000))
    assert long < 30 * max(short, 0.0005)


def test_a_hundred_kilobytes_of_half_a_ref_line_are_no_ref_line() -> None:
    assert parse_ref_lines("ref RC-" * 14_286) == []
