"""Released logs: packing finished runs byte by byte the same, and checking every checksum (DESIGN §5.3)."""

import hashlib
import shutil
import subprocess
from pathlib import Path

import pytest

from artifact.errors import RequestError
from artifact.log import EndReason, iter_logs
from artifact.log.pack import pack, verify, write_checksums
from episode_logs import every_kind, lines, play, save, write_lines

CELL = "model.S05.d0.15.procurement.amended.no_think.paper"


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    folder = tmp_path / "runs"
    for seed in (20, 100, 9):
        save(play(every_kind(seed)), folder)
        save(play(every_kind(seed), arm="checklist", options={"corruption": 0.5}), folder)
    return folder


@pytest.fixture
def data(tmp_path: Path) -> Path:
    folder = tmp_path / "data"
    write_lines(folder / "reported.csv", [b"table,cell"])
    return folder


def test_a_cell_and_arm_make_one_file(runs: Path, data: Path) -> None:
    report = pack(runs, data)
    options_hash = hashlib.sha256(b'{"corruption":0.5}').hexdigest()[:8]
    assert [path.relative_to(data).as_posix() for path in report.files] == [
        f"logs/study/{CELL}.checklist.{options_hash}.jsonl.zst", f"logs/study/{CELL}.raw.jsonl.zst"]
    assert (report.episodes, report.left_out) == (6, 0)


def test_seeds_stand_in_the_order_of_numbers(runs: Path, data: Path) -> None:
    last = next(runs.rglob("raw/100.jsonl"))
    last.rename(last.with_name("a.jsonl"))  # whatever their files are called
    assert [log.header.seed for log in iter_logs(pack(runs, data).files)] == [9, 20, 100] * 2


def test_the_same_runs_give_the_same_bytes(runs: Path, tmp_path: Path) -> None:
    first = pack(runs, tmp_path / "one").files
    copy = tmp_path / "elsewhere"
    shutil.copytree(runs, copy)
    second = pack(copy, tmp_path / "two").files
    assert [path.read_bytes() for path in first] == [path.read_bytes() for path in second]
    assert (tmp_path / "one/SHA256SUMS").read_bytes() == (tmp_path / "two/SHA256SUMS").read_bytes()


def test_packing_again_changes_nothing(runs: Path, data: Path) -> None:
    pack(runs, data)
    before = {path: path.read_bytes() for path in data.rglob("*") if path.is_file()}
    pack(runs, data)
    assert {path: path.read_bytes() for path in data.rglob("*") if path.is_file()} == before


def test_unfinished_episodes_are_left_out_and_counted(runs: Path, data: Path) -> None:
    save(play(every_kind(7), end=None), runs)
    report = pack(runs, data)
    assert report.left_out == 1
    assert 7 not in {log.header.seed for log in iter_logs(report.files)}


def test_episodes_that_infrastructure_ended_stay_in_plain_sight(runs: Path, data: Path) -> None:
    save(play(every_kind(7), end=EndReason.TIMEOUT), runs)
    ends = [log.end.reason for log in iter_logs(pack(runs, data).files) if log.end]
    assert ends.count(EndReason.TIMEOUT) == 1


def test_a_run_that_would_drop_released_episodes_is_refused_and_nothing_written(runs: Path, data: Path) -> None:
    released = pack(runs, data).files
    before = [path.read_bytes() for path in released]
    next(runs.rglob("raw/20.jsonl")).unlink()
    with pytest.raises(RequestError, match="holds 1 episodes that the runs lack"):
        pack(runs, data)
    assert [path.read_bytes() for path in released] == before


def test_a_seed_that_occurs_twice_is_refused(runs: Path, data: Path) -> None:
    first = next(runs.rglob("raw/20.jsonl"))
    shutil.copy(first, first.with_name("21.jsonl"))
    with pytest.raises(RequestError, match="hold the same episode"):
        pack(runs, data)


def test_an_edited_log_is_not_packed(runs: Path, data: Path) -> None:
    path = next(runs.rglob("raw/20.jsonl"))
    content = lines(play(every_kind(20)))
    write_lines(path, [*content[:3], *content[4:]])
    with pytest.raises(RequestError, match="edited"):
        pack(runs, data)
    assert not (data / "logs").exists()


def test_no_half_written_file_is_left(runs: Path, data: Path) -> None:
    pack(runs, data)
    assert not [path for path in data.rglob("*") if path.name.startswith(".")]


# Checksums


def test_checksums_are_sorted_and_in_sha256sums_format(runs: Path, data: Path) -> None:
    pack(runs, data)
    names = []
    for line in (data / "SHA256SUMS").read_text().splitlines():
        digest, name = line.split("  ")
        assert digest == hashlib.sha256((data / name).read_bytes()).hexdigest()
        names.append(name)
    assert names == sorted(names)
    assert len(names) == 3


@pytest.mark.skipif(shutil.which("sha256sum") is None, reason="sha256sum is not on this machine")
def test_sha256sum_agrees(runs: Path, data: Path) -> None:
    pack(runs, data)
    assert subprocess.run(["sha256sum", "--strict", "-c", "SHA256SUMS"], cwd=data, check=False).returncode == 0


def test_a_folder_as_released_has_no_findings(runs: Path, data: Path) -> None:
    pack(runs, data)
    assert verify(data) == []


def test_missing_changed_and_unlisted_files_are_named_in_a_sentence_each(runs: Path, data: Path) -> None:
    missing, changed = pack(runs, data).files
    missing.unlink()
    changed.write_bytes(changed.read_bytes() + b"x")
    write_lines(data / "new.csv", [b"a"])
    findings = verify(data)
    assert len(findings) == 3
    assert f"{missing.relative_to(data).as_posix()} is missing" in findings[0]
    assert f"{changed.relative_to(data).as_posix()} differs" in findings[1]
    assert "new.csv is not listed" in findings[2]


def test_packing_does_not_bless_a_file_that_was_damaged_since(runs: Path, data: Path) -> None:
    pack(runs, data)
    write_lines(data / "reported.csv", [b"table,cell,damaged"])
    pack(runs, data)
    assert [finding.split()[0] for finding in verify(data)] == ["reported.csv"]
    write_checksums(data)
    assert verify(data) == []


def test_a_folder_without_checksums_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RequestError, match="SHA256SUMS does not exist"):
        verify(tmp_path)


def test_a_damaged_list_of_checksums_is_refused_by_line(data: Path) -> None:
    write_checksums(data)
    with (data / "SHA256SUMS").open("a") as sums:
        sums.write("not a checksum\n")
    with pytest.raises(RequestError, match="SHA256SUMS, line 2"):
        verify(data)
