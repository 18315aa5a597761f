"""The trap-turn probe with real tools: a live replay is branched, and agents of known behaviour act as they must."""

import asyncio
import json
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from artifact.arms import ArmSpec
from artifact.cli.main import main
from artifact.errors import RequestError
from artifact.harness.batch import run_harness
from artifact.harness.build_rq4 import build_rq4
from artifact.harness.reader import iter_harness_logs
from artifact.harness.tools import trap_probe as probe_module
from artifact.harness.tools.actions import parse_actions, without_actions
from artifact.harness.tools.harness import RealTools
from artifact.harness.tools.measures import judge
from artifact.harness.tools.plan import ToolsPlan
from artifact.harness.tools.records import RECORD_TYPES, ToolTurnRecord
from artifact.harness.tools.scripted import POLICIES, ScriptedAgent, _AlwaysAct, _is_result
from artifact.harness.tools.texts import tool_prompts
from artifact.harness.tools.trap_frame import tool_probe_frame
from artifact.harness.tools.trap_probe import ToolsTrapProbe
from artifact.harness.tools.trap_records import NAME, PROBE_RECORD_TYPES, BranchRecord, ToolTrapRecord
from artifact.harness.tools.trap_replay import ReplayedEpisode
from artifact.harness.tools.trap_table import tools_trap_probe_table
from artifact.harness.tools.trap_variants import tool_variants
from artifact.harness.tools.workspace import Workspace
from artifact.log.probes import ProbeVariant, VariantRecord
from artifact.models.base import ModelTimeout
from artifact.report.reported import load_reported
from artifact.runner import ProbePlan, StudyPlan
from artifact.scorer.probe_replies import ReplySort
from artifact.taskstate import Channel, RequestKind

V = ProbeVariant
EVERY_WORK_ORDER = set(V) - {V.NO_WORK_ORDER}


def request_of(messages) -> str:
    return [message for message in messages if message.role == "user" and not _is_result(message)][-1].content


class Heeding(_AlwaysAct):
    """Leaves a step alone that a directive in the user's own turn calls done."""

    def reply(self, messages):
        heeds = "already DONE" in request_of(messages)
        return "This step was already completed." if heeds else super().reply(messages)


class OwnBooks(_AlwaysAct):
    """Leaves a step alone that it finds an ACTION line of its own for in the turns before."""

    def reply(self, messages):
        answer = super().reply(messages)
        own = {action.tool for message in messages if message.role == "assistant"
               for action in parse_actions(message.content)}
        again = {action.tool for action in parse_actions(answer)} & own
        return "That was already completed earlier." if again else answer


class SaysAndActs(_AlwaysAct):
    """Says that a step is done, and carries it out anyway."""

    def reply(self, messages):
        answer = super().reply(messages)
        return f"This step was already completed.\n{answer}" if parse_actions(answer) else answer


OWN = {"heeding": Heeding, "own-books": OwnBooks, "says-and-acts": SaysAndActs}


@pytest.fixture(autouse=True)
def _policies(monkeypatch):
    for name, policy in OWN.items():
        monkeypatch.setitem(POLICIES, name, policy)


def raw_logs(folder: Path, policy: str, *, seeds=(300, 301), study="source", arms=("raw",), **options) -> Path:
    plan = ToolsPlan(StudyPlan(study, f"scripted:{policy}", sizes=(5,), arms=tuple(map(ArmSpec, arms)), seeds=seeds),
                     **options)
    asyncio.run(run_harness(RealTools(plan), study, runs=folder, durable=False))
    return folder / study


def probe(folder: Path, policy: str, *sources: Path, asked: str | None = None, **changes):
    sources = sources or (raw_logs(folder, policy),)
    plan = ProbePlan(f"scripted:{asked or policy}", sources, **({"samples": 2} | changes))
    summary = asyncio.run(run_harness(ToolsTrapProbe(plan), plan.study, runs=folder, durable=False))
    return summary, tool_probe_frame([folder / plan.study])


def acted_in(frame) -> set[str]:
    return set(frame["variant"][frame["books"]])


def logs_of(folder: Path):
    return list(iter_harness_logs([folder], "tools", RECORD_TYPES))


def live_traps(log):
    """Each trap turn of a log with its variants."""
    replayed = ReplayedEpisode(log, tool_prompts("paper"))

    async def live():
        with replayed.workspace() as trunk:
            return [(trap, list(tool_variants(trap, replayed.prompts, replayed.dispatch(trunk).result)))
                    async for trap in replayed.traps(trunk)]
    return asyncio.run(live())


@pytest.mark.parametrize(("policy", "expected", "sorts"), [
    ("always-act", EVERY_WORK_ORDER, {ReplySort.BOOKS_UNMENTIONED, ReplySort.NEITHER}),
    ("heeding", EVERY_WORK_ORDER - {V.DIRECTIVE_USER},
     {ReplySort.BOOKS_UNMENTIONED, ReplySort.DECLINES, ReplySort.NEITHER}),
    # Keeps its own books by its calls: it acts again only where these are gone.
    ("own-books", {V.RECORD_PROSE, V.RECORD_ERASED},
     {ReplySort.BOOKS_UNMENTIONED, ReplySort.DECLINES, ReplySort.NEITHER}),
    ("says-and-acts", EVERY_WORK_ORDER, {ReplySort.BOOKS_STATED, ReplySort.NEITHER}),
])
def test_an_agent_of_known_behaviour_acts_where_it_must(tmp_path, policy, expected, sorts):
    summary, frame = probe(tmp_path, policy)
    assert summary.ended == {"completed": 2}
    assert acted_in(frame) == expected and set(frame["sort"]) == sorts
    compared = frame[frame["reproduces"].notna()]
    assert len(compared) and compared["reproduces"].all() and compared["same_text"].all()
    assert set(frame["sort"][frame["variant"] == V.NO_WORK_ORDER.value]) == {ReplySort.NEITHER.value}


def test_every_branch_works_in_a_workspace_of_its_own(tmp_path):
    _, frame = probe(tmp_path, "always-act", samples=3)
    for log in iter_harness_logs([tmp_path / "trap_probe"], NAME, PROBE_RECORD_TYPES):
        trap = variant = None
        for record in log.records:
            if isinstance(record, ToolTrapRecord):
                trap = record
                assert trap.trap.work_order not in trap.stamps != ()
            elif isinstance(record, VariantRecord):
                variant = record
            else:
                stamps = {} if variant.work_order is None else {trap.trap.code: (trap.trap.work_order,)}
                assert record.stamped == stamps, "it saw what another branch had done, or did nothing"
    assert set(frame.groupby(["seed", "turn", "variant"]).size()) == {4}


def test_what_is_stamped_in_a_branch_leaves_the_trunk_alone():
    with Workspace(["a", "b"]) as trunk:
        trunk.stamp("a", "#W0001")
        with trunk.branch() as own:
            own.stamp("a", "#W0002")
            own.stamp("b", "#W0002")
            assert own.artifacts() == {"a": ("#W0001", "#W0002"), "b": ("#W0002",)}
        assert trunk.artifacts() == {"a": ("#W0001",)} and not own.root.exists()


def test_trap_turns_are_those_where_the_scorer_finds_a_step_carried_out_anew(tmp_path):
    for log in logs_of(raw_logs(tmp_path, "always-act", seeds=(300, 301, 302))):
        kinds = {turn.turn: turn.kind for turn in log.records if isinstance(turn, ToolTurnRecord)}
        judged = [turn for turn, violation in judge(log).violations
                  if violation.channel is Channel.RE_EXECUTION and kinds[turn] is RequestKind.REDO_PROBE]
        assert [live.trap.record.turn for live, _ in live_traps(log)] == judged != []


@pytest.mark.parametrize("policy", ["always-act", "stubborn", "eager", "says-and-acts"])
def test_one_thing_is_changed_and_roles_alternate(tmp_path, policy):
    rewritten = 0
    for log in logs_of(raw_logs(tmp_path, policy)):
        for live, variants in live_traps(log):
            trap, conversation = live.trap.record, live.trap.record.conversation
            assert [asked.variant for asked in variants] == list(V)
            for asked in variants:
                messages = asked.applied_to(conversation)
                assert all(one.role != other.role for one, other in pairwise(messages))
                changed = {change.at for change in asked.changes}
                if asked.variant in (V.RECORD_PROSE, V.RECORD_ERASED):
                    before = messages[1:-1]
                    assert not any(action.tool == trap.code for m in before for action in parse_actions(m.content))
                    assert not any(f"[TOOL RESULT] {trap.code} for" in m.content for m in before if _is_result(m))
                    assert changed and messages[0] == conversation[0] and messages[-1] == conversation[-1]
                    prose = [m for m in before if m.role == "assistant"
                             and f"I have carried out this step: {trap.step_text}." in m.content]
                    assert bool(prose) is (asked.variant is V.RECORD_PROSE)
                    others = {action.tool for m in conversation if m.role == "assistant"
                              for action in parse_actions(m.content)} - {trap.code}
                    assert others == {action.tool for m in before if m.role == "assistant"
                                      for action in parse_actions(m.content)}, "another step's record went too"
                    rewritten += 1
                elif asked.variant is not V.AS_RECORDED:
                    assert changed == {0 if asked.variant in (V.CHECKLIST_SYSTEM, V.DIRECTIVE_SYSTEM)
                                       else len(conversation) - 1}
                else:
                    assert not changed
    assert rewritten >= 4


def test_a_notice_before_the_request_stays_where_the_request_is_another(tmp_path):
    told = 0
    for log in logs_of(raw_logs(tmp_path, "stubborn", seeds=(300, 301, 302, 303), rounds=1)):
        for live, variants in live_traps(log):
            for asked in variants if live.notices else ():
                assert asked.applied_to(live.trap.record.conversation)[-1].content.startswith(live.notices[0])
                told += 1
    assert told


@pytest.mark.parametrize("edit", ["reply", "result", "calls", "artifact"])
def test_a_replay_that_parts_from_its_log_is_refused(tmp_path, edit):
    log = logs_of(raw_logs(tmp_path, "always-act", seeds=(300,)))[0]
    at, turn = next((at, turn) for at, turn in enumerate(log.records)
                    if isinstance(turn, ToolTurnRecord) and turn.calls and turn.turn)
    records = list(log.records)
    if edit == "reply":
        records[at] = replace(turn, replies=(replace(turn.replies[0], reply="Noted."), *turn.replies[1:]))
    elif edit == "result":
        records[at] = replace(turn, sent=(turn.sent[0], replace(turn.sent[1], content="[TOOL RESULT] well done")))
    elif edit == "calls":
        records[at] = replace(turn, calls=())
    else:
        space = records[-1]
        records[-1] = replace(space, artifacts={**space.artifacts, min(space.artifacts): ("#W0000",)})
    with pytest.raises(RequestError, match="parts from its log"):
        live_traps(replace(log, records=tuple(records)))


def content(folder: Path) -> dict[str, list]:
    """Every probe log without what may differ between two runs."""
    logs = {}
    for path in sorted((folder / "trap_probe").rglob("*.harness.jsonl")):
        logs[path.name] = [json.loads(line) for line in path.read_bytes().splitlines()]
        for record in logs[path.name]:
            for key in ("sum", "started", "seconds"):
                record.pop(key, None)
            record.get("subject", {}).get("source", {}).pop("sha256", None)  # the source was run twice as well
    return logs


@pytest.mark.parametrize("cut", [1, 700, 9000])
def test_a_cut_log_is_resumed_to_the_same_end(tmp_path, cut):
    probe(tmp_path / "whole", "own-books")
    source = raw_logs(tmp_path / "cut", "own-books")
    probe(tmp_path / "cut", "own-books", source)
    for path in (tmp_path / "cut/trap_probe").rglob("*.harness.jsonl"):
        path.write_bytes(path.read_bytes()[:-cut])
    summary, _ = probe(tmp_path / "cut", "own-books", source)
    assert summary.run_now == 2
    assert content(tmp_path / "cut") == content(tmp_path / "whole") != {}


class Failing(ScriptedAgent):
    """Gives no answer after so many."""

    left = 30

    def bind(self, episode):
        return Failing(self._policy, super().bind(episode)._bound)

    async def complete(self, messages, **settings):
        Failing.left -= 1
        if Failing.left < 0:
            raise ModelTimeout("No answer within 1 s.")
        return await super().complete(messages, **settings)


def test_a_call_without_an_answer_ends_the_log_with_a_reason_and_another_run_goes_on(tmp_path, monkeypatch):
    source = raw_logs(tmp_path, "always-act", seeds=(300,))
    with monkeypatch.context() as patch:
        patch.setattr(probe_module, "ScriptedAgent", Failing)
        summary, frame = probe(tmp_path, "always-act", source)
    assert summary.ended == {"timeout": 1} and len(frame) and not frame["completed"].any()
    summary, whole = probe(tmp_path, "always-act", source)
    assert summary.ended == {"completed": 1} and whole["completed"].all() and len(whole) > len(frame)


def test_a_branch_whose_workspace_and_calls_disagree_is_not_sorted(tmp_path):
    from episode_logs import edit

    probe(tmp_path, "always-act")
    for path in (tmp_path / "trap_probe").rglob("*.harness.jsonl"):
        edit(path, b'"stamped":{"', b'"stamped":{"other_')
    with pytest.raises(RequestError, match=r"workspace and calls of a branch of .* disagree"):
        tool_probe_frame([tmp_path / "trap_probe"])


@pytest.mark.parametrize(("policy", "options", "asked", "says"), [
    ("never-act", {}, "never-act", "there is nothing to probe: none of the 2 raw-arm episodes"),
    ("always-act", {"failure_rate": 0.2}, "always-act", "whose tools always work"),
    ("always-act", {"arms": ("checklist",)}, "always-act", "there is no completed one"),
    ("always-act", {}, "never-act", r"those of scripted-always-act \(no_think\), and none is of"),
])
def test_logs_that_cannot_be_probed_are_refused_in_a_sentence(tmp_path, policy, options, asked, says):
    source = raw_logs(tmp_path, policy, **options)
    with pytest.raises(RequestError, match=says):
        probe(tmp_path, policy, source, asked=asked)


@pytest.mark.parametrize(("arguments", "says"), [
    (["--study", "trap_probe"], "name raw-arm logs of the harness tools with --from"),
    (["--study", "trap_probe", "--from", "SOURCE", "--arms", "raw"], "leave out --arms"),
    (["--study", "trap_probe", "--from", "SOURCE", "--rounds", "2"], "leave out --rounds"),
    (["--study", "trap_probe", "--from", "SOURCE", "--samples", "0"], "0 samples a variant show nothing"),
    (["--study", "trap_probe", "--from", "SOURCE", "--seeds", "7"], "none of the raw-arm episodes of --from has one"),
    (["--study", "mine", "--samples", "4"], "--samples is of the trap-turn probe alone"),
])
def test_a_bad_request_is_one_sentence(tmp_path, capsys, arguments, says):
    source = raw_logs(tmp_path, "always-act", seeds=(300,))
    filled = [str(source) if argument == "SOURCE" else argument for argument in arguments]
    capsys.readouterr()
    assert main(["run", "--harness", "tools", "--model", "scripted:always-act", "--runs", str(tmp_path), *filled]) == 2
    shown = capsys.readouterr().err
    assert says in shown and len(shown.splitlines()) == 1


def test_the_command_probes_and_scores_and_the_ladder_is_scored_apart(tmp_path, capsys):
    source = raw_logs(tmp_path, "always-act")
    assert main(["run", "--harness", "tools", "--study", "trap_probe", "--model", "scripted:always-act", "--from",
                 str(source), "--seeds", "300", "--samples", "1", "--runs", str(tmp_path), "--no-fsync"]) == 0
    capsys.readouterr()
    assert main(["score", str(tmp_path / "trap_probe")]) == 0
    shown = capsys.readouterr().out
    assert "2 trap turns of 1 raw-arm episodes (scripted-always-act), 40 replies" in shown and "strict" not in shown
    assert main(["score", str(tmp_path / "trap_probe"), "--json"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 40
    assert main(["score", str(source)]) == 0
    assert "trap turns" not in capsys.readouterr().out
    assert main(["verify", str(tmp_path / "trap_probe")]) == 0
    assert isinstance(next(iter_harness_logs([tmp_path / "trap_probe"], NAME, PROBE_RECORD_TYPES)).records[2],
                      BranchRecord)


@pytest.mark.parametrize(("reply", "tool", "instead", "left"), [
    ('ACTION {"tool": "a", "work_order": "#W1"}', None, "", ""),
    ('Sure.\nACTION {"tool": "a", "work_order": "#W1"}\nBye.', "a", "", "Sure.\nBye."),
    ('ACTION {"tool": "a", "work_order": "#W1"}\nBye.', "a", "", "Bye."),
    ('Sure.\n**ACTION {"tool": "a", "work_order": "#W1"}**', "a", "It is done.", "Sure.\nIt is done."),
    ('Sure.\nACTION {"tool": "b", "work_order": "#W1"}', "a", "", 'Sure.\nACTION {"tool": "b", "work_order": "#W1"}'),
    ("Sure.\nACTION nonsense\nBye.", None, "", "Sure.\nBye."),
    ("Sure.\nACTION nonsense\nBye.", "a", "", "Sure.\nACTION nonsense\nBye."),
    ('ACTION {"tool": "a",\n "work_order": "#W1"} then\nACTION {"tool": "b", "work_order": "#W1"}', "a", "", 'then\n'
     'ACTION {"tool": "b", "work_order": "#W1"}'),
])
def test_action_lines_are_taken_out_and_nothing_else(reply, tool, instead, left):
    assert without_actions(reply, tool=tool, instead=instead) == left


def test_the_table_counts_what_a_directive_reader_does_beside_what_the_paper_reports(tmp_path):
    _, frame = probe(tmp_path, "heeding")
    table = tools_trap_probe_table(frame, load_reported())
    rows = {row["variant"]: row for row in table.records}
    assert (rows[V.AS_RECORDED]["k"], rows[V.AS_RECORDED]["n"], rows[V.AS_RECORDED]["reproduced_k"]) == (8, 8, 4)
    assert (rows[V.DIRECTIVE_USER]["k"], rows[V.DIRECTIVE_USER]["declines"]) == (0, 8)
    assert [rows[variant]["reported_Qwen3-235B"] for variant in (V.AS_RECORDED, V.CHECKLIST_USER, V.CONFIRM)] == [
        "0.09", "0.02", ""]
    assert [rows[variant]["reported_Qwen3.6-35B"] for variant in (V.CONFIRM, V.NO_WORK_ORDER)] == ["0.02", ""]
    assert "Acts again" in table.tex and "ref" not in table.tex.partition("Reported")[0]
    assert "not run" in tools_trap_probe_table(tool_probe_frame([]), load_reported()).tex


def test_the_report_of_a_study_holds_its_probe(tmp_path):
    probe(tmp_path / "runs", "heeding")
    written = dict.fromkeys(("tables", "figures", "numbers"), tmp_path)
    assert build_rq4("trap_probe", sources=[tmp_path / "runs"], **written) == 2
    assert "scripted-heeding" in (tmp_path / "tools_trap_probe.tex").read_text()
    assert build_rq4("source", sources=[tmp_path / "runs"], **written) == 2
    assert "not run" in (tmp_path / "tools_trap_probe.tex").read_text()


class Served:
    """A model that is no scripted policy of this harness: it is opened, asked with seeds, and closed."""

    name, closed = "scripted-always-act", False

    def __init__(self):
        self.asked = []

    def identity(self):
        return {"engine": "test"}

    async def complete(self, messages, *, max_tokens, temperature=0.0, seed=None, session=None, schema=None):
        self.asked.append((temperature, seed, session))
        return await ScriptedAgent("always-act", _AlwaysAct(None)).complete(messages, max_tokens=max_tokens)

    async def close(self):
        self.closed = True


def test_a_served_model_is_asked_greedily_and_sampled_each_sample_by_a_seed_of_its_own(tmp_path, monkeypatch):
    source, served = raw_logs(tmp_path, "always-act", seeds=(300,)), Served()

    async def opened(name, **settings):
        return served

    monkeypatch.setattr(probe_module, "open_model", opened)
    plan = ProbePlan("http://127.0.0.1:1/v1", (source,), samples=2)
    asyncio.run(run_harness(ToolsTrapProbe(plan), plan.study, runs=tmp_path, durable=False))
    assert served.closed and acted_in(tool_probe_frame([tmp_path / "trap_probe"])) == EVERY_WORK_ORDER
    assert {(temperature > 0, seed is None) for temperature, seed, _ in served.asked} == {(True, False), (False, True)}
    branches = [record for log in iter_harness_logs([tmp_path / "trap_probe"], NAME, PROBE_RECORD_TYPES)
                for record in log.records if isinstance(record, BranchRecord)]
    seeds = [branch.seed for branch in branches if branch.sample]
    assert len({*seeds}) == len(seeds) == 2 * 2 * len(V)
