"""Reading logs: what is an intact log, what is torn, what is refused and with which sentence (DESIGN §5.3)."""

import json
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import zstandard

from artifact.errors import InfrastructureError, RequestError
from artifact.log import (
    SCHEMA,
    Booking,
    Call,
    EndReason,
    EndRecord,
    EpisodeLog,
    MatchRecord,
    Usage,
    iter_logs,
    read_episode,
    read_packed,
)
from artifact.log.pack import pack
from artifact.taskstate import RequestKind
from episode_logs import every_kind, lines, play, save, with_turn, write_lines

LOG = play(every_kind())


def content() -> list[bytes]:
    return lines(LOG)


def saved(tmp_path: Path, changed: list[bytes]) -> Path:
    path = tmp_path / "100.jsonl"
    write_lines(path, changed)
    return path


def refusal(path: Path) -> str:
    with pytest.raises(RequestError) as error:
        read_episode(path)
    sentence = str(error.value)
    assert str(path) in sentence
    assert "\n" not in sentence
    return sentence


def test_what_was_written_is_what_is_read(tmp_path: Path) -> None:
    path = saved(tmp_path, content())
    assert read_episode(path) == replace(LOG, source=str(path))


def test_an_unfinished_log_is_read_with_no_end(tmp_path: Path) -> None:
    log = read_episode(saved(tmp_path, content()[:-3]))
    assert log.end is None
    assert not log.completed
    assert len(log.turns) == len(LOG.turns) - 2


@pytest.mark.parametrize("kept", [1, 20, -1])
def test_a_torn_last_line_counts_as_not_written(tmp_path: Path, kept: int) -> None:
    *whole, last = content()[:-1]
    path = tmp_path / "100.jsonl"
    path.write_bytes(b"".join(line + b"\n" for line in whole) + last[:kept])
    assert read_episode(path).turns == LOG.turns[:-1]


def test_a_last_line_that_lacks_its_line_end_alone_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "100.jsonl"
    path.write_bytes(b"\n".join(content()))
    assert read_episode(path).end == LOG.end


def test_a_torn_line_elsewhere_is_damage_named_by_file_and_line(tmp_path: Path) -> None:
    changed = content()
    changed[4] = changed[4][:30]
    assert "line 5" in refusal(saved(tmp_path, changed))


def test_a_torn_line_after_the_end_is_damage(tmp_path: Path) -> None:
    assert "line 15" in refusal(saved(tmp_path, [*content(), b'{"record": "tu']))


def test_an_empty_line_in_the_middle_is_damage(tmp_path: Path) -> None:
    assert "line 3" in refusal(saved(tmp_path, [*content()[:2], b"", *content()[2:]]))


def test_another_schema_is_refused_naming_both(tmp_path: Path) -> None:
    other = json.dumps({"record": "episode", "schema": SCHEMA + 1, "unheard_of": True}).encode()
    sentence = refusal(saved(tmp_path, [other, *content()[1:]]))
    assert f"schema {SCHEMA + 1} and this version reads schema {SCHEMA}" in sentence


@pytest.mark.parametrize("first", [b"seed,strict", b"[1, 2]", b'"text"', b'{"cells": []}', b"\xff\xfe\x00"])
def test_a_file_that_is_no_log_is_refused(tmp_path: Path, first: bytes) -> None:
    assert "line 1" in refusal(saved(tmp_path, [first, first]))


def test_a_log_without_its_episode_record_is_refused(tmp_path: Path) -> None:
    assert "instead of 'episode'" in refusal(saved(tmp_path, content()[1:]))


def test_an_empty_file_is_refused(tmp_path: Path) -> None:
    assert "holds no episode record yet" in refusal(saved(tmp_path, []))


def test_an_unknown_record_type_is_refused_by_name(tmp_path: Path) -> None:
    assert "'vote'" in refusal(saved(tmp_path, [*content()[:3], b'{"record": "vote"}', *content()[3:]]))


def test_a_missing_field_is_refused_by_name(tmp_path: Path) -> None:
    changed = content()
    turn = json.loads(changed[2])
    del turn["reply"]
    changed[2] = json.dumps(turn).encode()
    assert "'reply'" in refusal(saved(tmp_path, changed))


def without_the_third_turn(log: EpisodeLog) -> EpisodeLog:
    return replace(log, turns=log.turns[:2] + log.turns[3:])


def without_the_last_turn(log: EpisodeLog) -> EpisodeLog:
    return replace(log, turns=log.turns[:-1], end=EndRecord(EndReason.COMPLETED, len(log.turns) - 1))


def with_two_turns_swapped(log: EpisodeLog) -> EpisodeLog:
    first, second, *rest = log.turns
    return replace(log, turns=(second, first, *rest))


def renumbered_without_the_first_turn(log: EpisodeLog) -> EpisodeLog:
    turns = tuple(replace(turn, turn=number, scripted=number) for number, turn in enumerate(log.turns[1:]))
    return replace(log, turns=turns, end=replace(log.end, turns=len(turns)) if log.end else None)


def with_turn_4(**changes: Any) -> Callable[[EpisodeLog], EpisodeLog]:
    return lambda log: with_turn(log, 4, **changes)


def with_header(**changes: Any) -> Callable[[EpisodeLog], EpisodeLog]:
    return lambda log: replace(log, header=replace(log.header, **changes))


def with_a_broken_plan(log: EpisodeLog) -> EpisodeLog:
    graph = log.header.episode.graph.rewire("s1", ["s2"])
    return replace(log, header=replace(log.header, episode=replace(log.header.episode, graph=graph)))


@pytest.mark.parametrize("edit", [
    without_the_third_turn,
    without_the_last_turn,
    with_two_turns_swapped,
    renumbered_without_the_first_turn,
    with_a_broken_plan,
    with_turn_4(reply="I booked ref RC-1001/#W2004."),
    with_turn_4(bookings=(Booking("RC-1001", "#W2004", "s1", True),)),
    with_turn_4(bookings=(Booking("RC-1001", "#W2000", "s1", True),), reply="ref RC-1001/#W2000"),
    with_turn_4(kind=RequestKind.ASK),
    with_turn_4(step="s2"),
    with_turn_4(work_order="#W2999"),
    with_turn_4(scripted=None),
    with_turn_4(scripted=5),
    with_header(seed=101),
    lambda log: replace(log, end=EndRecord(EndReason.COMPLETED, 3)),
    lambda log: replace(log, turns=(*log.turns, log.turns[-1])),
], ids=[
    "a turn cut out", "the last turn cut off", "turns swapped", "turns renumbered", "plan with a circle",
    "booking added to a reply", "booking added to a record", "booking of another work order", "kind changed",
    "step changed", "work order changed", "re-ask that isn't one", "scripted turn skipped", "seed changed",
    "turn count changed", "turn doubled",
])
def test_an_edited_log_is_refused(tmp_path: Path, edit: Callable[[EpisodeLog], EpisodeLog]) -> None:
    sentence = refusal(saved(tmp_path, lines(edit(LOG))))
    assert "edited" in sentence
    assert "line " in sentence


def test_nothing_may_follow_the_end(tmp_path: Path) -> None:
    assert "follows the `end` record" in refusal(saved(tmp_path, [*content(), content()[-2]]))


def test_two_logs_in_one_file_are_refused(tmp_path: Path) -> None:
    assert "second `episode` record" in refusal(saved(tmp_path, content()[:-1] + content()))


def test_a_re_ask_comes_on_top_of_the_script(tmp_path: Path) -> None:
    asked_again = LOG.header.episode.reasks[0]
    extra = replace(LOG.turns[3], turn=4, scripted=None, kind=asked_again.kind, text=asked_again.text,
                    step=asked_again.step, work_order=asked_again.work_order, bookings=(), reply="It is done.")
    later = tuple(replace(turn, turn=turn.turn + 1) for turn in LOG.turns[4:])
    log = replace(LOG, turns=(*LOG.turns[:4], extra, *later), end=EndRecord(EndReason.COMPLETED, len(LOG.turns) + 1))
    assert read_episode(saved(tmp_path, lines(log))).turns == log.turns


def test_a_booking_in_an_earlier_reply_of_the_turn_belongs_to_the_turn(tmp_path: Path) -> None:
    earlier = Call("reply", (), "ref RC-1001/#W2004", "stop", Usage())
    log = with_turn(LOG, 4, superseded_replies=(earlier,), bookings=(Booking("RC-1001", "#W2004", "s1", False),))
    assert read_episode(saved(tmp_path, lines(log))).turns[4].superseded_replies == (earlier,)


def test_a_match_record_stands_next_to_its_turn(tmp_path: Path) -> None:
    match = json.dumps({"record": "match", "turn": 3, "step": "s2", "explicit_redo": False}).encode()
    log = read_episode(saved(tmp_path, [*content()[:4], match, *content()[4:]]))
    assert log.matches == (MatchRecord(3, "s2", False),)
    assert "`match` record for turn 3" in refusal(saved(tmp_path, [*content()[:2], match, *content()[2:]]))
    assert "`match` record for turn 3" in refusal(saved(tmp_path, [*content()[:4], match, match, *content()[4:]]))


# Folders and packed files


def test_a_folder_gives_its_logs_sorted_with_seeds_as_numbers(tmp_path: Path) -> None:
    for seed in (100, 9, 20):
        save(play(every_kind(seed)), tmp_path)
    assert [log.header.seed for log in iter_logs([tmp_path])] == [9, 20, 100]


def test_a_log_that_is_named_twice_is_read_once(tmp_path: Path) -> None:
    path = save(LOG, tmp_path)
    assert len(list(iter_logs([tmp_path, path]))) == 1


def test_hidden_folders_and_other_files_are_passed_by(tmp_path: Path) -> None:
    save(LOG, tmp_path)
    write_lines(tmp_path / ".checkpoints" / "1.jsonl", [b"junk"])
    write_lines(tmp_path / "notes.txt", [b"junk"])
    assert len(list(iter_logs([tmp_path]))) == 1


def test_a_folder_without_logs_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RequestError, match="holds no logs"):
        list(iter_logs([tmp_path]))


def test_a_path_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RequestError, match="does not exist"):
        list(iter_logs([tmp_path / "none.jsonl"]))


def test_a_file_of_another_kind_is_refused(tmp_path: Path) -> None:
    write_lines(tmp_path / "table.csv", [b"a,b"])
    with pytest.raises(RequestError, match="no log by its name"):
        list(iter_logs([tmp_path / "table.csv"]))


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read every file")
def test_an_unreadable_log_is_infrastructure(tmp_path: Path) -> None:
    path = save(LOG, tmp_path)
    path.chmod(0)
    with pytest.raises(InfrastructureError, match="can't be read"):
        read_episode(path)


def packed(tmp_path: Path) -> Path:
    for seed in (3, 1, 2):
        save(play(every_kind(seed)), tmp_path / "runs")
    return pack(tmp_path / "runs", tmp_path / "data").files[0]


def test_a_packed_file_holds_the_same_logs(tmp_path: Path) -> None:
    path = packed(tmp_path)
    unpacked = [replace(log, source="") for log in iter_logs([tmp_path / "runs"])]
    assert [replace(log, source="") for log in iter_logs([path])] == unpacked


def test_a_packed_file_is_read_as_a_stream(tmp_path: Path) -> None:
    path = tmp_path / "cell.raw.jsonl.zst"
    plain = b"".join(line + b"\n" for line in content()) + b"this is no record\n"
    path.write_bytes(zstandard.ZstdCompressor().compress(plain))
    logs = read_packed(path)
    with pytest.raises(RequestError, match="line 15"):
        next(logs)
    path.write_bytes(zstandard.ZstdCompressor().compress(b"".join(line + b"\n" for line in content()) + plain))
    logs = read_packed(path)
    assert next(logs).header == LOG.header


@pytest.mark.parametrize("kept", [0.5, 0.99])
def test_a_packed_file_that_was_cut_short_is_refused(tmp_path: Path, kept: float) -> None:
    path = packed(tmp_path)
    whole = path.read_bytes()
    path.write_bytes(whole[:int(len(whole) * kept)])
    with pytest.raises(RequestError, match=path.name):
        list(iter_logs([path]))


def test_a_packed_file_with_a_flipped_byte_is_refused(tmp_path: Path) -> None:
    path = packed(tmp_path)
    whole = bytearray(path.read_bytes())
    whole[len(whole) // 2] ^= 0xFF
    path.write_bytes(bytes(whole))
    with pytest.raises(RequestError, match=path.name):
        list(iter_logs([path]))


def test_a_packed_file_that_stops_within_an_episode_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "cell.raw.jsonl.zst"
    path.write_bytes(zstandard.ZstdCompressor().compress(b"".join(line + b"\n" for line in content()[:-1])))
    with pytest.raises(RequestError, match="stops within an episode"):
        list(iter_logs([path]))


def test_plain_text_under_a_packed_name_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "cell.raw.jsonl.zst"
    write_lines(path, content())
    with pytest.raises(RequestError, match="damaged"):
        list(iter_logs([path]))
