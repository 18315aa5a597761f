"""Running episodes: what lands in the log, what ends one, what a resume refuses."""

import asyncio
from pathlib import Path

import pytest

from artifact.arms import ArmOptions, ArmSpec
from artifact.errors import InfrastructureError, RequestError
from artifact.log import iter_logs
from artifact.log.records import EndReason
from artifact.models.base import ContextOverflow, ModelError, Reply
from artifact.models.scripted import scripted_model
from artifact.runner import StudyPlan, parse_seeds, run_study, run_study_async
from artifact.runner.lock import study_lock
from artifact.scorer import episode_frame
from episode_logs import edit, timeless


def run(tmp_path: Path, model=None, **changes):
    plan = StudyPlan(**({"study": "t", "model": "scripted:reader?directive=0.8&transcript=0.5", "sizes": (5,),
                         "seeds": (100, 101)} | changes))
    if model is None:
        return run_study(plan, runs=tmp_path, durable=False)
    return asyncio.run(run_study_async(plan, runs=tmp_path, durable=False, model=model))


def test_two_runs_of_a_study_say_the_same(tmp_path):
    first, second = tmp_path / "a", tmp_path / "b"
    run(first)
    run(second, model=None)
    assert timeless(first) == timeless(second)
    assert len(timeless(first)) == 8


def test_who_keeps_the_state_may_be_given_though_the_agent_is_named(tmp_path):
    plan = StudyPlan("t", "scripted:reader?directive=0.8", arms=(ArmSpec("enforcement"),), sizes=(5,), seeds=(100,))
    given = scripted_model("perfect")
    asyncio.run(run_study_async(plan, runs=tmp_path, durable=False, state_model=given))
    (log,) = iter_logs([tmp_path])
    assert log.header.state_model["name"] == given.name
    assert log.header.cell.state_model == given.name


def test_progress_names_an_arm_as_a_person_asked_for_it():
    plan = StudyPlan("t", "scripted:perfect", arms=(ArmSpec("enforcement", ArmOptions(state="oracle")),), seeds=(100,))
    assert [episode.label.partition(" ")[2] for episode in plan.episodes("m", "m")] == [
        "enforcement:state=oracle seed 100"]


def test_concurrency_changes_no_log(tmp_path):
    plan = StudyPlan("t", "scripted:reader?directive=0.8", sizes=(5,), seeds=(100, 101, 102))
    run_study(plan, runs=tmp_path / "one", durable=False)
    run_study(plan, runs=tmp_path / "six", durable=False, concurrency=6)
    assert timeless(tmp_path / "one") == timeless(tmp_path / "six")


def test_a_finished_study_is_not_run_again(tmp_path):
    assert run(tmp_path).run_now == 8
    before = {p: p.read_bytes() for p in tmp_path.rglob("*.jsonl")}
    summary = run(tmp_path)
    assert (summary.run_now, summary.ended) == (0, {"completed": 8})
    assert before == {p: p.read_bytes() for p in tmp_path.rglob("*.jsonl")}


@pytest.mark.parametrize("cut", [1, 40, 3000, 20000])
def test_a_cut_log_is_resumed_to_the_same_end(tmp_path, cut):
    run(tmp_path / "whole")
    run(tmp_path / "cut")
    for path in (tmp_path / "cut").rglob("*.jsonl"):
        content = path.read_bytes()
        path.write_bytes(content[:max(0, len(content) - cut)])
    run(tmp_path / "cut")
    assert timeless(tmp_path / "whole") == timeless(tmp_path / "cut")


def test_a_log_of_another_cell_is_refused_with_the_difference(tmp_path):
    run(tmp_path)
    log = next(tmp_path.rglob("raw/100.jsonl"))
    edit(log, b'"prompts_sha256":"', b'"prompts_sha256":"0000', 1)
    with pytest.raises(RequestError, match=r"made by another run.*prompts_sha256: 0000"):
        run(tmp_path)


def test_a_server_that_was_restarted_on_another_port_is_the_same_model(tmp_path):
    run(tmp_path)
    log = next(tmp_path.rglob("raw/100.jsonl"))
    edit(log, b'"engine":"scripted"', b'"endpoint":"http://a:1/v1","engine":"scripted"')
    assert run(tmp_path).run_now == 0


def test_a_damaged_line_is_named(tmp_path):
    run(tmp_path)
    log = next(tmp_path.rglob("raw/100.jsonl"))
    lines = log.read_bytes().splitlines(keepends=True)
    log.write_bytes(b"".join([lines[0], b"{broken\n", *lines[1:]]))
    with pytest.raises(RequestError, match=r"line 2 of .*100\.jsonl is damaged"):
        run(tmp_path)


def test_a_second_runner_of_a_study_says_so(tmp_path):
    with study_lock(tmp_path / "t"), pytest.raises(RequestError, match="is being run by process"):
        run(tmp_path)


def test_an_unwritable_folder_is_an_infrastructure_error(tmp_path):
    (tmp_path / "t").write_text("a file where the folder should be")
    with pytest.raises(InfrastructureError, match="can't be written"):
        run(tmp_path)


class Failing:
    """A scripted model that fails at its nth call."""

    def __init__(self, at: int, error: Exception) -> None:
        self.inner, self.at, self.error, self.calls = scripted_model("always-book"), at, error, 0
        self.name = self.inner.name

    def identity(self):
        return self.inner.identity()

    async def complete(self, messages, **options) -> Reply:
        self.calls += 1
        if self.calls == self.at:
            raise self.error
        return await self.inner.complete(messages, **options)

    async def close(self) -> None:
        pass


@pytest.mark.parametrize(("error", "reason"), [
    (ContextOverflow("too long"), EndReason.CONTEXT_OVERFLOW), (ModelError("gone"), EndReason.MODEL_ERROR)])
def test_infrastructure_ends_an_episode_with_its_reason_and_counts_apart(tmp_path, error, reason):
    summary = run(tmp_path, Failing(10, error), arms=(ArmSpec("raw"),), seeds=(100,))
    assert summary.ended == {reason: 1}
    episode = episode_frame(iter_logs([tmp_path])).iloc[0]
    assert (episode["completed"], episode["strict"], episode["end_reason"]) == (False, False, reason)


def test_what_a_server_broke_off_is_taken_up_again(tmp_path):
    raw = (ArmSpec("raw"),)
    run(tmp_path / "a", Failing(10, ModelError("gone")), arms=raw, seeds=(100,))
    run(tmp_path / "a", Failing(10_000, ModelError("never")), arms=raw, seeds=(100,))
    run(tmp_path / "b", Failing(10_000, ModelError("never")), arms=raw, seeds=(100,))
    assert timeless(tmp_path / "a") == timeless(tmp_path / "b")


def test_a_log_that_another_model_left_off_is_refused_as_it_is(tmp_path):
    raw = (ArmSpec("raw"),)
    run(tmp_path, Failing(10, ModelError("gone")), arms=raw, seeds=(100,))
    (log,) = tmp_path.rglob("100.jsonl")
    before = log.read_bytes()
    other = Failing(10_000, ModelError("never"))
    other.identity = lambda: {"engine": "another"}
    with pytest.raises(RequestError, match="made by another run"):
        run(tmp_path, other, arms=raw, seeds=(100,))
    assert log.read_bytes() == before


def test_gate_arms_share_one_compile(tmp_path):
    run(tmp_path, seeds=(100,))
    logs = {log.header.arm.name: log for log in iter_logs([tmp_path])}
    assert logs["directive"].compiles == logs["enforcement"].compiles
    assert len(list((tmp_path / "t" / "compiled").iterdir())) == 2
    assert logs["raw"].compiles == ()
    assert {c.source for c in logs["checklist"].compiles} == {"oracle"}


def test_scripted_compile_equals_the_generator(tmp_path):
    for prompts in ("paper", "fewshot"):
        run(tmp_path / prompts, seeds=(100, 101, 102), prompts=prompts, sizes=(5, 10))
        for log in iter_logs([tmp_path / prompts]):
            if log.header.arm.name in ("directive", "enforcement"):
                plan, revision = log.compiles
                assert plan.graph == log.header.episode.graph
                assert revision.graph == plan.graph.revise(log.header.episode.revision)
                assert all(m.step == t.step for m in log.matches for t in log.turns if t.turn == m.turn)


def test_no_arm_that_compiles_is_given_the_generators_state(tmp_path):
    run(tmp_path, seeds=(100,))
    run(tmp_path, seeds=(100,), arms=(ArmSpec("enforcement", ArmOptions(state="oracle", matcher="oracle")),))
    sources = {log.header.arm.slug: {c.source for c in log.compiles} for log in iter_logs([tmp_path])}
    assert sources["enforcement"] == {"compiled"}
    assert {"oracle"} in [found for slug, found in sources.items() if slug.startswith("enforcement.")]


@pytest.mark.parametrize(("text", "seeds"), [("100:103", (100, 101, 102)), ("5", (5,)), ("1,4:6", (1, 4, 5))])
def test_seeds_are_read(text, seeds):
    assert parse_seeds(text) == seeds


@pytest.mark.parametrize("text", ["", "a", "5:5", "-3:2", "1;2"])
def test_bad_seeds_are_named(text):
    with pytest.raises(RequestError, match="100:228"):
        parse_seeds(text)


def test_a_log_that_was_only_just_opened_is_passed_over_when_scoring(tmp_path):
    run(tmp_path, seeds=(100,))
    (tmp_path / "t" / "cell" / "raw").mkdir(parents=True)
    (tmp_path / "t" / "cell" / "raw" / "101.jsonl").write_bytes(b'{"schema":1,"stu')
    assert len(episode_frame(iter_logs([tmp_path]))) == 4
