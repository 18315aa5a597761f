"""The released proof of the airline study, read and scored without the benchmark."""

import subprocess
import sys

import pytest

from artifact import paths
from artifact.harness.reader import iter_harness_logs
from artifact.harness.tau2.gate import Rung
from artifact.harness.tau2.measures import judged
from artifact.harness.tau2.numbers import PROOF
from artifact.harness.tau2.records import RECORD_TYPES
from artifact.harness.tau2.rules import reference_rules

RELEASED = paths.RELEASED_LOGS / PROOF
GOLD, NOTHING = "scripted:gold", "scripted:nothing"


@pytest.fixture(scope="module")
def verdicts():
    return judged([RELEASED])


def passed(verdicts, model, rung, unaffected=False):
    chosen = [v for v in verdicts if (v.cell.model, v.rung) == (model, rung) and (v.unaffected or not unaffected)]
    assert all(v.completed for v in chosen)
    return sum(v.passed for v in chosen), len(chosen)


def test_gold_replay_passes_every_task_without_a_gate_and_doing_nothing_passes_nineteen(verdicts):
    assert passed(verdicts, GOLD, Rung.RAW) == (50, 50)
    assert passed(verdicts, NOTHING, Rung.RAW) == (19, 50)
    assert passed(verdicts, NOTHING, Rung.RAW, unaffected=True) == (19, 38)
    assert all(v.passed == v.idle_passes for v in verdicts if v.cell.model == NOTHING)


def test_enforcement_passes_all_but_the_eight_tasks_whose_gold_write_contradicts_the_policy(verdicts):
    assert passed(verdicts, GOLD, Rung.ENFORCEMENT) == (42, 50)
    assert passed(verdicts, GOLD, Rung.ENFORCEMENT, unaffected=True) == (38, 38)
    refused = {(log.header.item, call.tool, *call.rules): call for log in
               iter_harness_logs([RELEASED], "tau2", RECORD_TYPES) for call in log.records
               if call.record == "dispatch" and not call.admitted}
    assert set(refused) == {
        ("2", "send_certificate", "S2"), ("27", "send_certificate", "S2"), ("38", "send_certificate", "S2"),
        ("7", "cancel_reservation", "C2"), ("9", "cancel_reservation", "C1"), ("37", "cancel_reservation", "C1"),
        ("29", "update_reservation_flights", "F2"), ("33", "update_reservation_baggages", "G3")}
    assert not any(call.changed for call in refused.values())
    enforced = [v for v in verdicts if v.rung == Rung.ENFORCEMENT]
    assert sum(v.refused_gold for v in enforced) == 8 and sum(v.violating_writes for v in enforced) == 0


def test_the_released_logs_were_made_under_the_reference_rules_of_today():
    hashes = {log.header.subject["rules"]["sha256"] for log in iter_harness_logs([RELEASED], "tau2", RECORD_TYPES)}
    assert hashes == {reference_rules().sha256}


def test_reading_scoring_and_reporting_need_no_benchmark(tmp_path):
    without = """
import sys
sys.modules.update(dict.fromkeys(("tau2", "litellm", "loguru")))
from pathlib import Path
from artifact.harness.build_rq4 import build_rq4
print(build_rq4("tau2_proof", tables=Path(sys.argv[1]), figures=Path(sys.argv[1]), numbers=Path(sys.argv[1])))
"""
    done = subprocess.run([sys.executable, "-c", without, str(tmp_path)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "150\n"), done.stderr
    assert "42/50" in (tmp_path / "tau2.tex").read_text() and "not run" in (tmp_path / "tau2_compiles.tex").read_text()
    assert "{42/50}" in (tmp_path / "rq4.tex").read_text()
