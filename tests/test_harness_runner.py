"""The runner that all harnesses share: one log an item, resume, infrastructure apart, strangers passed over."""

import asyncio
from dataclasses import dataclass
from typing import ClassVar, Literal

import pytest
from pydantic import TypeAdapter

from artifact.cli import harnesses
from artifact.cli.main import main
from artifact.errors import RequestError
from artifact.harness.batch import run_harness
from artifact.harness.pack import pack_harness
from artifact.harness.protocol import Item
from artifact.harness.reader import iter_harness_logs
from artifact.harness.records import SCHEMA, HarnessCell, HarnessRecord
from artifact.harness.verify import verify_harness_logs
from artifact.log import iter_logs, log_files
from artifact.log.pack import verify
from artifact.log.records import ArmIdentity, EndReason, EndRecord


@dataclass(frozen=True)
class Step:
    number: int
    record: Literal["step"] = "step"


class Counting:
    """Counts to three; each count that the log doesn't hold yet is asked for."""

    name = "counting"
    record_types: ClassVar = {"step": TypeAdapter(Step)}

    def __init__(self, *, killed_after=None, ends=EndReason.COMPLETED, name="one"):
        self.asked, self.closed, self.killed_after, self.ends = [], False, killed_after, ends
        self.cell = HarnessCell("counting", name)

    async def open(self, folder):
        assert folder.is_dir(), "the study's folder is locked by now"

    def items(self):
        return [Item(self.cell, ArmIdentity("raw"), task, 0) for task in ("a", "b")]

    def header(self, item):
        return HarnessRecord(SCHEMA, "s", self.cell, item.arm, item.name, item.seed, {}, "", {}, {}, {}, "now")

    async def run_one(self, item, journal):
        recorded = [record.number for record in journal.recorded if isinstance(record, Step)]
        for number in range(3):
            if number >= len(recorded):
                if self.killed_after == len(self.asked):
                    raise KeyboardInterrupt
                self.asked.append((item.name, number))
            journal.write(Step(number))
        return EndRecord(self.ends, 3, "" if self.ends is EndReason.COMPLETED else "the server went away")

    async def close(self):
        self.closed = True


def run(harness, folder):
    return asyncio.run(run_harness(harness, "s", runs=folder, durable=False))


def steps(folder):
    return [(log.header.item, [step.number for step in log.records], log.end and log.end.reason)
            for log in iter_harness_logs([folder], "counting", Counting.record_types)]


@pytest.mark.parametrize("killed_after", range(6))
def test_a_killed_run_asks_only_for_what_the_log_lacks(tmp_path, killed_after):
    with pytest.raises(KeyboardInterrupt):
        run(Counting(killed_after=killed_after), tmp_path)
    for path in tmp_path.rglob("*.harness.jsonl"):  # the line that was being written is torn
        path.write_bytes(path.read_bytes() + b'{"record":"ste')
    again = Counting()
    summary = run(again, tmp_path)
    assert len(again.asked) == 6 - killed_after and summary.ended == {"completed": 2}
    assert steps(tmp_path) == [("a", [0, 1, 2], "completed"), ("b", [0, 1, 2], "completed")]
    assert again.closed


def test_a_finished_study_is_not_run_again(tmp_path):
    run(Counting(), tmp_path)
    again = Counting()
    assert run(again, tmp_path).run_now == 0 and again.asked == []


def test_an_end_by_infrastructure_is_counted_apart_and_tried_again(tmp_path):
    assert run(Counting(ends=EndReason.MODEL_ERROR), tmp_path).ended == {"model_error": 2}
    again = Counting()
    assert run(again, tmp_path).ended == {"completed": 2} and again.asked == []


def test_a_log_of_another_run_is_refused(tmp_path):
    run(Counting(), tmp_path)
    other = Counting()
    other.header = lambda item: HarnessRecord(SCHEMA, "s", other.cell, item.arm, item.name, item.seed,
                                              {"rules": "others"}, "", {}, {}, {}, "later")
    with pytest.raises(RequestError, match=r"subject\.rules"):
        run(other, tmp_path)


def test_a_model_s_name_is_never_a_path(tmp_path):
    run(Counting(name="../../etc/passwd\0"), tmp_path)
    assert {path.resolve().parents[3] for path in tmp_path.rglob("*.jsonl")} == {tmp_path.resolve()}


def test_readers_of_episode_logs_pass_over_the_logs_of_a_harness(tmp_path):
    run(Counting(), tmp_path)
    with pytest.raises(RequestError, match="holds no logs"):
        log_files([tmp_path])
    assert harnesses.holds_logs([tmp_path]) and not harnesses.holds_logs([tmp_path / "nowhere"])
    (tmp_path / "real.jsonl").write_text("")
    assert list(iter_logs([tmp_path])) == []


def test_a_changed_byte_is_never_read_in_silence(tmp_path):
    run(Counting(), tmp_path)
    path = next(tmp_path.rglob("a.0.harness.jsonl"))
    path.write_bytes(path.read_bytes().replace(b'"number":1', b'"number":7'))
    with pytest.raises(RequestError, match=r"line 3 of .*a\.0\.harness\.jsonl"):
        steps(tmp_path)
    checked = verify_harness_logs([tmp_path])
    assert checked.sealed == 1 and "line 3" in checked.findings[0] and len(checked.findings) == 1


def test_verify_counts_the_logs_of_a_harness_packed_or_not(tmp_path, capsys):
    run(Counting(), tmp_path / "runs")
    (tmp_path / "data").mkdir()
    pack_harness(tmp_path / "runs" / "s", tmp_path / "data")
    for place in ("runs", "data"):
        assert main(["verify", str(tmp_path / place)]) == 0
        assert capsys.readouterr().out == "2 episodes are as they were written\n"


def test_a_packed_file_that_is_cut_short_is_never_read_in_silence(tmp_path):
    run(Counting(), tmp_path / "runs")
    (packed,) = pack_harness(tmp_path / "runs" / "s", tmp_path / "data").files
    packed.write_bytes(packed.read_bytes()[:-5])
    with pytest.raises(RequestError, match="cut short"):
        steps(tmp_path / "data")
    assert "cut short" in verify_harness_logs([tmp_path / "data"]).findings[0]


def test_packed_logs_read_as_the_runs_do_and_unfinished_ones_stay_out(tmp_path):
    run(Counting(), tmp_path / "runs")
    (tmp_path / "runs" / "s" / "compiled").mkdir()
    (tmp_path / "runs" / "s" / "compiled" / "x.json").write_text("{}")
    torn = next((tmp_path / "runs").rglob("b.0.harness.jsonl"))
    torn.write_bytes(torn.read_bytes()[:-20])
    report = pack_harness(tmp_path / "runs" / "s", tmp_path / "data")
    assert (report.episodes, report.left_out, len(report.files)) == (1, 1, 1)
    run(Counting(), tmp_path / "runs")
    pack_harness(tmp_path / "runs" / "s", tmp_path / "data")
    before = report.files[0].read_bytes()
    pack_harness(tmp_path / "runs" / "s", tmp_path / "data")
    assert report.files[0].read_bytes() == before and verify(tmp_path / "data") == []
    assert steps(tmp_path / "data") == steps(tmp_path / "runs") and len(steps(tmp_path / "data")) == 2
    assert (tmp_path / "data" / "logs" / "s" / "compiled" / "x.json").is_file()
    torn.unlink()
    with pytest.raises(RequestError, match="lack 1 of the items"):
        pack_harness(tmp_path / "runs" / "s", tmp_path / "data")


@pytest.mark.parametrize("content", ['{"record": "turn"}\n', "[]\n", "nonsense\n", '{"schema": 99, "cell": {}}\n'])
def test_what_is_no_harness_log_is_one_sentence(tmp_path, content):
    path = tmp_path / "x.harness.jsonl"
    path.write_text(content)
    with pytest.raises(RequestError, match=r"x\.harness\.jsonl"):
        list(iter_harness_logs([path], "counting", Counting.record_types))
