"""A gate kept in a file: its receipts survive a crash, and what isn't known it asks for."""

import os
import resource
import signal
import subprocess
import sys
import textwrap
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from artifact import Gate, KeptGate
from artifact.errors import InfrastructureError, RequestError
from artifact.gate import Attempt, DirectiveKind
from artifact.taskstate import BadGraph, Revision, Step, TaskGraph

PLAN = TaskGraph((Step("order", "order", "order"), Step("pay", "pay", "pay", ("order",)))).check()


def reopened(gate, log):
    gate.close()
    return KeptGate(PLAN, log)


def test_an_ordered_redo_is_done_once():
    gate = Gate(PLAN)
    gate.receipt("order", work_order="#W0001")
    gate.authorize("order")
    assert gate.check("order").allowed
    gate.receipt("order", work_order="#W0002")
    assert not gate.check("order").allowed


def test_a_kept_gate_rebuilds_itself_with_revisions_and_receipts(tmp_path):
    gate = KeptGate(PLAN, tmp_path / "r.jsonl")
    gate.begin("order", work_order="#W0001")
    gate.receipt("order", work_order="#W0001", turn=3)
    gate.revise(Revision(cancel="pay"))
    again = reopened(gate, tmp_path / "r.jsonl")
    assert again.receipts == gate.receipts and again.state == gate.state and again.open_attempts == ()
    assert again.check("pay").reason == "step pay was CANCELLED"


@pytest.mark.integration
@pytest.mark.parametrize("did_its_work", [True, False])
def test_after_a_crash_between_work_and_receipt_the_gate_asks_for_evidence(tmp_path, did_its_work):
    log, work = tmp_path / "receipts.jsonl", tmp_path / "work.txt"
    program = textwrap.dedent(f"""
        import os, signal
        from pathlib import Path
        from artifact import KeptGate
        from artifact.taskstate import Step, TaskGraph
        plan = TaskGraph((Step("order", "order", "order"), Step("pay", "pay", "pay", ("order",)))).check()
        gate = KeptGate(plan, Path({str(log)!r}))
        assert gate.begin("order", work_order="#W0001").allowed
        if {did_its_work}:
            Path({str(work)!r}).write_text("#W0001")
        os.kill(os.getpid(), signal.SIGKILL)
    """)
    killed = subprocess.run([sys.executable, "-c", program], env=os.environ, check=False)
    assert killed.returncode == -9
    gate = KeptGate(PLAN, log)
    assert gate.open_attempts == (Attempt("order", "#W0001"),)
    refused = gate.begin("order", work_order="#W0002")
    assert not refused.allowed and "evidence" in refused.reason
    gate.settle(lambda attempt: work.exists() and attempt.work_order in work.read_text())
    assert gate.check("order").allowed is not did_its_work and gate.check("pay").allowed is did_its_work
    assert reopened(gate, log).receipts == gate.receipts and len(gate.receipts) == did_its_work


def test_a_torn_last_line_is_cut_off_and_a_damaged_one_refused(tmp_path):
    log = tmp_path / "r.jsonl"
    gate = KeptGate(PLAN, log)
    gate.receipt("order", work_order="#W0001")
    whole = log.read_bytes()
    log.write_bytes(whole + b'{"event":"rec')
    again = reopened(gate, log)
    assert again.receipts == gate.receipts and log.read_bytes() == whole
    again.close()
    log.write_bytes(whole.replace(b"receipt", b"recipes"))
    for _ in range(2):  # the second time too: a gate that wasn't made holds no lock
        with pytest.raises(RequestError, match=r"line 2 of .* is damaged"):
            KeptGate(PLAN, log)


def test_on_a_full_disk_nothing_begins_and_the_log_stays_whole(tmp_path):
    log = tmp_path / "r.jsonl"
    gate = KeptGate(PLAN, log)
    whole = log.read_bytes()
    limit, handler = resource.getrlimit(resource.RLIMIT_FSIZE), signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(whole) + 10, limit[1]))  # room for a part of the next line
    try:
        with pytest.raises(InfrastructureError, match="make room"):
            gate.begin("order", work_order="#W0001")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limit)
        signal.signal(signal.SIGXFSZ, handler)
    assert log.read_bytes() == whole and gate.open_attempts == ()
    assert gate.begin("order", work_order="#W0002").allowed
    assert reopened(gate, log).open_attempts == (Attempt("order", "#W0002"),)


@pytest.mark.parametrize("line", [
    '{"event":"revision","revision":{"cancel":"sing","rewires":[],"relax":null}}',
    '{"event":"receipt","attempt":{"step":"sing","work_order":"#W0001"}}',
    '{"event":"begun","attempt":{"step":"sing","work_order":"#W0001"}}', '{"event":"plan"}',
    '{"event":"authorized","steps":["sing"]}', '{"event":"authorized"}'])
def test_a_line_that_the_plan_does_not_know_is_named(tmp_path, line):
    log = tmp_path / "r.jsonl"
    KeptGate(PLAN, log).close()
    log.write_text(f"{log.read_text('utf-8')}{line}\n", "utf-8")
    with pytest.raises(RequestError, match=r"line 2 of .* is damaged"):
        KeptGate(PLAN, log)


def test_receipts_without_their_plan_are_refused(tmp_path):
    log = tmp_path / "r.jsonl"
    with KeptGate(PLAN, log) as gate:
        gate.receipt("order", work_order="#W0001")
    log.write_bytes(log.read_bytes().partition(b"\n")[2])
    with pytest.raises(RequestError, match=r"line 1 of .* is damaged"):
        KeptGate(PLAN, log)


def test_receipts_of_another_plan_are_refused_in_a_sentence(tmp_path):
    KeptGate(PLAN, tmp_path / "r.jsonl").close()
    with pytest.raises(RequestError, match="another plan"):
        KeptGate(TaskGraph((Step("order", "order", "order"),)).check(), tmp_path / "r.jsonl")
    with pytest.raises(InfrastructureError, match="can't be used"):
        KeptGate(PLAN, tmp_path)


def test_what_cannot_be_applied_is_not_written_down(tmp_path):
    log = tmp_path / "r.jsonl"
    gate = KeptGate(PLAN, log)
    before = log.read_bytes()
    with pytest.raises(BadGraph):
        gate.revise(Revision(cancel="sing"))
    with pytest.raises(BadGraph):
        gate.receipt("sing", work_order="#W0001")
    assert not gate.begin("pay", work_order="#W0001").allowed and log.read_bytes() == before
    assert Path(log).is_file()


def test_a_second_gate_on_one_file_is_refused_and_a_closed_one_holds_nothing(tmp_path):
    log = tmp_path / "r.jsonl"
    gate = KeptGate(PLAN, log)
    with pytest.raises(RequestError, match="in use by another gate"):
        KeptGate(PLAN, log)
    assert gate.begin("order", work_order="#W0001").allowed
    gate.close()
    with pytest.raises(RequestError, match="closed"):
        gate.receipt("order", work_order="#W0001")
    assert not KeptGate(PLAN, log).begin("order", work_order="#W0002").allowed


@pytest.mark.integration
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_process_lets_nothing_run_by_the_gate_of_another(tmp_path):
    gate = KeptGate(PLAN, tmp_path / "r.jsonl")
    child = os.fork()
    if not child:
        try:
            gate.begin("order", work_order="#W0001")
        except RequestError:
            os._exit(0)
        os._exit(1)
    assert os.waitpid(child, 0)[1] == 0
    assert gate.begin("order", work_order="#W0002").allowed


def test_of_many_threads_that_begin_a_step_one_is_let_run(tmp_path):
    gate, start = KeptGate(PLAN, tmp_path / "r.jsonl"), threading.Barrier(8)

    def begin(number):
        start.wait(10)
        return gate.begin("order", work_order=f"#W{number:04}").allowed
    with ThreadPoolExecutor(8) as threads:
        assert sum(threads.map(begin, range(8))) == 1
    assert len(gate.open_attempts) == 1


def test_directive_and_checklist_say_of_an_open_step_what_the_gate_would_answer(tmp_path):
    gate = KeptGate(PLAN, tmp_path / "r.jsonl")
    assert gate.directive("order") is DirectiveKind.ELIGIBLE
    gate.begin("order", work_order="#W0001")
    assert not gate.check("order").allowed and gate.directive("order") is DirectiveKind.OPEN
    said = gate.directive_text("order")
    assert said.startswith("[TASK-STATE] step order is OPEN") and "#W0001" in said and "evidence" in said
    assert gate.checklist().splitlines()[1:] == ["- order: OPEN (evidence is asked for)",
                                                 "- pay: TODO (waiting on: order)"]
    gate.undone("order", work_order="#W0001")
    assert gate.directive_text("order") == "[TASK-STATE] step order is ELIGIBLE. Carry it out now."
    assert gate.checklist().splitlines()[1] == "- order: TODO (ready)"


def test_an_ordered_redo_is_still_ordered_after_a_crash_that_left_it_undone(tmp_path):
    log = tmp_path / "r.jsonl"
    gate = KeptGate(PLAN, log)
    gate.receipt("order", work_order="#W0001")
    gate.authorize("order")
    assert gate.begin("order", work_order="#W0002").allowed
    gate = reopened(gate, log)
    gate.settle(lambda attempt: False)
    assert gate.directive("order") is DirectiveKind.REDO and gate.begin("order", work_order="#W0003").allowed
    gate.receipt("order", work_order="#W0003")
    assert not reopened(gate, log).check("order").allowed  # and what was ordered once is done once


def test_an_order_to_redo_that_was_withdrawn_stays_withdrawn(tmp_path):
    log = tmp_path / "r.jsonl"
    gate = KeptGate(PLAN, log)
    gate.receipt("order", work_order="#W0001")
    gate.authorize("order")
    gate.authorize()
    whole = log.read_bytes()
    gate.authorize()
    assert log.read_bytes() == whole  # a request that orders nothing costs no line
    assert not reopened(gate, log).check("order").allowed


def test_a_receipt_that_is_told_twice_counts_once(tmp_path):
    log = tmp_path / "r.jsonl"
    gate = KeptGate(PLAN, log)
    gate.receipt("order", work_order="#W0001")
    gate.authorize("order")
    gate.receipt("order", work_order="#W0001")
    assert len(gate.receipts) == 1 and gate.check("order").allowed  # it doesn't use up the redo
    refused = gate.begin("order", work_order="#W0001")
    assert not refused.allowed and refused.reason == "step order was done for #W0001 before"
    gate.receipt("order", work_order="#W0002")
    assert len(gate.receipts) == 2 and reopened(gate, log).receipts == gate.receipts
