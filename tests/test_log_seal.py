"""A log that was changed since it was written: an error sentence or the right data, never a wrong datum in silence."""

import random
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from artifact.cli.main import main
from artifact.errors import RequestError
from artifact.log import EpisodeLog, iter_logs, read_episode
from artifact.log.pack import pack
from artifact.log.verify import verify_logs
from artifact.log.writer import EpisodeWriter
from artifact.runner import StudyPlan, run_study
from episode_logs import every_kind, play, records, save

MUTATIONS = 1500


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Logs as the program itself writes them."""
    folder = tmp_path_factory.mktemp("runs")
    run_study(StudyPlan("t", "scripted:reader?directive=0.5", sizes=(5,), seeds=(100,)), runs=folder, durable=False)
    return folder


def mutations(content: bytes, draw: random.Random) -> Iterator[bytes]:
    """Damaged copies: flipped bits and bytes, bytes lost, doubled and put in, ranges zeroed, lines lost and moved."""
    lines = content.splitlines(keepends=True)
    while True:
        at = draw.randrange(len(content))
        length = draw.randrange(1, 40)
        changed = bytearray(content)
        match draw.randrange(8):
            case 0:
                changed[at] ^= 1 << draw.randrange(8)
            case 1:
                changed[at] = draw.randrange(256)
            case 2:
                del changed[at:at + length]
            case 3:
                changed[at:at] = changed[at:at + length]
            case 4:
                changed[at:at] = draw.randbytes(length)
            case 5:
                changed[at:at + length] = bytes(length)
            case 6:
                kept = draw.sample(range(len(lines)), len(lines) - 1)
                changed = bytearray(b"".join(lines[number] for number in sorted(kept)))
            case 7:
                one, other = draw.sample(range(len(lines)), 2)
                swapped = list(lines)
                swapped[one], swapped[other] = swapped[other], swapped[one]
                changed = bytearray(b"".join(swapped))
        if bytes(changed) != content:
            yield bytes(changed)


def is_beginning(read: EpisodeLog, whole: EpisodeLog) -> bool:
    """Whether what was read is what was written, up to some line."""
    read = replace(read, source=whole.source)
    return read in (whole, replace(whole, compiles=read.compiles, matches=read.matches, turns=read.turns, end=None)) \
        and whole.turns[:len(read.turns)] == read.turns and whole.matches[:len(read.matches)] == read.matches \
        and whole.compiles[:len(read.compiles)] == read.compiles


def test_a_damaged_log_is_an_error_or_the_right_data(runs: Path, tmp_path: Path) -> None:
    path = next(runs.rglob("enforcement/100.jsonl"))
    whole, content = read_episode(path), path.read_bytes()
    copy = tmp_path / "100.jsonl"
    sentences = []
    for changed, _ in zip(mutations(content, random.Random(1)), range(MUTATIONS), strict=False):
        copy.write_bytes(changed)
        try:
            read = read_episode(copy)
        except RequestError as error:
            sentences.append(str(error))
        else:
            assert is_beginning(read, whole)
    assert len(sentences) > 0.9 * MUTATIONS
    assert all(str(copy) in sentence and "\n" not in sentence for sentence in sentences)


def test_a_flipped_byte_inside_a_reply_is_found_by_verify_by_reading_and_by_resuming(
        runs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.copytree(runs, tmp_path / "runs")
    path = next(tmp_path.rglob("raw/100.jsonl"))
    content = path.read_bytes()
    at = content.index(b'"reply":"Noted.') + len(b'"reply":"No')
    path.write_bytes(content[:at] + bytes([content[at] ^ 1]) + content[at + 1:])
    with pytest.raises(RequestError, match=r"line \d+: the log was changed since it was written"):
        read_episode(path)
    with pytest.raises(RequestError, match="is damaged"):
        EpisodeWriter(path)
    assert main(["verify", str(tmp_path / "runs")]) == 1
    said = capsys.readouterr().out
    assert str(path) in said and "changed since it was written" in said
    path.write_bytes(content)
    assert main(["verify", str(tmp_path / "runs")]) == 0
    assert "4 episodes are as they were written" in capsys.readouterr().out


def test_a_log_without_checksums_is_read_and_verify_says_that_it_cannot_vouch_for_it(tmp_path: Path) -> None:
    log = play(every_kind())
    path = save(log, tmp_path)
    assert read_episode(path).turns == log.turns
    checked = verify_logs([path])
    assert (checked.findings, checked.sealed, checked.unsealed) == ((), 0, 1)


def test_a_log_begun_without_checksums_goes_on_with_them_over_all_of_it(tmp_path: Path) -> None:
    log = play(every_kind())
    path = save(replace(log, turns=log.turns[:3], end=None), tmp_path)
    writer = EpisodeWriter(path)
    for record in records(log):
        writer.write(record)
    writer.close()
    assert read_episode(path).turns == log.turns
    assert path.read_bytes().count(b'"sum":"') == len(log.turns) - 3 + 1
    path.write_bytes(path.read_bytes().replace(b"Understood.", b"Understood,", 1))
    with pytest.raises(RequestError, match="changed since it was written"):
        read_episode(path)


def test_packing_keeps_the_checksums_and_any_flipped_byte_of_a_packed_log_is_found(runs: Path, tmp_path: Path) -> None:
    packed = next(file for file in pack(runs, tmp_path).files if ".raw." in file.name)
    (whole,) = iter_logs([packed])
    assert replace(whole, source="") == replace(read_episode(next(runs.rglob("raw/100.jsonl"))), source="")
    content, draw = packed.read_bytes(), random.Random(2)
    for _ in range(300):
        changed = bytearray(content)
        changed[draw.randrange(len(content))] ^= 1 << draw.randrange(8)
        packed.write_bytes(changed)
        try:
            (read,) = iter_logs([packed])
        except RequestError:
            continue
        assert read == whole
