"""Logs of the trap-turn probe: read, packed and checked like any other, and edited ones told from written ones."""

from collections.abc import Callable
from pathlib import Path

import orjson
import pytest

from artifact.arms import ArmSpec
from artifact.errors import RequestError
from artifact.log import iter_logs
from artifact.log.pack import pack, verify
from artifact.log.probe_reader import iter_probes, read_probe
from artifact.log.verify import verify_logs
from artifact.report.scored import load_scored
from artifact.runner import ProbePlan, StudyPlan, run_study, run_trap_probe
from artifact.scorer.probe_frame import probe_frame

MODEL = "scripted:always-book"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    runs = tmp_path_factory.mktemp("runs")
    run_study(StudyPlan("source", MODEL, sizes=(5,), seeds=(100, 101), arms=(ArmSpec("raw"),)), runs=runs,
              durable=False)
    run_trap_probe(ProbePlan(MODEL, (runs / "source",), samples=2), runs=runs, durable=False)
    return runs


@pytest.fixture
def log(made: Path, tmp_path: Path) -> Path:
    path = tmp_path / "100.probe.jsonl"
    path.write_bytes(next(made.rglob("100.probe.jsonl")).read_bytes())
    return path


def edited(path: Path, edit: Callable[[list[dict]], object]) -> Path:
    """The log edited, its checksums taken out as if an earlier version had written it."""
    records = [orjson.loads(line) for line in path.read_bytes().splitlines()]
    for record in records:
        record.pop("sum")
    edit(records)
    path.write_bytes(b"".join(orjson.dumps(record) + b"\n" for record in records))
    return path


def test_probe_and_episode_logs_lie_side_by_side_and_each_reader_finds_its_own(made: Path) -> None:
    assert [log.header.seed for log in iter_logs([made])] == [100, 101]
    assert [log.header.seed for log in iter_probes([made])] == [100, 101]
    assert len(load_scored([made]).episodes) == 2


def test_packed_probes_say_what_the_unpacked_ones_say(made: Path, tmp_path: Path) -> None:
    report = pack(made / "trap_probe", tmp_path)
    assert [path.relative_to(tmp_path).as_posix() for path in report.files] == [
        "logs/trap_probe/scripted-always-book.S05.d0.15.procurement.amended.no_think.paper.raw.probe.jsonl.zst"]
    assert (report.episodes, report.left_out, verify(tmp_path)) == (2, 0, [])
    assert probe_frame(iter_probes([tmp_path])).equals(probe_frame(iter_probes([made])))


def test_packing_twice_gives_the_same_bytes_and_loses_nothing(made: Path, tmp_path: Path, log: Path) -> None:
    (first,) = pack(made / "trap_probe", tmp_path / "data").files
    before = first.read_bytes()
    assert pack(made / "trap_probe", tmp_path / "data").files[0].read_bytes() == before
    only = tmp_path / "runs/trap_probe/100.probe.jsonl"
    only.parent.mkdir(parents=True)
    log.rename(only)
    with pytest.raises(RequestError, match="holds 1 episodes that the runs lack"):
        pack(only.parent, tmp_path / "data")


def test_an_unfinished_probe_is_read_and_not_packed(log: Path, tmp_path: Path) -> None:
    log.write_bytes(log.read_bytes()[:-400])
    assert read_probe(log).end is None
    assert not probe_frame([read_probe(log)])["completed"].any()
    assert pack(log.parent, tmp_path / "data").left_out == 1


def test_a_folder_without_probes_gives_none(tmp_path: Path) -> None:
    assert list(iter_probes([tmp_path])) == []
    assert probe_frame([]).empty


@pytest.mark.parametrize(("edit", "sentence"), [
    (lambda r: r[3].update(sample=2), "line 4: a record of type 'answer' can't stand here"),
    (lambda r: r.pop(4), "line 5: a record of type 'answer' can't stand here"),
    (lambda r: r[2].update(variant="confirm"), "line 3: a record of type 'variant' can't stand here"),
    (lambda r: r[-1].update(turns=1), "a record of type 'end' can't stand here"),
    (lambda r: r.append(dict(r[1])), "a record of type 'trap' can't stand here"),
    (lambda r: r.insert(1, dict(r[0])), "a record of type 'probe' can't stand here"),
    (lambda r: r[0].update(schema=99), "line 1: the probe log has schema 99"),
    (lambda r: r[1].pop("code"), "line 2: the 'trap' record is damaged at 'code'"),
    (lambda r: r[1].update(record="trick"), "line 2: the record type 'trick' is unknown"),
    (lambda r: r.pop(0), "line 1: the first record is of type 'trap' instead of 'probe'"),
    (lambda r: r[2].update(changes=[{"at": 999, "message": {"role": "user", "content": ""}}]), "line 3"),
])
def test_a_damaged_or_edited_log_is_one_sentence_with_file_and_line(log: Path, edit, sentence: str) -> None:
    with pytest.raises(RequestError, match=r"100\.probe\.jsonl, line") as caught:
        read_probe(edited(log, edit))
    assert sentence in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_line_torn_in_the_middle_of_the_file_is_damage(log: Path) -> None:
    lines = log.read_bytes().split(b"\n")
    lines[5] = lines[5][:20]
    log.write_bytes(b"\n".join(lines))
    with pytest.raises(RequestError, match="line 6: this is no JSON"):
        read_probe(log)


def test_a_changed_letter_in_a_reply_shows(log: Path) -> None:
    assert read_probe(log).is_sealed
    content = log.read_bytes()
    log.write_bytes(content.replace(b'"reply":"Done.', b'"reply":"Dune.', 1))
    with pytest.raises(RequestError, match="the log was changed since it was written"):
        read_probe(log)


def test_verify_reads_probes_beside_episodes(made: Path, log: Path) -> None:
    checked = verify_logs([made])
    assert (checked.findings, checked.sealed, checked.unsealed) == ((), 4, 0)
    assert verify_logs([edited(log, lambda records: None)]).unsealed == 1
    log.write_bytes(log.read_bytes().replace(b'"sample":1', b'"sample":2', 1))
    assert len(verify_logs([log.parent]).findings) == 1


def test_an_episode_reader_that_is_handed_a_probe_says_so(log: Path) -> None:
    with pytest.raises(RequestError, match="holds no episode; read it with `artifact score`"):
        list(iter_logs([log]))


def test_the_probe_of_an_episode_counts_once(log: Path) -> None:
    with pytest.raises(RequestError, match="both hold the probe of seed 100"):
        probe_frame([read_probe(log), read_probe(log)])
