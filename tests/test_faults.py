"""A server that fails at every third call changes no verdict, and nothing that happened goes uncounted."""

import asyncio
from collections import Counter
from pathlib import Path

import pytest

from artifact.log import EndReason, iter_logs
from artifact.log.faults import Fault
from artifact.log.tally import faults_of
from artifact.models.openai_compatible import OpenAICompatible
from artifact.models.retry import RetryPolicy
from artifact.report.faults_table import faults_table
from artifact.runner import RunSummary, StudyPlan, run_study_async
from artifact.scorer import score_log
from chaos_server import COUNTED_AS, EXCLUDING, ChaosServer, rates

POLICY = "reader?directive=0.8&transcript=0.5"
PATIENT = RetryPolicy(attempts=12, first_wait_s=0.0005, longest_wait_s=0.002)


def run(folder: Path, *, faulty: float, excluding: float = 0.0, retry: RetryPolicy = PATIENT,
        seeds: tuple[int, ...] = (100, 101, 102)) -> tuple[RunSummary, Counter[str]]:
    """A study against a server that fails at this rate; what was left behind, and what the server did."""
    async def study() -> tuple[RunSummary, Counter[str]]:
        faults = rates(faulty, excluding=excluding) if faulty else {}
        async with ChaosServer(POLICY, faults, seed=7) as server:
            model = await OpenAICompatible.connect(server.url, timeout_s=1.0, retry=retry)
            plan = StudyPlan("t", server.url, sizes=(5,), seeds=seeds)
            summary = await run_study_async(plan, runs=folder, durable=False, concurrency=8, model=model)
            await model.close()
            return summary, server.did
    return asyncio.run(study())


def verdicts(folder: Path) -> dict[tuple, tuple]:
    return {log.key: score_log(log).turns for log in iter_logs([folder]) if log.completed}


@pytest.fixture(scope="module")
def calm(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("calm")
    summary, did = run(folder, faulty=0)
    assert (summary.ended, summary.faults, set(did)) == ({"completed": 12}, {}, {"answered"})
    return folder


def test_with_30_percent_of_calls_faulty_the_verdicts_are_those_of_the_calm_run(calm: Path, tmp_path: Path) -> None:
    summary, did = run(tmp_path, faulty=0.3)
    assert summary.ended == {"completed": 12}
    assert verdicts(tmp_path) == verdicts(calm)
    calls = did.total()
    assert 0.2 < 1 - did["answered"] / calls < 0.4 and calls > 800
    assert {name for name in COUNTED_AS if name not in did} <= {"stall", "huge"}, "some fault was never met"
    met = Counter(fault for name, count in did.items() if (fault := COUNTED_AS.get(name)) for _ in range(count))
    # A connection that is cut after the answer may be noticed by the next call on it.
    late = summary.faults[Fault.CONNECTION] - met[Fault.CONNECTION]
    assert 0 <= late <= did["cut after"]
    assert summary.faults == {**met, Fault.CONNECTION: met[Fault.CONNECTION] + late}


def test_what_ends_an_episode_is_excluded_with_its_reason_and_moves_no_other_verdict(calm: Path,
                                                                                    tmp_path: Path) -> None:
    summary, did = run(tmp_path, faulty=0.3, excluding=0.004)
    ended = sum(did[name] for name in EXCLUDING)
    assert 0 < ended < 12
    assert summary.ended == {"completed": 12 - ended, "context_overflow": ended}
    left, whole = verdicts(tmp_path), verdicts(calm)
    assert left == {key: whole[key] for key in left}
    table = faults_table(iter_logs([tmp_path]))
    assert sum(record["context_overflow"] for record in table.records) == ended
    assert sum(record["completed"] for record in table.records) == 12 - ended
    assert all(log.end and log.end.detail for log in iter_logs([tmp_path]) if not log.completed)


def test_episodes_that_were_given_up_are_taken_up_by_the_same_command_and_keep_their_count(calm: Path,
                                                                                          tmp_path: Path) -> None:
    hasty = RetryPolicy(attempts=2, first_wait_s=0.0005, longest_wait_s=0.001)
    first, _ = run(tmp_path, faulty=0.3, retry=hasty)
    assert first.ended.keys() <= {"completed", "model_error", "timeout"} and len(first.ended) > 1
    given_up = {log.key: log.end.faults for log in iter_logs([tmp_path]) if log.end and not log.completed}
    assert all(len(faults) == 2 for faults in given_up.values())
    second, _ = run(tmp_path, faulty=0.0)
    assert second.ended == {"completed": 12} and second.run_now == len(given_up)
    assert verdicts(tmp_path) == verdicts(calm)
    assert {log.key: log.end.faults for log in iter_logs([tmp_path]) if log.end and log.end.faults} == given_up
    assert second.faults == first.faults


def test_a_calm_log_says_nothing_of_faults(calm: Path) -> None:
    assert all(b'"faults"' not in path.read_bytes() for path in calm.rglob("*.jsonl"))
    assert not any(faults_of(turn) for log in iter_logs([calm]) for turn in log.turns)


def test_the_table_counts_what_the_logs_tell_and_says_what_was_not_run(tmp_path: Path) -> None:
    run(tmp_path, faulty=0.3, seeds=(100,))
    table = faults_table(iter_logs([tmp_path]))
    told = Counter(fault for log in iter_logs([tmp_path]) for record in (*log.compiles, *log.matches, *log.turns)
                   for fault in faults_of(record))
    assert {fault: sum(row[fault] for row in table.records) for fault in told} == told
    assert [row["arm"] for row in table.records] == ["raw", "checklist", "directive", "enforcement"]
    assert all(row["calls"] >= 44 for row in table.records)
    assert "not run" in faults_table([]).tex
    assert set(EndReason) <= table.records[0].keys()
