"""The table of the trap-turn probe: counts by variant, clustered intervals, the paper's values beside them."""

from pathlib import Path

import pytest

from artifact.log.probes import ProbeVariant
from artifact.report.clusters import clustered_share, interval_text
from artifact.report.numbers import write_numbers
from artifact.report.probe_summary import load_probes, probe_sentence, summarize
from artifact.report.probe_table import probe_numbers, trap_probe_table
from artifact.report.reported import load_reported
from test_trap_probe import probe

V = ProbeVariant


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("probes")
    probe(folder, "scripted:reader?directive=1")
    return folder / "trap_probe"


def row(records, variant: ProbeVariant) -> dict:
    (found,) = [record for record in records if record["variant"] == variant.value]
    return found


def test_the_table_counts_what_a_directive_reader_does(folder: Path) -> None:
    table = trap_probe_table(load_probes([folder]), load_reported())
    recorded, directed = row(table.records, V.AS_RECORDED), row(table.records, V.DIRECTIVE_USER)
    assert (recorded["k"], recorded["n"], recorded["traps_k"], recorded["traps_n"]) == (8, 8, 4, 4)
    assert (recorded["greedy_k"], recorded["greedy_n"], recorded["reproduced_k"]) == (4, 4, 4)
    assert recorded["books_unmentioned"] == 8
    assert (directed["k"], directed["n"], directed["traps_k"]) == (0, 8, 0)
    assert directed["traps_high"] == pytest.approx(0.4899, abs=1e-4)  # Wilson of 0/4
    assert "1.00" in table.tex and "0/4" in table.tex


def test_the_papers_shares_stand_beside_the_variants_that_it_reports(folder: Path) -> None:
    records = trap_probe_table(load_probes([folder]), load_reported()).records
    theirs = {record["variant"]: (record["reported_Qwen3-235B"], record["reported_Qwen3.6-35B"]) for record in records}
    assert theirs == {
        "as_recorded": ("0.21", "0.47"), "confirm": ("0.35", ""), "status_question": ("", "0.38"),
        "no_work_order": ("", ""), "checklist_user": ("0.10", "0.48"), "checklist_system": ("0.21", ""),
        "directive_user": ("0.01", "0.34"), "directive_system": ("0.09", "0.53"), "record_prose": ("0.36", "0.49"),
        "record_erased": ("0.79", "")}


def test_every_variant_has_one_row(folder: Path) -> None:
    records = trap_probe_table(load_probes([folder]), load_reported()).records
    assert sorted(record["variant"] for record in records) == sorted(V)


def test_without_logs_every_row_says_not_run_and_the_papers_values_stay(tmp_path: Path) -> None:
    probes = load_probes([tmp_path])
    table = trap_probe_table(probes, load_reported())
    assert {record["share"] for record in table.records} == {None}
    assert row(table.records, V.AS_RECORDED)["reported_Qwen3-235B"] == "0.21"
    assert table.csv().count("not run") >= len(V) and "not run" in table.tex
    assert probe_sentence(probes) == "No trap turn was probed: not run."


def test_an_unfinished_log_is_left_out_in_plain_sight(tmp_path: Path) -> None:
    probe(tmp_path, "scripted:always-book")
    (path,) = (tmp_path / "trap_probe").rglob("100.probe.jsonl")
    path.write_bytes(path.read_bytes()[:-300])
    probes = load_probes([tmp_path / "trap_probe"])
    assert summarize(probes, V.AS_RECORDED).traps.n == 2
    assert "1 unfinished logs are left out" in probe_sentence(probes)


def test_a_probe_that_lies_twice_counts_once(folder: Path, tmp_path: Path) -> None:
    (copied,) = folder.rglob("100.probe.jsonl")
    (tmp_path / copied.name).write_bytes(copied.read_bytes())
    assert len(load_probes([folder, tmp_path])) == len(load_probes([folder]))


def test_the_numbers_can_be_written_as_macros(folder: Path, tmp_path: Path) -> None:
    numbers = {number.name: number.text for number in probe_numbers("rq3", load_probes([folder]))}
    assert (numbers["RqThreeTrapProbeTurns"], numbers["RqThreeTrapProbeReproduced"]) == ("4", "4/4")
    write_numbers(probe_numbers("rq3", load_probes([folder])), "rq3", tmp_path)
    empty = {number.name: number.text for number in probe_numbers("rq3", load_probes([tmp_path]))}
    assert (empty["RqThreeTrapProbeTurns"], empty["RqThreeTrapProbeReproduced"]) == ("0", "not run")


# The interval of clustered trials


def test_the_interval_is_wider_where_trials_of_a_cluster_resemble_each_other() -> None:
    mixed = clustered_share({n: [True, False] * 4 for n in range(10)}, seed=1)
    alike = clustered_share({n: [n % 2 == 0] * 8 for n in range(10)}, seed=1)
    assert (mixed.k, mixed.n, mixed.estimate) == (alike.k, alike.n, alike.estimate) == (40, 80, 0.5)
    assert mixed.low == mixed.high == 0.5
    assert alike.low is not None and alike.high is not None and alike.high - alike.low > 0.4


def test_the_interval_is_the_same_in_every_run_and_holds_the_share() -> None:
    trials = {n: [n % 3 == 0, n % 2 == 0] for n in range(20)}
    first, second = clustered_share(trials, seed=3), clustered_share(trials, seed=3)
    assert first == second
    assert first.low is not None and first.high is not None and first.low < first.estimate < first.high


@pytest.mark.parametrize("trials", [{}, {1: []}, {1: [True, False]}])
def test_fewer_than_two_clusters_have_no_interval(trials) -> None:
    assert interval_text(clustered_share(trials, seed=1)) == ""
