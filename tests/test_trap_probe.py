"""The trap-turn probe: one thing is changed at a time, and agents of known behaviour answer as they must."""

import asyncio
import json
from pathlib import Path

import pytest

from artifact.arms import ArmSpec, load_prompts
from artifact.cli.main import main
from artifact.errors import RequestError
from artifact.log import iter_logs
from artifact.log.probe_reader import iter_probes
from artifact.log.probes import ProbeVariant
from artifact.models.base import ModelTimeout
from artifact.models.replay import Recorder, Replay
from artifact.models.scripted import scripted_model
from artifact.runner import ProbePlan, StudyPlan, run_study, run_trap_probe, run_trap_probe_async
from artifact.runner.probe_variants import variants_of
from artifact.runner.trap_turns import traps_of
from artifact.scorer import score_log
from artifact.scorer.probe_frame import probe_frame
from artifact.taskstate import RequestKind, parse_ref_lines

V = ProbeVariant
SEEDS = (100, 101)
# What each agent must do: the variants in which it books the finished step again.
EVERY_WORK_ORDER = set(V) - {V.NO_WORK_ORDER}


def raw_logs(folder: Path, model: str, *, seeds: tuple[int, ...] = SEEDS, size: int = 5, **changes) -> Path:
    plan = StudyPlan(**({"study": "source", "model": model, "sizes": (size,), "seeds": seeds,
                         "arms": (ArmSpec("raw"),)} | changes))
    run_study(plan, runs=folder, durable=False)
    return folder / "source"


def probe(folder: Path, model: str, **changes):
    source = raw_logs(folder, model)
    run_trap_probe(ProbePlan(model, (source,), **({"samples": 2} | changes)), runs=folder, durable=False)
    return list(iter_probes([folder / "trap_probe"]))


def booked_in(logs) -> set[str]:
    frame = probe_frame(logs)
    return set(frame["variant"][frame["books"]])


@pytest.mark.parametrize(("model", "expected"), [
    ("scripted:always-book", EVERY_WORK_ORDER),
    # Heeds a directive in the user's own turn, and nothing else.
    ("scripted:reader?directive=1", EVERY_WORK_ORDER - {V.DIRECTIVE_USER}),
    ("scripted:reader?checklist=1", EVERY_WORK_ORDER - {V.CHECKLIST_USER}),
    # Keeps its own books by its booking lines: it books again only where these are gone.
    ("scripted:reader?transcript=1", {V.RECORD_PROSE, V.RECORD_ERASED}),
])
def test_an_agent_of_known_behaviour_books_where_it_must(tmp_path: Path, model: str, expected: set[str]) -> None:
    assert booked_in(probe(tmp_path, model)) == expected


def test_every_trap_turn_is_asked_in_every_variant_greedily_and_as_often_as_asked(tmp_path: Path) -> None:
    logs = probe(tmp_path, "scripted:always-book", samples=3)
    for log in logs:
        assert log.completed
        for probed in log.traps:
            assert tuple(asked.asked.variant for asked in probed.variants) == tuple(V)
            for asked in probed.variants:
                assert [(answer.sample, answer.temperature > 0) for answer in asked.answers] == [
                    (0, False), (1, True), (2, True), (3, True)]


def test_trap_turns_are_those_that_the_scorer_labels_so(tmp_path: Path) -> None:
    for log in iter_logs([raw_logs(tmp_path, "scripted:reader?transcript=0.5", seeds=tuple(range(100, 112)))]):
        labelled = [turn.turn for turn in score_log(log).turns if turn.label is RequestKind.REDO_PROBE]
        assert [trap.record.turn for trap in traps_of(log)] == labelled


def test_the_history_is_held_fixed_but_for_the_one_thing_that_is_changed(tmp_path: Path) -> None:
    prompts = load_prompts("paper")
    for log in iter_logs([raw_logs(tmp_path, "scripted:always-book")]):
        for trap in traps_of(log):
            recorded = trap.record.conversation
            said = [message for turn in log.turns[:trap.record.turn] for message in turn.sent]
            assert recorded[-1].content == log.turns[trap.record.turn].text
            assert [m for m in recorded[:-1] if m.role != "assistant"] == said
            assert [m.content for m in recorded if m.role == "assistant"] == [
                turn.reply for turn in log.turns[:trap.record.turn]]
            for variant in variants_of(trap, prompts):
                asked = variant.applied_to(recorded)
                changed = [at for at, (old, new) in enumerate(zip(recorded, asked, strict=True)) if old != new]
                assert [m.role for m in asked] == [m.role for m in recorded]
                assert changed == [change.at for change in variant.changes]
                _check_change(variant.variant, trap.record, recorded, asked, changed)


def _check_change(variant: ProbeVariant, trap, recorded, asked, changed: list[int]) -> None:
    last = len(recorded) - 1
    match variant:
        case V.AS_RECORDED:
            assert changed == []
        case V.NO_WORK_ORDER:
            assert changed == [last]
            assert asked[last].content == recorded[last].content.replace(f" ({trap.work_order})", "")
        case V.CONFIRM | V.STATUS_QUESTION:
            assert changed == [last]
            assert trap.work_order in asked[last].content and trap.step_text in asked[last].content
        case V.CHECKLIST_USER | V.DIRECTIVE_USER:
            assert changed == [last]
            assert asked[last].content.startswith(recorded[last].content + "\n\n[")
        case V.CHECKLIST_SYSTEM | V.DIRECTIVE_SYSTEM:
            assert changed == [0]
            assert asked[0].content.startswith(recorded[0].content + "\n\n[")
        case V.RECORD_PROSE | V.RECORD_ERASED:
            record = [at for at, m in enumerate(recorded) if m.role == "assistant"
                      and any(line.code == trap.code for line in parse_ref_lines(m.content))]
            assert changed == record != []
            assert not any(trap.code in asked[at].content for at in changed)
            assert all((trap.step_text in asked[at].content) == (variant is V.RECORD_PROSE) for at in changed)


def test_what_is_shown_is_the_realized_state(tmp_path: Path) -> None:
    for log in probe(tmp_path, "scripted:always-book"):
        for probed in log.traps:
            for asked in probed.variants:
                text = " ".join(change.message.content for change in asked.asked.changes)
                if asked.asked.variant in (V.CHECKLIST_USER, V.CHECKLIST_SYSTEM):
                    assert f"- {probed.trap.step}: DONE" in text
                if asked.asked.variant in (V.DIRECTIVE_USER, V.DIRECTIVE_SYSTEM):
                    assert f"[TASK-STATE] step {probed.trap.step} is already DONE." in text


def test_every_sample_has_a_seed_of_its_own_and_the_same_one_in_every_run(tmp_path: Path) -> None:
    first = probe(tmp_path / "a", "scripted:always-book")
    second = probe(tmp_path / "b", "scripted:always-book")
    other = probe(tmp_path / "c", "scripted:always-book", sampling_seed=1)

    def seeds(logs) -> list[int]:
        return [answer.seed for log in logs for probed in log.traps for asked in probed.variants
                for answer in asked.answers if answer.sample]

    assert seeds(first) == seeds(second) != seeds(other)
    assert len(set(seeds(first))) == len(seeds(first))


def test_the_greedy_re_ask_of_a_scripted_agent_reproduces_every_recorded_outcome(tmp_path: Path) -> None:
    frame = probe_frame(probe(tmp_path, "scripted:reader?transcript=0.5"))
    compared = frame[frame["reproduces"].notna()]
    assert len(compared) and compared["reproduces"].all() and compared["same_text"].all()
    assert set(compared["variant"]) == {V.AS_RECORDED.value} and compared["greedy"].all()


def test_a_packed_source_and_an_unpacked_one_are_the_same_source(tmp_path: Path) -> None:
    from artifact.log.pack import pack

    model = "scripted:always-book"
    probe(tmp_path, model)
    packed = pack(tmp_path / "source", tmp_path / "data").files
    summary = run_trap_probe(ProbePlan(model, packed, samples=2), runs=tmp_path, durable=False)
    assert (summary.run_now, summary.ended) == (0, {"completed": len(SEEDS)})


def content(folder: Path) -> dict[str, list]:
    """Every probe log without what may differ between two runs."""
    logs = {}
    for path in sorted(folder.rglob("*.probe.jsonl")):
        logs[path.name] = records = [json.loads(line) for line in path.read_bytes().splitlines()]
        for record in records:
            record.pop("sum", None)  # of the times as well
            record.pop("started", None)
            record.pop("seconds", None)
            record.get("usage", {}).pop("latency_s", None)
            record.get("source", {}).pop("sha256", None)  # the source was run twice as well, at another time
    return logs


@pytest.mark.parametrize("cut", [1, 700, 9000])
def test_a_cut_log_is_resumed_to_the_same_end(tmp_path: Path, cut: int) -> None:
    model = "scripted:always-book"
    probe(tmp_path / "whole", model)
    probe(tmp_path / "cut", model)
    for path in (tmp_path / "cut/trap_probe").rglob("*.probe.jsonl"):
        path.write_bytes(path.read_bytes()[:-cut])
    probe(tmp_path / "cut", model)
    assert content(tmp_path / "cut") == content(tmp_path / "whole") != {}


def test_concurrency_changes_no_log(tmp_path: Path) -> None:
    model = "scripted:always-book"
    probe(tmp_path / "one", model)
    source = raw_logs(tmp_path / "two", model)
    run_trap_probe(ProbePlan(model, (source,), samples=2), runs=tmp_path / "two", durable=False, concurrency=4)
    assert content(tmp_path / "one") == content(tmp_path / "two")


class Failing:
    """A model that gives no answer after so many."""

    def __init__(self, answers: int) -> None:
        self._model, self._left = scripted_model("always-book"), answers
        self.name = self._model.name

    def identity(self):
        return self._model.identity()

    async def complete(self, messages, **settings):
        self._left -= 1
        if self._left < 0:
            raise ModelTimeout("No answer within 1 s.")
        return await self._model.complete(messages, **settings)


def test_a_call_without_an_answer_ends_the_log_with_a_reason_and_another_run_goes_on(tmp_path: Path) -> None:
    model = "scripted:always-book"
    source = raw_logs(tmp_path, model, seeds=(100,))
    plan = ProbePlan(model, (source,), samples=2)
    summary = asyncio.run(run_trap_probe_async(plan, runs=tmp_path, durable=False, model=Failing(40)))
    assert summary.ended == {"timeout": 1}
    frame = probe_frame(iter_probes([tmp_path / "trap_probe"]))
    assert len(frame) == 40 and not frame["completed"].any()
    assert run_trap_probe(plan, runs=tmp_path, durable=False).ended == {"completed": 1}
    (log,) = iter_probes([tmp_path / "trap_probe"])
    assert log.completed and len(probe_frame([log])) == len(log.traps) * len(V) * 3


def test_a_probe_can_be_replayed_from_recorded_answers(tmp_path: Path) -> None:
    model = "scripted:always-book"
    source = raw_logs(tmp_path, model)
    plan = ProbePlan(model, (source,), samples=2)
    recorder = Recorder(scripted_model("always-book"), tmp_path / "recording.jsonl")
    asyncio.run(run_trap_probe_async(plan, runs=tmp_path / "live", durable=False, model=recorder))
    asyncio.run(recorder.close())
    replay = Replay(tmp_path / "recording.jsonl")
    asyncio.run(run_trap_probe_async(plan, runs=tmp_path / "replayed", durable=False, model=replay))

    def replies(folder: Path) -> list[str]:
        return [answer.reply for log in iter_probes([folder]) for probed in log.traps for asked in probed.variants
                for answer in asked.answers]

    assert replies(tmp_path / "live") == replies(tmp_path / "replayed") != []


# What can't be done, in a sentence


def test_a_probe_of_logs_without_redo_turns_is_refused(tmp_path: Path) -> None:
    source = raw_logs(tmp_path, "scripted:never-book")
    with pytest.raises(RequestError, match="there is nothing to probe: none of the 2 raw-arm episodes"):
        run_trap_probe(ProbePlan("scripted:never-book", (source,)), runs=tmp_path)


def test_a_probe_of_logs_without_a_raw_arm_is_refused(tmp_path: Path) -> None:
    source = raw_logs(tmp_path, "scripted:always-book", arms=(ArmSpec("checklist"),))
    with pytest.raises(RequestError, match="no completed raw-arm episode among the logs"):
        run_trap_probe(ProbePlan("scripted:always-book", (source,)), runs=tmp_path)


def test_a_probe_of_another_models_logs_is_refused(tmp_path: Path) -> None:
    source = raw_logs(tmp_path, "scripted:always-book")
    with pytest.raises(RequestError, match=r"those of scripted-always-book \(no_think\), and none is of"):
        run_trap_probe(ProbePlan("scripted:never-book", (source,)), runs=tmp_path)


def test_a_probe_of_seeds_that_are_not_there_is_refused(tmp_path: Path) -> None:
    source = raw_logs(tmp_path, "scripted:always-book")
    with pytest.raises(RequestError, match="none of the raw-arm episodes of --from has one of these seeds"):
        run_trap_probe(ProbePlan("scripted:always-book", (source,), seeds=(7,)), runs=tmp_path)


def test_two_different_episodes_under_one_name_are_refused(tmp_path: Path) -> None:
    model = "scripted:always-book"
    first, second = raw_logs(tmp_path, model), raw_logs(tmp_path, model, study="other").with_name("other")
    with pytest.raises(RequestError, match="hold different episodes of"):
        run_trap_probe(ProbePlan(model, (first, second)), runs=tmp_path)


def test_a_probe_resumed_with_other_options_is_refused(tmp_path: Path) -> None:
    model = "scripted:always-book"
    probe(tmp_path, model)
    with pytest.raises(RequestError, match="samples: 2 in the log, 3 now"):
        probe(tmp_path, model, samples=3)


@pytest.mark.parametrize(("arguments", "sentence"), [
    (["--study", "trap_probe"], "name raw-arm logs with --from"),
    (["--study", "trap_probe", "--from", "SOURCE", "--arms", "raw"], "leave out --arms"),
    (["--study", "trap_probe", "--from", "SOURCE", "--corruption", "0.1"], "leave out --corruption"),
    (["--study", "a/b", "--from", "SOURCE"], "can't be a folder name"),
    (["--study", "trap_probe", "--from", "SOURCE", "--samples", "0"], "0 samples a variant show nothing"),
    (["--study", "ladder", "--from", "SOURCE"], "among the episodes of 'ladder'; leave it out"),
    (["--study", "all", "--from", "SOURCE"], "among the episodes of 'all'; leave it out"),
    (["--study", "ladder", "--samples", "4"], "--samples is of the study trap_probe alone"),
    (["--study", "trap_probe", "--from", "nowhere"], "does not exist"),
])
def test_a_bad_request_is_one_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str],
                                       sentence: str) -> None:
    source = raw_logs(tmp_path, "scripted:always-book")
    filled = [str(source) if argument == "SOURCE" else argument for argument in arguments]
    capsys.readouterr()
    assert main(["run", "--model", "scripted:always-book", "--runs", str(tmp_path), *filled]) == 2
    shown = capsys.readouterr().err
    assert sentence in shown and len(shown.splitlines()) == 1


def test_the_command_line_probes_and_scores(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = raw_logs(tmp_path, "scripted:always-book")
    command = ["run", "--study", "trap_probe", "--model", "scripted:always-book", "--from", str(source), "--seeds",
               "101", "--runs", str(tmp_path), "--no-fsync"]
    assert main(command) == 0
    capsys.readouterr()
    assert main([*command[:2], "trap_probe", "--smoke", *command[3:]]) == 0
    capsys.readouterr()
    assert {log.header.samples for log in iter_probes([tmp_path / "trap_probe_smoke"])} == {2}
    assert main(["score", str(source), str(tmp_path / "trap_probe")]) == 0
    shown = capsys.readouterr().out
    assert "2 trap turns of 1 raw-arm episodes (scripted-always-book), 180 replies" in shown
    assert "directive_user" in shown and "scripted-always-book.S05" in shown.splitlines()[-1]
