"""What holds for every option: defaults change no log, and enforcement commits nothing wrong in any combination."""

import asyncio
import hashlib
import re
import shutil

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from artifact.arms import ArmOptions, ArmSpec, parse_arm, prompts
from artifact.errors import RequestError
from artifact.log import RECORD_TYPES, EpisodeLog, iter_logs
from artifact.log.reader import files_inside, is_episode_log
from artifact.models.scripted import scripted_model
from artifact.paths import PROMPTS, RELEASED_LOGS
from artifact.runner import StudyPlan, batch, run_study_async
from artifact.scorer import score_log
from artifact.taskstate import Channel, ScheduleVariant, parse_bookings
from episode_logs import timeless
from fixed_arms import CODES, ask, open_arm, run_arm

# Hashes of scripted logs as they were before there were these options (package version 0.1).
BEFORE = {
    "raw": "9cedca63bf705651",
    "checklist": "ddccba3ce4596168",
    "directive": "337d3ed2bf42b47c",
    "enforcement": "e080e50f9946006a",
    "enforcement:state=oracle,corruption=0.02": "c5ed4a1c208706bb",
}


def said_and_done(log: EpisodeLog) -> str:
    """A hash of an episode's records without the circumstances of its run."""
    said = (log.header, *log.compiles, *log.turns, *([log.end] if log.end else []), *log.matches)
    text = b"\n".join(RECORD_TYPES[record.record].dump_json(record) for record in said)
    text = re.sub(rb'"(started|commit|version)":(null|"[^"]*")', b"", text)
    return hashlib.sha256(re.sub(rb'"(seconds|latency_s)":[0-9.e-]+', b"", text)).hexdigest()[:16]


@pytest.mark.parametrize("arm", BEFORE)
def test_at_their_defaults_options_change_no_byte_of_a_log(tmp_path, arm):
    log = run_arm(tmp_path, scripted_model("reader?directive=0.7&checklist=0.7"), parse_arm(arm))
    assert said_and_done(log) == BEFORE[arm]


class Silent:
    """A model that has answered everything already."""

    def __init__(self, name, identity) -> None:
        self.name, self._identity = name, identity

    def identity(self):
        return self._identity

    async def complete(self, messages, **options):
        raise AssertionError("a turn that is in the log was asked for again")

    async def close(self) -> None:
        pass


def first_episode(packed) -> list[bytes]:
    """The lines of the first episode of a packed file, its last one left out."""
    lines = []
    with packed.open("rb") as file, zstandard.ZstdDecompressor().stream_reader(file) as stream:
        for line in stream.read().split(b"\n"):
            if b'"record":"end"' in line:
                return lines
            lines.append(line)
    raise AssertionError(f"{packed} holds no whole episode")


@pytest.mark.parametrize("packed", sorted(files_inside(RELEASED_LOGS, is_episode_log)),
                         ids=lambda path: path.name[:-10])
def test_this_version_says_of_a_released_log_what_the_one_that_wrote_it_said(tmp_path, packed, monkeypatch):
    """Every record is made again from the recorded replies and compared: what is sent, entered, directed, noticed.

    What a memory recalled is recorded too, so nothing is encoded or searched, and the extra isn't needed.
    """
    log = next(iter_logs([packed]))
    monkeypatch.setattr(batch, "open_embedder", lambda: Silent("an encoder", log.header.memory))
    monkeypatch.setattr(batch, "memory_identity", lambda arm, embedder: log.header.memory)
    header, cell = log.header, log.header.cell
    path = tmp_path / header.study / cell.slug / header.arm.slug / f"{header.seed}.jsonl"
    path.parent.mkdir(parents=True)
    before = b"".join(line + b"\n" for line in first_episode(packed))
    path.write_bytes(before)
    plan = StudyPlan(header.study, cell.model, cell.state_model, (cell.size,), (cell.density,), cell.domain, cell.brief,
                     cell.regime, cell.prompts, (parse_arm(header.arm.text),), (header.seed,),
                     schedule=ScheduleVariant.parse(cell.schedule))
    summary = asyncio.run(run_study_async(plan, runs=tmp_path, durable=False, model=Silent(cell.model, header.model),
                                          state_model=Silent(cell.state_model, header.state_model)))
    assert summary.ended == {"completed": 1}
    assert path.read_bytes().startswith(before)
    assert path.read_bytes().count(b"\n") == before.count(b"\n") + 1


def test_a_corruption_of_rate_zero_is_the_uncorrupted_arm_byte_for_byte(tmp_path):
    model = scripted_model("reader?directive=0.7")
    for name in ("directive", "enforcement"):
        logs = [run_arm(tmp_path / folder, model, parse_arm(text), sizes=(10,))
                for folder, text in (("a", name), ("z", f"{name}:corruption=0"))]
        assert logs[0].header.arm == logs[1].header.arm
        assert said_and_done(logs[0]) == said_and_done(logs[1])


@pytest.mark.parametrize("arm", [
    "checklist:mode=replace,matched_line=true", "directive:role=system,named=true", "ledger:mode=replace",
    "enforcement:heal=true,named=true,notice=same_turn,policy=request,role=system,unresolved=ask",
])
@pytest.mark.parametrize("prompt_set", ["paper", "fewshot"])
def test_two_runs_with_options_say_the_same_and_a_cut_one_goes_on(tmp_path, arm, prompt_set):
    model, spec = scripted_model("reader?directive=0.6&checklist=0.6"), parse_arm(arm)
    for name in ("whole", "cut"):
        run_arm(tmp_path / name, model, spec, prompts=prompt_set)
    path = next((tmp_path / "cut").rglob("*.jsonl"))
    path.write_bytes(path.read_bytes()[:-20_000])
    run_arm(tmp_path / "cut", model, spec, prompts=prompt_set)
    assert timeless(tmp_path / "whole") == timeless(tmp_path / "cut")


ENFORCEMENT = st.builds(
    ArmOptions, match_every_turn=st.booleans(), role=st.sampled_from(["user", "system"]),
    policy=st.sampled_from(["state", "request"]), notice=st.sampled_from(["next_turn", "same_turn"]),
    unresolved=st.sampled_from(["pass", "ask"]), named=st.booleans(), heal=st.booleans())
MATCHES = st.one_of(st.none(), st.sampled_from(sorted(CODES)), st.just(("s1", "s3")))
REPLY = st.lists(st.sampled_from(sorted(CODES.values())), max_size=4)
TURNS = st.lists(st.tuples(MATCHES, st.booleans(), st.lists(REPLY, min_size=4, max_size=4)), min_size=1, max_size=10)


@settings(max_examples=400, deadline=None)
@given(ENFORCEMENT, st.sampled_from([0.0, 0.3]), TURNS, st.integers(0, 10))
def test_enforcement_commits_no_second_and_no_cancelled_execution_with_any_options(options, rate, turns, revised_at):
    if options.heal:  # flipped bits can't last; without healing a corrupted state may lose a receipt
        options = ArmOptions(**options.chosen, corruption=rate)
    arm, _ = open_arm("enforcement", {n: (found, redo) for n, (found, redo, _) in enumerate(turns)}, options=options)
    committed: list[str] = []
    cancelled = False
    for number, (found, redo, replies) in enumerate(turns):
        if number == revised_at:
            asyncio.run(arm.revise("drop the frames"))
            cancelled = True
        order = f"#W{number:04}"
        request, outgoing = ask(arm, number, order=order)
        authorized = outgoing.directive.step if outgoing.directive and outgoing.directive.kind == "redo" else None
        assert authorized is None or (redo and authorized == found)
        for codes in replies:
            visible = "\n".join(f"ref {code}/{order}" for code in codes)
            outcome = arm.receive(request, visible)
            if outcome.again is None:
                break
        else:
            raise AssertionError("an agent that never gives way holds up the conversation")
        entered = [booking for booking in outcome.bookings if booking.accepted]
        assert len({b.code for b in outcome.bookings}) == len(outcome.bookings)
        for booking in entered:
            assert booking.step not in committed or booking.step == authorized
            assert not (cancelled and booking.step == "s3")
            if options.policy == "request":
                assert booking.step == found
        if options.unresolved == "ask" and not isinstance(found, str):
            assert entered == []
        committed += [b.step for b in entered]
        if options.notice == "same_turn":  # no refused booking of the visible reply is entered
            refused = {b.code for b in outcome.bookings if not b.accepted}
            assert not refused & {b.code for b in entered}
            assert {line.code for line in parse_bookings(visible, order)} <= refused | {b.code for b in entered}
    again = {step for step in committed if committed.count(step) > 1}
    assert again <= {found for found, redo, _ in turns if redo}


@pytest.mark.parametrize("options", ["", ":notice=same_turn", ":policy=request", ":role=system", ":named=true",
                                     ":unresolved=ask", ":heal=true",
                                     ":notice=same_turn,policy=request,unresolved=ask"])
def test_booking_every_request_is_strict_behind_every_kind_of_enforcement(tmp_path, options):
    verdict = score_log(run_arm(tmp_path, scripted_model("always-book"), parse_arm(f"enforcement{options}")))
    assert verdict.strict
    assert all(verdict.count(channel) == 0 for channel in Channel)


def test_a_study_resumed_with_another_text_of_an_option_is_refused(tmp_path):
    model, spec = scripted_model("always-book"), ArmSpec("directive", ArmOptions(named=True))
    own = tmp_path / "own"
    shutil.copytree(PROMPTS / "paper", own)
    run_arm(tmp_path, model, spec, prompts=str(own))
    (own / "options" / "same_turn.txt").write_text("another option's text {notices}")
    prompts._load.cache_clear()
    run_arm(tmp_path, model, spec, prompts=str(own))
    (own / "options" / "named_step.txt").write_text("{step}, which is to {text},")
    prompts._load.cache_clear()
    with pytest.raises(RequestError, match="made by another run than the one asked for"):
        run_arm(tmp_path, model, spec, prompts=str(own))
